// The searches behind the encoders: for n values x with weights w, integer levels and a scale (and a minimum) that make
// the weighted squared error small. Every lane searches for its own values, which lie in lane order: value i of all
// lanes at x + i * kLanes. Each lane does exactly the operations of llama.cpp's scalar search, in its order; where that
// branches, a mask chooses. Included by encoders.inl, after the lanes.

// llama.cpp's rint: adding 1.5 * 2^23 leaves the integer in the low bits. Out of range it wraps, and so it does here.
constexpr float kRintMagic = 12582912.0f;
inline Ints rint_of_magic(Floats sum) { return (bits(sum) & Ints::all(0x007fffff)) - Ints::all(0x00400000); }
inline Ints rint(Floats x) { return rint_of_magic(x + Floats::all(kRintMagic)); }

template <bool kFused>
Floats multiply_add(Floats a, Floats b, Floats c) {
    return kFused ? fma(a, b, c) : a * b + c;
}
template <bool kFused>  // c - a * b
Floats negative_multiply_add(Floats a, Floats b, Floats c) {
    return kFused ? fma(-a, b, c) : c - a * b;
}
template <bool kFused>
Ints rint_product(Floats a, Floats b) {
    return rint_of_magic(multiply_add<kFused>(a, b, Floats::all(kRintMagic)));
}
// The level of a product's sum with the magic number, clamped, as a float. Where the product is known to be below 2^22,
// taking the magic number away again gives the same integer with two operations less.
template <bool kInRange>
Floats level_of_magic(Floats sum, int low, int high) {
    if constexpr (kInRange) {
        const Floats level = sum - Floats::all(kRintMagic);
        return lesser(greater(level, Floats::all(float(low))), Floats::all(float(high)));
    }
    return to_floats(max(Ints::all(low), min(Ints::all(high), rint_of_magic(sum))));
}
template <FusedProduct kFused>  // a * b - c * d
Floats difference_of_products(Floats a, Floats b, Floats c, Floats d) {
    if constexpr (kFused == FusedProduct::left) return fma(a, b, -(c * d));
    if constexpr (kFused == FusedProduct::right) return fma(-c, d, a * b);
    return a * b - c * d;
}
inline float scalar_multiply_add(bool fused, float a, float b, float c) {
    return fused ? __builtin_fmaf(a, b, c) : a * b + c;
}

inline Floats at(const float* x, int i) { return Floats::load(x + i * kLanes); }
inline Ints clamp(Ints x, int low, int high) { return max(Ints::all(low), min(Ints::all(high), x)); }
inline Mask nonzero(Floats x) { return ~(x == Floats::all(0.0f)); }

constexpr float kGroupMaxEpsilon = 1e-15f;  // below this a group counts as zeros

struct Extreme {
    Floats magnitude, value;  // the largest |x|, and the first x that has it
};
template <int kN>
Extreme largest_magnitude(const float* x) {
    Extreme e = {Floats::all(0.0f), Floats::all(0.0f)};
    for (int i = 0; i < kN; ++i) {
        const Floats v = at(x, i), a = abs(v);
        const Mask larger = e.magnitude < a;
        e.magnitude = select(larger, a, e.magnitude);
        e.value = select(larger, v, e.value);
    }
    return e;
}

// ---- levels -kMax .. kMax - 1, no minimum ----

struct SymmetricFit {
    Floats scale;
    Floats iscale;  // value i's level is clamp(rint(iscale * x_i))
    Mask zero;      // all values count as zeros: the scale is 0, and so is every stored level
};

