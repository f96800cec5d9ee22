// Super-blocks of 256 values in groups of 16 or 32 with small scales of their own. Included by encoders.inl; codecs as
// in encode_32.inl. Each type fits its groups, makes small integers of their scales (and minima), and then rounds all
// values once more with what the file will say the scales are. A group whose scale came out as 0 keeps the levels of
// its fit. Levels wait in `q` [256][kLanes] for packing.

template <int kN>
Floats sum_of(const float* x) {
    Floats sum = Floats::all(0.0f);
    for (int i = 0; i < kN; ++i) sum = sum + at(x, i);
    return sum;
}

// Final levels of group `group`: rint((x + min) / scale), or those of the fit where the scale is 0.
template <Arithmetic kArith, int kN, int kMax>
void put_affine_levels(const float* x, int group, const AffineFit& fit, Floats scale, Floats min, uint8_t* q) {
    const Mask keep = scale == Floats::all(0.0f);
    const bool keep_some = any(keep);
    for (int i = kN * group; i < kN * (group + 1); ++i) {
        Ints level = clamp(rint((at(x, i) + min) / scale), 0, kMax);
        if (keep_some) level = select(keep, level_of<kArith, kMax>(fit, at(x, i)), level);
        put_byte(q, i, level);
    }
}

// d and dmin of the groups' scales and minima (>= 0) where there is no importance: the largest becomes kMax.
struct Largest {
    Floats scale, min;
};
template <int kGroups>
Largest largest_of(const AffineFit (&fits)[kGroups]) {
    Largest r = {Floats::all(0.0f), Floats::all(0.0f)};
    for (const AffineFit& fit : fits) {
        r.scale = select(r.scale < fit.scale, fit.scale, r.scale);
        r.min = select(r.min < fit.minus_min, fit.minus_min, r.min);
    }
    return r;
}

// kMax / largest, and 0 where the largest is not above 0.
inline Floats inverse_scale(float max, Floats largest) {
    return select(Floats::all(0.0f) < largest, Floats::all(max) / largest, Floats::all(0.0f));
}

template <int kGroups>
void store_fits(const AffineFit (&fits)[kGroups], float* scales, float* mins) {
    for (int g = 0; g < kGroups; ++g) {
        fits[g].scale.store(scales + g * kLanes);
        fits[g].minus_min.store(mins + g * kLanes);
    }
}

// ---- packing, plain bytes ----

// Two bits a value, four values a byte: those 32 apart.
inline void pack_two_bits(const uint8_t* q, uint8_t* out) {
    for (int half = 0; half < 2; ++half) {
        const uint8_t* from = q + half * 128 * kLanes;
        uint8_t* to = out + half * 32 * kLanes;
        constexpr int kStep = 32 * kLanes;
        for (int i = 0; i < kStep; ++i)
            to[i] = uint8_t((from[i] & 3) | (from[i + kStep] & 3) << 2 | (from[i + 2 * kStep] & 3) << 4 |
                            (from[i + 3 * kStep] & 3) << 6);
    }
}

// Low nibbles of 32 values and of the next 32, for each 64.
inline void pack_nibble_pairs(const uint8_t* q, uint8_t* out) {
    constexpr int kStep = 32 * kLanes;
    for (int pair = 0; pair < 4; ++pair)
        for (int i = 0; i < kStep; ++i)
            out[pair * kStep + i] = uint8_t((q[2 * pair * kStep + i] & 15) | q[(2 * pair + 1) * kStep + i] << 4);
}

// Bit kBit of the eight values that are 32 apart, one bit each.
template <int kBit>
void pack_high_bits(const uint8_t* q, uint8_t* out) {
    constexpr int kStep = 32 * kLanes;
    for (int i = 0; i < kStep; ++i) {
        int byte = 0;
        for (int plane = 0; plane < 8; ++plane) byte |= ((q[plane * kStep + i] >> kBit) & 1) << plane;
        out[i] = uint8_t(byte);
    }
}

// ---- Q2_K ----

