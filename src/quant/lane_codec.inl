// Half floats, conversions and packing in lanes. Included by encoders.inl.

// Float to int32, toward zero. What does not fit differs by machine: on x86-64 all of it, NaN too, becomes the smallest
// integer; Arm saturates and makes NaN 0.
template <Arithmetic kArith>
Ints truncate(Floats x) {
    const Mask below = x < Floats::all(-2147483648.0f), fits_above = x < Floats::all(2147483648.0f);
    const Mask fits = fits_above & ~below;
    const Ints inside = truncate_in_range(select(fits, x, Floats::all(0.0f)));
    if constexpr (kArith == Arithmetic::x86_64) return select(fits, inside, Ints::all(INT32_MIN));
    const Ints outside = select(x == x, select(below, Ints::all(INT32_MIN), Ints::all(INT32_MAX)), Ints::all(0));
    return select(fits, inside, outside);
}

inline Ints as_int8(Ints x) { return shift_right<24>(shift_left<24>(x)); }

// Half away from zero, then as truncate.
template <Arithmetic kArith>
Ints round_half_away(Floats x) {
    const Ints whole = truncate<kArith>(x);
    const Floats rest = x - to_floats(whole);  // exact where there is a fraction at all
    const Mask fraction = abs(x) < Floats::all(8388608.0f);
    const Ints up = select(fraction & ~(rest < Floats::all(0.5f)), Ints::all(1), Ints::all(0));
    const Ints down = select(fraction & ~(Floats::all(-0.5f) < rest), Ints::all(1), Ints::all(0));
    return whole + up - down;
}

inline Ints half_sign(Floats x) { return shift_right<16>(bits(x)) & Ints::all(0x8000); }

// Binary16 bits of x, which is no NaN; ties to even.
inline Ints half_bits_of_number(Floats x) {
    const Ints magnitude = bits(x) & Ints::all(0x7fffffff);
    const Ints odd = shift_right<13>(magnitude) & Ints::all(1);
    const Ints normal = shift_right<13>(magnitude + Ints::all(0xfff - 0x38000000) + odd);
    // Below 2^-14 a half counts in 2^-24, which is also the last place of a float in [0.5, 1).
    const Ints subnormal = bits(from_bits(magnitude) + Floats::all(0.5f)) - Ints::all(0x3f000000);
    Ints h = select(magnitude < Ints::all(0x38800000), subnormal, normal);
    return select(magnitude < Ints::all(0x477ff000), h, Ints::all(0x7c00)) | half_sign(x);
}

// The same of a scale, where a NaN was made by 0 * inf or the like: its sign is the machine's.
template <Arithmetic kArith>
Ints half_bits(Floats x) {
    const int nan = kArith == Arithmetic::x86_64 ? 0xfe00 : 0x7e00;
    return select(x == x, half_bits_of_number(x), Ints::all(nan));
}

// The same of a value of a file, where a NaN becomes what the builds' own conversions make of it: x86-64's is in
// software and drops the payload, Arm's keeps the payload's upper bits.
template <Arithmetic kArith>
Ints half_bits_of_value(Floats x) {
    const Ints payload = kArith == Arithmetic::x86_64 ? Ints::all(0) : shift_right<13>(bits(x)) & Ints::all(0x1ff);
    return select(x == x, half_bits_of_number(x), half_sign(x) | Ints::all(0x7e00) | payload);
}

inline Ints bfloat_bits(Floats x) {
    const Ints all_bits = bits(x), odd = shift_right<16>(all_bits) & Ints::all(1);
    const Ints rounded = shift_right<16>(all_bits + Ints::all(0x7fff) + odd);
    return select(x == x, rounded, shift_right<16>(all_bits) | Ints::all(0x40));
}

inline Floats half_value(Ints h) {
    const Ints magnitude = h & Ints::all(0x7fff), sign = shift_left<16>(h & Ints::all(0x8000));
    const Floats subnormal = to_floats(magnitude) * Floats::all(0x1p-24f);
    const Ints exponent_bias = select(magnitude < Ints::all(0x7c00), Ints::all(112 << 23), Ints::all(224 << 23));
    const Floats normal = from_bits(shift_left<13>(magnitude) + exponent_bias);
    return from_bits(bits(select(magnitude < Ints::all(0x0400), subnormal, normal)) | sign);
}

inline void put_byte(uint8_t* out, int index, Ints x) { x.store_bytes(out + index * kLanes); }
inline Ints get_byte(const uint8_t* out, int index) { return Ints::load_bytes(out + index * kLanes); }
inline void put_half(uint8_t* out, int index, Ints h) {
    put_byte(out, index, h);
    put_byte(out, index + 1, shift_right<8>(h));
}

// sum += x * x over a row, in order.
template <Arithmetic kArith>
float add_squares_in(const float* x, int64_t n, float sum) {
    for (int64_t i = 0; i < n; ++i) sum = scalar_multiply_add(contraction(kArith).weights.row_square, x[i], x[i], sum);
    return sum;
}

template <Arithmetic kArith>
float row_mean_square(const float* x, int64_t n) {
    return add_squares_in<kArith>(x, n, 0.0f) / float(n);
}

template <bool kFused, int kN>
Floats sum_of_squares(const float* x) {
    Floats sum = Floats::all(0.0f);
    for (int i = 0; i < kN; ++i) sum = multiply_add<kFused>(at(x, i), at(x, i), sum);
    return sum;
}

// importance * sqrt(sigma2 + x^2), kN of them.
template <Arithmetic kArith, int kN>
void weigh(const float* x, const float* importance, Floats sigma2, float* weights) {
    for (int i = 0; i < kN; ++i) {
        const Floats v = at(x, i);
        const Floats spread = sqrt(multiply_add<contraction(kArith).weights.weight>(v, v, sigma2));
        (at(importance, i) * spread).store(weights + i * kLanes);
    }
}