// A first scale from the largest value, then 18 others a little away from it. Without weights x^2 is the weight. With
// kFinite the values are finite, so that no level is out of range but in a group of zeros, whose result does not count.
template <Arithmetic kArith, int kN, int kMax, bool kWeighted, bool kFinite>
SymmetricFit fit_symmetric(const float* x, const float* weights) {
    constexpr SymmetricContraction kFuse = contraction(kArith).symmetric;
    constexpr bool kFuseSums = kN == 16 ? kFuse.sums_of_16 : kFuse.sums_of_32;
    const Extreme extreme = largest_magnitude<kN>(x);
    SymmetricFit fit;
    fit.zero = extreme.magnitude < Floats::all(kGroupMaxEpsilon);
    fit.iscale = Floats::all(float(-kMax)) / extreme.value;

    const Floats magic = Floats::all(kRintMagic);
    alignas(64) float weight[kN * kLanes], weighted[kN * kLanes];  // w and w * x, which no candidate changes
    Floats sum_lx = Floats::all(0.0f), sum_l2 = Floats::all(0.0f);
    for (int i = 0; i < kN; ++i) {
        const Floats v = at(x, i), w = kWeighted ? at(weights, i) : v * v;
        const Floats l = level_of_magic<kFinite>(multiply_add<kFuse.level>(fit.iscale, v, magic), -kMax, kMax - 1);
        w.store(weight + i * kLanes);
        (w * v).store(weighted + i * kLanes);
        sum_lx = multiply_add<kFuse.first_sums>(w * v, l, sum_lx);
        sum_l2 = multiply_add<kFuse.first_sums>(w * l, l, sum_l2);
    }
    fit.scale = select(nonzero(sum_l2), sum_lx / sum_l2, Floats::all(0.0f));
    Floats best = fit.scale * sum_lx;
    for (int step = -9; step <= 9; ++step) {
        if (step == 0) continue;
        const float target = -scalar_multiply_add(kFuse.candidate, 0.1f, float(step), float(kMax));
        const Floats iscale = Floats::all(target) / extreme.value;
        sum_lx = sum_l2 = Floats::all(0.0f);
        for (int i = 0; i < kN; ++i) {
            const Floats l =
                level_of_magic<kFinite>(multiply_add<kFuse.level>(iscale, at(x, i), magic), -kMax, kMax - 1);
            sum_lx = multiply_add<kFuseSums>(at(weighted, i), l, sum_lx);
            sum_l2 = multiply_add<kFuseSums>(at(weight, i) * l, l, sum_l2);
        }
        const Mask better = (Floats::all(0.0f) < sum_l2) & (best * sum_l2 < sum_lx * sum_lx);
        const Floats scale = sum_lx / sum_l2;
        fit.scale = select(better, scale, fit.scale);
        best = select(better, scale * sum_lx, best);
        fit.iscale = select(better, iscale, fit.iscale);
    }
    fit.scale = select(fit.zero, Floats::all(0.0f), fit.scale);
    return fit;
}

// Stored level of value v: 0 .. 2 kMax - 1, and 0 throughout a group of zeros.
template <Arithmetic kArith, int kMax>
Ints stored_level(const SymmetricFit& fit, Floats v) {
    const Ints l = clamp(rint_product<contraction(kArith).symmetric.level>(fit.iscale, v), -kMax, kMax - 1);
    return select(fit.zero, Ints::all(0), l + Ints::all(kMax));
}