template <Arithmetic kArith, bool kImportance>
struct Q2_K : CodecShape<kArith, kImportance, 256, 84, false> {
    static void encode(const float* x, const float* importance, Floats, uint8_t* out) {
        AffineFit fits[16];
        alignas(64) float weights[16 * kLanes], sum_w[16 * kLanes];
        if constexpr (kImportance) {
            const Floats sigma2 =
                sum_of_squares<contraction(kArith).weights.block_square, 256>(x) / Floats::all(256.0f);
            for (int g = 0; g < 16; ++g) {
                const int first = 16 * g * kLanes;
                weigh<kArith, 16>(x + first, importance + first, sigma2, weights);
                sum_of<16>(weights).store(sum_w + g * kLanes);
                fits[g] = fit_affine<kArith, 16, 3>(x + first, weights, kWeightedSearch);
            }
        } else {
            for (int g = 0; g < 16; ++g) {
                const float* group = x + 16 * g * kLanes;
                for (int i = 0; i < 16; ++i) abs(at(group, i)).store(weights + i * kLanes);
                fits[g] = fit_affine<kArith, 16, 3>(group, weights, {-0.5f, 0.1f, 15, true});
            }
        }

        Ints packed[16], d, dmin;
        if constexpr (kImportance) {
            alignas(64) float scales[16 * kLanes], mins[16 * kLanes];
            Ints scale_levels[16], min_levels[16];
            store_fits(fits, scales, mins);
            d = half_bits<kArith>(fit_positive<kArith, 16, 15>(scales, sum_w, scale_levels));
            dmin = half_bits<kArith>(fit_positive<kArith, 16, 15>(mins, sum_w, min_levels));
            for (int g = 0; g < 16; ++g) packed[g] = (scale_levels[g] | shift_left<4>(min_levels[g])) & Ints::all(255);
        } else {
            constexpr bool kFused = contraction(kArith).scale_level;
            const Largest largest = largest_of(fits);
            const Floats inverse = inverse_scale(15.0f, largest.scale), inverse_min = inverse_scale(15.0f, largest.min);
            for (int g = 0; g < 16; ++g) {
                const Ints scale = rint_product<kFused>(inverse, fits[g].scale);
                const Ints min = rint_product<kFused>(inverse_min, fits[g].minus_min);
                packed[g] = (scale | shift_left<4>(min)) & Ints::all(255);
            }
            d = half_bits<kArith>(largest.scale / Floats::all(15.0f));
            dmin = half_bits<kArith>(largest.min / Floats::all(15.0f));
        }

        alignas(64) uint8_t q[256 * kLanes];
        for (int g = 0; g < 16; ++g) {
            put_byte(out, g, packed[g]);
            const Floats scale = half_value(d) * to_floats(packed[g] & Ints::all(15));
            const Floats min = half_value(dmin) * to_floats(shift_right<4>(packed[g]));
            put_affine_levels<kArith, 16, 3>(x, g, fits[g], scale, min, q);
        }
        pack_two_bits(q, out + 16 * kLanes);
        put_half(out, 80, d);
        put_half(out, 82, dmin);
    }
};

// ---- Q3_K ----

// Scales as blocks.h has them, from 16 of 6 bits.
inline void put_scales_q3_K(uint8_t* out, int index, const Ints (&scales)[16]) {
    const Ints fifteen = Ints::all(15);
    for (int g = 0; g < 8; ++g)
        put_byte(out, index + g, (scales[g] & fifteen) | shift_left<4>(scales[g + 8] & fifteen));
    for (int g = 0; g < 4; ++g)
        put_byte(out, index + 8 + g,
                 shift_right<4>(scales[g]) | shift_left<2>(shift_right<4>(scales[g + 4])) |
                     shift_left<4>(shift_right<4>(scales[g + 8])) | shift_left<6>(shift_right<4>(scales[g + 12])));
}

