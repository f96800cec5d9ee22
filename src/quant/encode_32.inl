// Blocks of 32 values. Included by encoders.inl. A codec is a block's shape and its encode function:
//   x, importance   [kValues][kLanes]; importance only if kWeighted
//   mean_square     of the block's row, only if kRowMeanSquare
//   out             [kBytes][kLanes]

template <Arithmetic kArith, bool kImportance, int kBlockValues, int kBlockBytes, bool kOfRow>
struct CodecShape {
    static constexpr Arithmetic kArithmetic = kArith;
    static constexpr bool kWeighted = kImportance, kRowMeanSquare = kOfRow && kImportance;
    static constexpr int kValues = kBlockValues, kBytes = kBlockBytes;
};

// Two levels a byte: that of value i in the low nibble, of value i + 16 in the high one.
template <class Level>
void put_nibbles(uint8_t* out, int index, const Level& level) {
    for (int i = 0; i < 16; ++i) put_byte(out, index + i, level(i) | shift_left<4>(level(i + 16)));
}

// The same for levels of five bits, whose fifth ones follow one another in four bytes.
template <class Level>
void put_five_bits(uint8_t* out, int high_index, int low_index, const Level& level) {
    Ints high[4] = {Ints::all(0), Ints::all(0), Ints::all(0), Ints::all(0)};
    const Ints sixteen = Ints::all(16), fifteen = Ints::all(15);
    for (int i = 0; i < 16; ++i) {
        const Ints a = level(i), b = level(i + 16);
        put_byte(out, low_index + i, (a & fifteen) | shift_left<4>(b & fifteen));
        const Ints bit = Ints::all(1 << (i % 8));
        high[i / 8] = high[i / 8] | select((a & sixteen) == sixteen, bit, Ints::all(0));
        high[2 + i / 8] = high[2 + i / 8] | select((b & sixteen) == sixteen, bit, Ints::all(0));
    }
    for (int i = 0; i < 4; ++i) put_byte(out, high_index + i, high[i]);
}

inline Floats inverse_or_zero(Floats d) { return select(nonzero(d), Floats::all(1.0f) / d, Floats::all(0.0f)); }

struct Range {
    Floats min, max;
};
inline Range range_of_block(const float* x) {
    Range r = {Floats::all(3.402823466e+38f), Floats::all(-3.402823466e+38f)};
    for (int i = 0; i < 32; ++i) {
        const Floats v = at(x, i);
        r.min = select(v < r.min, v, r.min);
        r.max = select(r.max < v, v, r.max);
    }
    return r;
}

// d from the value of largest magnitude, which becomes level 0; levels 0 .. 2 kHalf - 1 by adding kHalf and a half, and
// truncating to int8.
template <Arithmetic kArith, int kHalf>
struct SymmetricRounding {
    Floats d, inverse;

    explicit SymmetricRounding(const float* x)
        : d(largest_magnitude<32>(x).value / Floats::all(float(-kHalf))), inverse(inverse_or_zero(d)) {}
    Ints level(Floats v) const {
        const Floats shifted = multiply_add<contraction(kArith).round>(v, inverse, Floats::all(float(kHalf) + 0.5f));
        return min(Ints::all(2 * kHalf - 1), as_int8(truncate<kArith>(shifted))) & Ints::all(255);
    }
};

template <Arithmetic kArith, bool kImportance>
struct Q4_0 : CodecShape<kArith, kImportance, 32, 18, true> {
    static void encode(const float* x, const float* importance, Floats mean_square, uint8_t* out) {
        if constexpr (kImportance) {
            alignas(64) float weights[32 * kLanes];
            weigh<kArith, 32>(x, importance, mean_square, weights);
            const SymmetricFit fit = fit_symmetric<kArith, 32, 8, true, true>(x, weights);
            put_half(out, 0, half_bits<kArith>(fit.scale));
            put_nibbles(out, 2, [&](int i) { return stored_level<kArith, 8>(fit, at(x, i)); });
        } else {
            const SymmetricRounding<kArith, 8> rounding(x);
            put_half(out, 0, half_bits<kArith>(rounding.d));
            put_nibbles(out, 2, [&](int i) { return rounding.level(at(x, i)); });
        }
    }
};

template <Arithmetic kArith, bool kImportance>
struct Q5_0 : CodecShape<kArith, kImportance, 32, 22, true> {
    static void encode(const float* x, const float* importance, Floats mean_square, uint8_t* out) {
        if constexpr (kImportance) {
            alignas(64) float weights[32 * kLanes];
            weigh<kArith, 32>(x, importance, mean_square, weights);
            const SymmetricFit fit = fit_symmetric<kArith, 32, 16, true, true>(x, weights);
            put_half(out, 0, half_bits<kArith>(fit.scale));
            put_five_bits(out, 2, 6, [&](int i) { return stored_level<kArith, 16>(fit, at(x, i)); });
        } else {
            const SymmetricRounding<kArith, 16> rounding(x);
            put_half(out, 0, half_bits<kArith>(rounding.d));
            put_five_bits(out, 2, 6, [&](int i) { return rounding.level(at(x, i)); });
        }
    }
};

