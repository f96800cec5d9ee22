// Rows of plain numbers, kLanes at a time. Included by encoders.inl. Sixteen-bit numbers lie at any address.

template <class Widen>
void widen_row(const uint8_t* in, float* out, int64_t n, const Widen& widen) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) widen(in + 2 * i).store(out + i);
    uint8_t rest[2 * kLanes] = {};
    float values[kLanes];
    for (int64_t k = 2 * i; k < 2 * n; ++k) rest[k - 2 * i] = in[k];
    widen(rest).store(values);
    for (int64_t k = i; k < n; ++k) out[k] = values[k - i];
}

template <class Narrow>
void narrow_row(const float* in, uint8_t* out, int64_t n, const Narrow& narrow) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) narrow(Floats::load(in + i)).store_words(out + 2 * i);
    float rest[kLanes] = {};
    uint8_t words[2 * kLanes];
    for (int64_t k = i; k < n; ++k) rest[k - i] = in[k];
    narrow(Floats::load(rest)).store_words(words);
    for (int64_t k = 2 * i; k < 2 * n; ++k) out[k] = words[k - 2 * i];
}

void widen_f16(const uint8_t* in, float* out, int64_t n) {
    widen_row(in, out, n, [](const uint8_t* p) { return Floats::load_halves(p); });
}

void widen_bf16(const uint8_t* in, float* out, int64_t n) {
    widen_row(in, out, n, [](const uint8_t* p) { return from_bits(shift_left<16>(Ints::load_words(p))); });
}

void narrow_f16(Arithmetic arithmetic, const float* in, uint8_t* out, int64_t n) {
    if (arithmetic == Arithmetic::x86_64)
        narrow_row(in, out, n, [](Floats x) { return half_bits_of_value<Arithmetic::x86_64>(x); });
    else
        narrow_row(in, out, n, [](Floats x) { return half_bits_of_value<Arithmetic::aarch64_clang>(x); });
}

void narrow_bf16(const float* in, uint8_t* out, int64_t n) {
    narrow_row(in, out, n, [](Floats x) { return bfloat_bits(x); });
}

bool all_finite(const float* x, int64_t n) {
    const Ints exponent = Ints::all(0x7f800000);
    Mask full = exponent < exponent;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) full = full | ((bits(Floats::load(x + i)) & exponent) == exponent);
    bool any_full = any(full);
    for (; i < n; ++i) any_full |= !(__builtin_fabsf(x[i]) < __builtin_inff());
    return !any_full;
}

float add_squares(Arithmetic arithmetic, const float* x, int64_t n, float sum) {
    switch (arithmetic) {
        case Arithmetic::x86_64:
            return add_squares_in<Arithmetic::x86_64>(x, n, sum);
        case Arithmetic::aarch64_clang:
            return add_squares_in<Arithmetic::aarch64_clang>(x, n, sum);
        case Arithmetic::aarch64_gcc:
            return add_squares_in<Arithmetic::aarch64_gcc>(x, n, sum);
    }
    return sum;
}

constexpr EncoderFunctions kFunctions = {
    encode_blocks_of, widen_f16, widen_bf16, narrow_f16, narrow_bf16, all_finite, add_squares,
};