// Q3_K without importance: levels by one rounding, then up to five rounds in which each value in turn may move to the
// level that is best for it while the others stay. `levels` [kGroups * kN][kLanes] receives stored levels, 0 .. 2 kMax
// - 1, `scales` [kGroups][kLanes] the groups' scales. Each move waits for the one before it, so kGroups groups advance
// together: their moves fill each other's waits.
template <Arithmetic kArith, int kN, int kMax, int kGroups>
void fit_by_descent(const float* x, uint8_t* levels, float* scales) {
    constexpr DescentContraction kFuse = contraction(kArith).descent;
    const Floats zeros = Floats::all(0.0f);
    Mask zero[kGroups];
    Floats sum_lx[kGroups], sum_l2[kGroups];
    Floats level[kGroups][kN];
    for (int g = 0; g < kGroups; ++g) {
        const float* group = x + g * kN * kLanes;
        const Extreme extreme = largest_magnitude<kN>(group);
        zero[g] = extreme.magnitude < Floats::all(kGroupMaxEpsilon);
        const Floats iscale = Floats::all(float(-kMax)) / extreme.value;
        sum_lx[g] = sum_l2[g] = zeros;
        for (int i = 0; i < kN; ++i) {
            const Floats v = at(group, i), w = v * v;
            const Floats l = to_floats(clamp(rint_product<kFuse.level>(iscale, v), -kMax, kMax - 1));
            level[g][i] = l;
            sum_lx[g] = multiply_add<kFuse.first_sums>(w * v, l, sum_lx[g]);
            sum_l2[g] = multiply_add<kFuse.first_sums>(w * l, l, sum_l2[g]);
        }
    }
    for (int round = 0; round < 5; ++round) {
        Mask changed = zeros < zeros;
        for (int i = 0; i < kN; ++i)
            for (int g = 0; g < kGroups; ++g) {
                const Floats v = at(x, g * kN + i), w = v * v, l = level[g][i];
                const Floats rest_lx = negative_multiply_add<kFuse.remove>(w * v, l, sum_lx[g]);
                const Floats rest_l2 = negative_multiply_add<kFuse.remove>(w * l, l, sum_l2[g]);
                const Floats other = to_floats(clamp(rint(v * rest_l2 / rest_lx), -kMax, kMax - 1));
                const Floats new_lx = multiply_add<kFuse.add>(w * v, other, rest_lx);
                const Floats new_l2 = multiply_add<kFuse.add>(w * other, other, rest_l2);
                const Mask better = (zeros < rest_lx) & ~(other == l) & (zeros < new_l2) &
                                    (sum_lx[g] * sum_lx[g] * new_l2 < new_lx * new_lx * sum_l2[g]);
                level[g][i] = select(better, other, l);
                sum_lx[g] = select(better, new_lx, sum_lx[g]);
                sum_l2[g] = select(better, new_l2, sum_l2[g]);
                changed = changed | better;
            }
        if (!any(changed)) break;  // a round that changes nothing in a lane would change nothing there again
    }
    for (int g = 0; g < kGroups; ++g) {
        for (int i = 0; i < kN; ++i) {
            const Ints stored = truncate_in_range(level[g][i]) + Ints::all(kMax);
            select(zero[g], Ints::all(0), stored).store_bytes(levels + (g * kN + i) * kLanes);
        }
        const Floats scale = select(zeros < sum_l2[g], sum_lx[g] / sum_l2[g], zeros);
        select(zero[g], zeros, scale).store(scales + g * kLanes);
    }
}

// ---- levels 0 .. kMax and a minimum that is not above zero ----

struct AffineFit {
    Floats scale;
    Floats minus_min;          // what is subtracted, >= 0
    Floats iscale, level_min;  // value i's level is clamp(rint(iscale * (x_i - level_min)))
};

struct AffineSearch {
    float first, step;  // candidate k divides kMax + first + step * k by the range
    int n_steps;
    bool absolute;  // the error is the absolute difference, else its square
};

template <Arithmetic kArith, int kMax>
Ints level_of(const AffineFit& fit, Floats v) {
    return clamp(rint_product<contraction(kArith).affine.level>(fit.iscale, v - fit.level_min), 0, kMax);
}

struct AffineSums {
    Floats l, l2, lx;
};
template <Arithmetic kArith, int kN, int kMax, bool kInRange>
AffineSums sums_of_levels(const float* x, const float* weights, Floats iscale, Floats min, float* level) {
    constexpr AffineContraction kFuse = contraction(kArith).affine;
    AffineSums sums = {Floats::all(0.0f), Floats::all(0.0f), Floats::all(0.0f)};
    for (int i = 0; i < kN; ++i) {
        const Floats v = at(x, i), w = at(weights, i);
        const Floats magic = multiply_add<kFuse.level>(iscale, v - min, Floats::all(kRintMagic));
        const Floats l = level_of_magic<kInRange>(magic, 0, kMax);
        l.store(level + i * kLanes);
        const Floats wl = w * l;
        sums.l = kFuse.sum_l ? fma(w, l, sums.l) : sums.l + wl;
        sums.l2 = multiply_add<kFuse.sum_l2>(wl, l, sums.l2);
        sums.lx = multiply_add<kFuse.sum_lx>(wl, v, sums.lx);
    }
    return sums;
}