constexpr AffineSearch kWeightedSearch = {-0.9f, 0.05f, 36, false};

template <Arithmetic kArith, bool kImportance>
struct Q4_1 : CodecShape<kArith, kImportance, 32, 20, true> {
    static void encode(const float* x, const float* importance, Floats mean_square, uint8_t* out) {
        if constexpr (kImportance) {
            alignas(64) float weights[32 * kLanes];
            weigh<kArith, 32>(x, importance, mean_square, weights);
            const AffineFit fit = fit_affine<kArith, 32, 15>(x, weights, kWeightedSearch);
            put_half(out, 0, half_bits<kArith>(fit.scale));
            put_half(out, 2, half_bits<kArith>(-fit.minus_min));
            put_nibbles(out, 4, [&](int i) { return level_of<kArith, 15>(fit, at(x, i)); });
        } else {
            const Range r = range_of_block(x);
            const Floats d = (r.max - r.min) / Floats::all(15.0f), inverse = inverse_or_zero(d);
            put_half(out, 0, half_bits<kArith>(d));
            put_half(out, 2, half_bits<kArith>(r.min));
            put_nibbles(out, 4, [&](int i) {
                const Floats shifted =
                    multiply_add<contraction(kArith).round>(at(x, i) - r.min, inverse, Floats::all(0.5f));
                return min(Ints::all(15), as_int8(truncate<kArith>(shifted))) & Ints::all(255);
            });
        }
    }
};

template <Arithmetic kArith, bool kImportance>
struct Q5_1 : CodecShape<kArith, kImportance, 32, 24, true> {
    static void encode(const float* x, const float* importance, Floats mean_square, uint8_t* out) {
        if constexpr (kImportance) {
            alignas(64) float weights[32 * kLanes];
            weigh<kArith, 32>(x, importance, mean_square, weights);
            const AffineFit fit = fit_affine<kArith, 32, 31>(x, weights, kWeightedSearch);
            put_half(out, 0, half_bits<kArith>(fit.scale));
            put_half(out, 2, half_bits<kArith>(-fit.minus_min));
            put_five_bits(out, 4, 8, [&](int i) { return level_of<kArith, 31>(fit, at(x, i)); });
        } else {
            const Range r = range_of_block(x);
            const Floats d = (r.max - r.min) / Floats::all(31.0f), inverse = inverse_or_zero(d);
            put_half(out, 0, half_bits<kArith>(d));
            put_half(out, 2, half_bits<kArith>(r.min));
            put_five_bits(out, 4, 8, [&](int i) {  // no bound but the byte's
                return truncate<kArith>(
                    multiply_add<contraction(kArith).round>(at(x, i) - r.min, inverse, Floats::all(0.5f)));
            });
        }
    }
};

template <Arithmetic kArith>
struct Q8_0 : CodecShape<kArith, false, 32, 34, false> {
    static void encode(const float* x, const float*, Floats, uint8_t* out) {
        const Floats d = largest_magnitude<32>(x).magnitude / Floats::all(127.0f);
        const Floats inverse = inverse_or_zero(d);
        put_half(out, 0, half_bits<kArith>(d));
        for (int i = 0; i < 32; ++i) put_byte(out, 2 + i, round_half_away<kArith>(at(x, i) * inverse));
    }
};

// What IQ4_NL and IQ4_XS weigh a group of 32 by; sigma2 is twice the mean square of the block or super-block.
template <Arithmetic kArith, bool kImportance>
void weigh_iq4(const float* x, const float* importance, Floats sigma2, float* weights) {
    if constexpr (kImportance) {
        weigh<kArith, 32>(x, importance, sigma2, weights);
    } else {
        for (int i = 0; i < 32; ++i) (at(x, i) * at(x, i)).store(weights + i * kLanes);
    }
}

template <Arithmetic kArith, bool kImportance>
struct IQ4_NL : CodecShape<kArith, kImportance, 32, 18, false> {
    static void encode(const float* x, const float* importance, Floats, uint8_t* out) {
        alignas(64) float weights[32 * kLanes];
        const Floats sigma2 = sum_of_squares<contraction(kArith).weights.block_square, 32>(x) * Floats::all(2.0f / 32);
        weigh_iq4<kArith, kImportance>(x, importance, sigma2, weights);
        const Floats scale = fit_iq4<kArith>(x, weights), inverse = inverse_or_zero(scale);
        put_half(out, 0, half_bits<kArith>(scale));
        put_nibbles(out, 2, [&](int i) { return iq4_level(inverse * at(x, i)); });
    }
};