template <Arithmetic kArith, bool kImportance>
struct Q3_K : CodecShape<kArith, kImportance, 256, 110, false> {
    static void encode(const float* x, const float* importance, Floats, uint8_t* out) {
        alignas(64) uint8_t q[256 * kLanes];
        alignas(64) float scales[16 * kLanes];
        Ints packed[16], d;
        if constexpr (kImportance) {
            alignas(64) float weights[16 * kLanes], sum_w[16 * kLanes];
            const Floats sigma2 = Floats::all(2.0f) * sum_of_squares<contraction(kArith).weights.block_square, 256>(x) /
                                  Floats::all(256.0f);
            for (int g = 0; g < 16; ++g) {
                const float* group = x + 16 * g * kLanes;
                weigh<kArith, 16>(group, importance + 16 * g * kLanes, sigma2, weights);
                sum_of<16>(weights).store(sum_w + g * kLanes);
                const SymmetricFit fit = fit_symmetric<kArith, 16, 4, true, true>(group, weights);
                fit.scale.store(scales + g * kLanes);
                for (int i = 0; i < 16; ++i) put_byte(q, 16 * g + i, stored_level<kArith, 4>(fit, at(group, i)));
            }
            const SymmetricFit fit = fit_symmetric<kArith, 16, 32, true, false>(scales, sum_w);
            for (int g = 0; g < 16; ++g) packed[g] = stored_level<kArith, 32>(fit, at(scales, g));
            d = half_bits<kArith>(fit.scale);
        } else {
            constexpr int kTogether = 4;
            for (int g = 0; g < 16; g += kTogether)
                fit_by_descent<kArith, 16, 4, kTogether>(x + 16 * g * kLanes, q + 16 * g * kLanes, scales + g * kLanes);
            const Floats largest = largest_magnitude<16>(scales).value;
            const Mask some = nonzero(largest);
            const Floats inverse = Floats::all(-32.0f) / largest;
            for (int g = 0; g < 16; ++g) {
                const Ints level = as_int8(rint_product<contraction(kArith).scale_level>(inverse, at(scales, g)));
                packed[g] = select(some, clamp(level, -32, 31) + Ints::all(32), Ints::all(0));
            }
            d = half_bits<kArith>(select(some, Floats::all(1.0f) / inverse, Floats::all(0.0f)));
        }

        for (int g = 0; g < 16; ++g) {
            const Floats scale = half_value(d) * to_floats(packed[g] - Ints::all(32));
            const Mask keep = scale == Floats::all(0.0f);
            for (int i = 16 * g; i < 16 * (g + 1); ++i) {
                const Ints level = clamp(rint(at(x, i) / scale), -4, 3) + Ints::all(4);
                put_byte(q, i, select(keep, get_byte(q, i), level));
            }
        }
        pack_high_bits<2>(q, out);
        pack_two_bits(q, out + 32 * kLanes);
        put_scales_q3_K(out, 96, packed);
        put_half(out, 108, d);
    }
};

// ---- Q4_K and Q5_K ----

// The twelve bytes of scales and minima as blocks.h has them, written the way llama.cpp writes them: what exceeds 6
// bits spills over.
inline void put_scales_q4_K(uint8_t* out, int index, const Ints (&scales)[8], const Ints (&mins)[8]) {
    const Ints fifteen = Ints::all(15);
    for (int g = 0; g < 4; ++g) {
        put_byte(out, index + g, scales[g] | shift_left<6>(shift_right<4>(scales[g + 4])));
        put_byte(out, index + 4 + g, mins[g] | shift_left<6>(shift_right<4>(mins[g + 4])));
        put_byte(out, index + 8 + g, (scales[g + 4] & fifteen) | shift_left<4>(mins[g + 4] & fifteen));
    }
}

// Scale and minimum of group g, read back.
inline void get_scale_q4_K(const uint8_t* out, int index, int g, Ints& scale, Ints& min) {
    if (g < 4) {
        scale = get_byte(out, index + g) & Ints::all(63);
        min = get_byte(out, index + 4 + g) & Ints::all(63);
    } else {
        const Ints low = get_byte(out, index + 4 + g);
        scale = (low & Ints::all(15)) | shift_left<4>(shift_right<6>(get_byte(out, index + g - 4)));
        min = shift_right<4>(low) | shift_left<4>(shift_right<6>(get_byte(out, index + g)));
    }
}