// For each candidate's levels the least-squares scale and minimum; the candidate with the smallest error wins.
template <Arithmetic kArith, int kN, int kMax>
AffineFit fit_affine(const float* x, const float* weights, const AffineSearch& search) {
    constexpr AffineContraction kFuse = contraction(kArith).affine;
    constexpr bool kFuseFirst = kN == 16 ? kFuse.first_error_of_16 : kFuse.first_error_of_32;
    const Floats zeros = Floats::all(0.0f);
    Floats lowest = at(x, 0), max = lowest;
    Floats sum_w = at(weights, 0), sum_x = sum_w * lowest;
    for (int i = 1; i < kN; ++i) {
        const Floats v = at(x, i), w = at(weights, i);
        lowest = select(v < lowest, v, lowest);
        max = select(max < v, v, max);
        sum_w = sum_w + w;
        sum_x = multiply_add<kFuse.sum_x>(w, v, sum_x);
    }
    const Floats first_min = select(zeros < lowest, zeros, lowest);
    Floats min = first_min;
    const Mask constant = max == min;

    AffineFit fit;
    fit.iscale = Floats::all(float(kMax)) / (max - min);
    fit.level_min = min;
    fit.scale = Floats::all(1.0f) / fit.iscale;
    const auto error_of = [&](Floats decoded, Floats v) {
        const Floats difference = decoded - v;
        return search.absolute ? abs(difference) : difference * difference;
    };
    Floats best_error = zeros;
    for (int i = 0; i < kN; ++i) {
        const Floats v = at(x, i);
        const Floats l = to_floats(clamp(rint_product<kFuse.level>(fit.iscale, v - min), 0, kMax));
        const Floats error = error_of(multiply_add<kFuse.value>(fit.scale, l, min), v);
        best_error = multiply_add<kFuseFirst>(at(weights, i), error, best_error);
    }
    for (int step = 0; step <= search.n_steps; ++step) {
        const float offset = scalar_multiply_add(kFuse.candidate, search.step, float(step), search.first);
        const Floats iscale = Floats::all(offset + float(kMax)) / (max - min);
        AffineSums sums;
        alignas(64) float level[kN * kLanes];
        // All levels lie between those of the lowest and the largest value.
        const Floats range = abs(iscale * (lowest - min)) + abs(iscale * (max - min));
        if (any(~((range < Floats::all(1048576.0f)) | constant)))
            sums = sums_of_levels<kArith, kN, kMax, false>(x, weights, iscale, min, level);
        else
            sums = sums_of_levels<kArith, kN, kMax, true>(x, weights, iscale, min, level);
        const Floats sum_l = sums.l, sum_l2 = sums.l2, sum_lx = sums.lx;
        const Floats det = difference_of_products<kFuse.det>(sum_w, sum_l2, sum_l, sum_l);
        Floats new_scale = difference_of_products<kFuse.det_scale>(sum_w, sum_lx, sum_x, sum_l) / det;
        Floats new_min = difference_of_products<kFuse.det_min>(sum_l2, sum_x, sum_l, sum_lx) / det;
        const Mask positive = zeros < new_min;
        new_min = select(positive, zeros, new_min);
        new_scale = select(positive, sum_lx / sum_l2, new_scale);
        Floats error = zeros;
        for (int i = 0; i < kN; ++i) {
            const Floats decoded = multiply_add<kFuse.value>(new_scale, at(level, i), new_min);
            error = multiply_add<kFuse.error>(at(weights, i), error_of(decoded, at(x, i)), error);
        }
        const Mask better = (zeros < det) & (error < best_error);
        fit.scale = select(better, new_scale, fit.scale);
        fit.iscale = select(better, iscale, fit.iscale);
        fit.level_min = select(better, min, fit.level_min);
        best_error = select(better, error, best_error);
        min = select(better, new_min, min);  // and the next candidates start from there
    }
    fit.scale = select(constant, zeros, fit.scale);
    fit.minus_min = -select(constant, first_min, min);
    // A constant group that is not zero keeps its minimum and has levels 0; without a range there is no iscale.
    fit.iscale = select(constant, zeros, fit.iscale);
    fit.level_min = select(constant, at(x, 0), fit.level_min);
    return fit;
}

// ---- levels 0 .. kMax of values that should not be negative: the scales and minima of a super-block's groups ----

// Like fit_by_descent after a search over eight more scales. `levels` are what llama.cpp keeps in a byte: a negative
// value can wrap to more than kMax.
template <Arithmetic kArith, int kN, int kMax>
Floats fit_positive(const float* x, const float* weights, Ints (&levels)[kN]) {
    constexpr PositiveContraction kFuse = contraction(kArith).positive;
    const Floats zeros = Floats::all(0.0f);
    const Ints byte = Ints::all(255);
    Floats max = zeros;
    for (int i = 0; i < kN; ++i) max = select(at(x, i) < max, max, at(x, i));
    const Mask zero = max < Floats::all(kGroupMaxEpsilon);

    Floats best_iscale = Floats::all(float(kMax)) / max;
    Floats best_error = zeros;
    Floats scale = Floats::all(1.0f) / best_iscale;
    for (int i = 0; i < kN; ++i) {
        const Floats l = to_floats(rint_product<kFuse.level>(best_iscale, at(x, i)) & byte);
        const Floats difference = negative_multiply_add<kFuse.first_value>(scale, l, at(x, i));
        best_error = multiply_add<kFuse.first_error>(at(weights, i) * difference, difference, best_error);
    }
    for (int step = -4; step <= 4; ++step) {
        if (step == 0) continue;
        const float target = scalar_multiply_add(kFuse.candidate, 0.1f, float(step), float(kMax));
        const Floats iscale = Floats::all(target) / max;
        scale = Floats::all(1.0f) / iscale;
        Floats error = zeros;
        for (int i = 0; i < kN; ++i) {
            const Floats l = to_floats(min(Ints::all(kMax), rint_product<kFuse.level>(iscale, at(x, i))));
            const Floats difference = negative_multiply_add<kFuse.value>(scale, l, at(x, i));
            error = multiply_add<kFuse.error>(at(weights, i) * difference, difference, error);
        }
        const Mask better = error < best_error;
        best_error = select(better, error, best_error);
        best_iscale = select(better, iscale, best_iscale);
    }
    Floats sum_lx = zeros, sum_l2 = zeros;
    for (int i = 0; i < kN; ++i) {
        const Ints level = min(Ints::all(kMax), rint_product<kFuse.level>(best_iscale, at(x, i)));
        const Floats l = to_floats(level), v = at(x, i), w = at(weights, i);
        levels[i] = level & byte;
        sum_lx = multiply_add<kFuse.sums>(w * v, l, sum_lx);
        sum_l2 = multiply_add<kFuse.sums>(w * l, l, sum_l2);
    }
    for (int round = 0; round < 5; ++round) {
        Mask changed = zero & ~zero;
        for (int i = 0; i < kN; ++i) {
            const Floats v = at(x, i), w = at(weights, i), l = to_floats(levels[i]);
            const Floats rest_lx = negative_multiply_add<kFuse.remove>(w * v, l, sum_lx);
            const Floats rest_l2 = negative_multiply_add<kFuse.remove>(w * l, l, sum_l2);
            const Ints other = min(Ints::all(kMax), rint(v * rest_l2 / rest_lx));
            const Floats o = to_floats(other);
            const Floats new_lx = multiply_add<kFuse.add>(w * v, o, rest_lx);
            const Floats new_l2 = multiply_add<kFuse.add>(w * o, o, rest_l2);
            const Mask better = (zeros < rest_lx) & (zeros < rest_l2) & ~(other == levels[i]) &
                                (sum_lx * sum_lx * new_l2 < new_lx * new_lx * sum_l2);
            levels[i] = select(better, other & byte, levels[i]);
            sum_lx = select(better, new_lx, sum_lx);
            sum_l2 = select(better, new_l2, sum_l2);
            changed = changed | better;
        }
        if (!any(changed)) break;
    }
    for (Ints& level : levels) level = select(zero, Ints::all(0), level);
    const Floats fitted = select(zeros < sum_l2, sum_lx / sum_l2, zeros);
    return select(zero, zeros, fitted);
}