// Fits the eight groups, writes d, dmin and the scales to the first 16 bytes of `out` and all levels to `q`.
template <Arithmetic kArith, bool kImportance, int kMax>
void encode_q4_K(const float* x, const float* importance, const AffineSearch& search, uint8_t* out, uint8_t* q) {
    AffineFit fits[8];
    alignas(64) float weights[32 * kLanes], sum_w[8 * kLanes];
    if constexpr (kImportance) {
        const Floats sigma2 =
            Floats::all(2.0f) * sum_of_squares<contraction(kArith).weights.block_square, 256>(x) / Floats::all(256.0f);
        for (int g = 0; g < 8; ++g) {
            const int first = 32 * g * kLanes;
            weigh<kArith, 32>(x + first, importance + first, sigma2, weights);
            sum_of<32>(weights).store(sum_w + g * kLanes);
            fits[g] = fit_affine<kArith, 32, kMax>(x + first, weights, kWeightedSearch);
        }
    } else {
        for (int g = 0; g < 8; ++g) {
            const float* group = x + 32 * g * kLanes;
            const Floats mean =
                sqrt(sum_of_squares<contraction(kArith).weights.group_square, 32>(group) / Floats::all(32.0f));
            for (int i = 0; i < 32; ++i) (mean + abs(at(group, i))).store(weights + i * kLanes);
            fits[g] = fit_affine<kArith, 32, kMax>(group, weights, search);
        }
    }

    Ints scale_levels[8], min_levels[8], d, dmin;
    if constexpr (kImportance) {
        alignas(64) float scales[8 * kLanes], mins[8 * kLanes];
        store_fits(fits, scales, mins);
        d = half_bits<kArith>(fit_positive<kArith, 8, 63>(scales, sum_w, scale_levels));
        dmin = half_bits<kArith>(fit_positive<kArith, 8, 63>(mins, sum_w, min_levels));
        if constexpr (kMax == 31)  // Q5_K bounds what a negative scale left; Q4_K does not
            for (int g = 0; g < 8; ++g) {
                scale_levels[g] = min(Ints::all(63), scale_levels[g]);
                min_levels[g] = min(Ints::all(63), min_levels[g]);
            }
    } else {
        constexpr bool kFused = contraction(kArith).scale_level;
        const Ints byte = Ints::all(255), most = Ints::all(63);
        const Largest largest = largest_of(fits);
        const Floats inverse = inverse_scale(63.0f, largest.scale), inverse_min = inverse_scale(63.0f, largest.min);
        for (int g = 0; g < 8; ++g) {
            scale_levels[g] = min(most, rint_product<kFused>(inverse, fits[g].scale) & byte);
            min_levels[g] = min(most, rint_product<kFused>(inverse_min, fits[g].minus_min) & byte);
        }
        d = half_bits<kArith>(largest.scale / Floats::all(63.0f));
        dmin = half_bits<kArith>(largest.min / Floats::all(63.0f));
    }

    put_half(out, 0, d);
    put_half(out, 2, dmin);
    put_scales_q4_K(out, 4, scale_levels, min_levels);
    for (int g = 0; g < 8; ++g) {
        Ints scale, min;
        get_scale_q4_K(out, 4, g, scale, min);
        put_affine_levels<kArith, 32, kMax>(x, g, fits[g], half_value(d) * to_floats(scale),
                                            half_value(dmin) * to_floats(min), q);
    }
}

template <Arithmetic kArith, bool kImportance>
struct Q4_K : CodecShape<kArith, kImportance, 256, 144, false> {
    static void encode(const float* x, const float* importance, Floats, uint8_t* out) {
        alignas(64) uint8_t q[256 * kLanes];
        encode_q4_K<kArith, kImportance, 15>(x, importance, {-1.0f, 0.1f, 20, false}, out, q);
        pack_nibble_pairs(q, out + 16 * kLanes);
    }
};

template <Arithmetic kArith, bool kImportance>
struct Q5_K : CodecShape<kArith, kImportance, 256, 176, false> {
    static void encode(const float* x, const float* importance, Floats, uint8_t* out) {
        alignas(64) uint8_t q[256 * kLanes];
        encode_q4_K<kArith, kImportance, 31>(x, importance, {-0.5f, 0.1f, 15, false}, out, q);
        pack_high_bits<4>(q, out + 16 * kLanes);
        pack_nibble_pairs(q, out + 48 * kLanes);
    }
};

// ---- Q6_K ----

template <Arithmetic kArith, bool kImportance>
struct Q6_K : CodecShape<kArith, kImportance, 256, 210, false> {
    static void encode(const float* x, const float* importance, Floats, uint8_t* out) {
        alignas(64) uint8_t q[256 * kLanes];
        alignas(64) float scales[16 * kLanes];
        for (int g = 0; g < 16; ++g) {
            const float* group = x + 16 * g * kLanes;
            const float* weights = kImportance ? importance + 16 * g * kLanes : nullptr;
            const SymmetricFit fit = fit_symmetric<kArith, 16, 32, kImportance, true>(group, weights);
            fit.scale.store(scales + g * kLanes);
            for (int i = 0; i < 16; ++i) put_byte(q, 16 * g + i, stored_level<kArith, 32>(fit, at(group, i)));
        }
        const Extreme largest = largest_magnitude<16>(scales);
        const Mask zero = largest.magnitude < Floats::all(kGroupMaxEpsilon);  // then the whole block is
        const Floats inverse = Floats::all(-128.0f) / largest.value;
        const Ints d = select(zero, Ints::all(0), half_bits<kArith>(Floats::all(1.0f) / inverse));
        for (int g = 0; g < 16; ++g) {
            const Ints level = rint_product<contraction(kArith).scale_level>(inverse, at(scales, g));
            const Ints packed = select(zero, Ints::all(0), as_int8(min(Ints::all(127), level)));
            put_byte(out, 192 + g, packed);
            const Floats scale = half_value(d) * to_floats(packed);
            const Mask keep = scale == Floats::all(0.0f);
            for (int i = 16 * g; i < 16 * (g + 1); ++i) {
                const Ints final = clamp(rint(at(x, i) / scale), -32, 31) + Ints::all(32);
                put_byte(q, i, select(zero, Ints::all(0), select(keep, get_byte(q, i), final)));
            }
        }
        constexpr int kStep = 32 * kLanes;
        for (int half = 0; half < 2; ++half) {
            const uint8_t* from = q + 4 * half * kStep;
            uint8_t* low = out + 2 * half * kStep;
            uint8_t* high = out + (4 + half) * kStep;
            for (int i = 0; i < kStep; ++i) {
                const int a = from[i], b = from[i + kStep], c = from[i + 2 * kStep], e = from[i + 3 * kStep];
                low[i] = uint8_t((a & 15) | c << 4);
                low[i + kStep] = uint8_t((b & 15) | e << 4);
                high[i] = uint8_t(a >> 4 | b >> 4 << 2 | c >> 4 << 4 | e >> 4 << 6);
            }
        }
        put_half(out, 208, d);
    }
};

// ---- IQ4_XS ----

template <Arithmetic kArith, bool kImportance>
struct IQ4_XS : CodecShape<kArith, kImportance, 256, 136, false> {
    static void encode(const float* x, const float* importance, Floats, uint8_t* out) {
        alignas(64) float weights[32 * kLanes], scales[8 * kLanes];
        const Floats sigma2 =
            sum_of_squares<contraction(kArith).weights.block_square, 256>(x) * Floats::all(2.0f / 256);
        for (int g = 0; g < 8; ++g) {
            const int first = 32 * g * kLanes;
            weigh_iq4<kArith, kImportance>(x + first, importance + (kImportance ? first : 0), sigma2, weights);
            fit_iq4<kArith>(x + first, weights).store(scales + g * kLanes);
        }
        const Floats d = -largest_magnitude<8>(scales).value / Floats::all(32.0f);
        const Floats inverse = inverse_or_zero(d);
        put_half(out, 0, half_bits<kArith>(d));
        Ints high = Ints::all(0), low[4];
        for (int g = 0; g < 8; ++g) {
            const Ints level = clamp(rint_product<contraction(kArith).scale_level>(inverse, at(scales, g)), -32, 31);
            const Floats group_inverse = inverse_or_zero(d * to_floats(level));
            const float* group = x + 32 * g * kLanes;
            put_nibbles(out, 8 + 16 * g, [&](int i) { return iq4_level(group_inverse * at(group, i)); });
            const Ints stored = level + Ints::all(32);
            const Ints nibble = stored & Ints::all(15), top = shift_right<4>(stored);
            low[g / 2] = g % 2 == 0 ? nibble : low[g / 2] | shift_left<4>(nibble);
            high = high | to_bit_pair(top, g);
        }
        put_half(out, 2, high);
        for (int i = 0; i < 4; ++i) put_byte(out, 4 + i, low[i]);
    }

  private:
    // top * 4^g: a shift by 2 g for the two bits of group g.
    static Ints to_bit_pair(Ints top, int g) {
        for (int i = 0; i < g; ++i) top = shift_left<2>(top);
        return top;
    }
};