// ---- levels that stand for the 16 values of kIq4Values ----

constexpr int kIq4First = -127;

// The nibble of the nearest value: how many midpoints are not above x. A tie takes the upper value, a NaN the last.
inline Ints iq4_level(Floats x) {
    Ints level = Ints::all(0);
    for (int i = 0; i < 15; ++i) {
        const float midpoint = 0.5f * float(kIq4Values[i] + kIq4Values[i + 1]);
        level = level + select(x < Floats::all(midpoint), Ints::all(0), Ints::all(1));
    }
    return level;
}

inline Floats iq4_nearest_value(Floats x) {
    Floats value = Floats::all(float(kIq4First));
    for (int i = 0; i < 15; ++i) {
        const float midpoint = 0.5f * float(kIq4Values[i] + kIq4Values[i + 1]);
        value = select(x < Floats::all(midpoint), value, Floats::all(float(kIq4Values[i + 1])));
    }
    return value;
}

// The scale for 32 values: a first one that maps the largest to -127, then 15 around it.
template <Arithmetic kArith>
Floats fit_iq4(const float* x, const float* weights) {
    constexpr TableContraction kFuse = contraction(kArith).table;
    const Floats zeros = Floats::all(0.0f);
    const Extreme extreme = largest_magnitude<32>(x);
    const Mask zero = extreme.magnitude < Floats::all(kGroupMaxEpsilon);
    Floats scale = -extreme.value / Floats::all(float(kIq4First));
    Floats inverse = Floats::all(1.0f) / scale;
    Floats sum_qx = zeros, sum_q2 = zeros;
    for (int i = 0; i < 32; ++i) {
        const Floats v = at(x, i), q = iq4_nearest_value(inverse * v), wq = at(weights, i) * q;
        sum_qx = multiply_add<kFuse.first_sums>(wq, v, sum_qx);
        sum_q2 = multiply_add<kFuse.first_sums>(wq, q, sum_q2);
    }
    scale = select(zeros < sum_q2, sum_qx / sum_q2, zeros);
    Floats best = scale * sum_qx;
    for (int step = -7; step <= 7; ++step) {
        inverse = Floats::all(float(step + kIq4First)) / extreme.value;
        sum_qx = sum_q2 = zeros;
        for (int i = 0; i < 32; ++i) {
            const Floats v = at(x, i), q = iq4_nearest_value(inverse * v), wq = at(weights, i) * q;
            sum_qx = multiply_add<kFuse.sums>(wq, v, sum_qx);
            sum_q2 = multiply_add<kFuse.sums>(wq, q, sum_q2);
        }
        const Mask better = (zeros < sum_q2) & (best * sum_q2 < sum_qx * sum_qx);
        const Floats fitted = sum_qx / sum_q2;
        scale = select(better, fitted, scale);
        best = select(better, fitted * sum_qx, best);
    }
    return select(zero, zeros, scale);
}
