// The float exp, sixteen at a time: base/exp_constants.h.
inline Vec exp(Vec x) {
    // NaN stays, as the second of each two; what becomes of its n does not matter, for NaN times anything is NaN.
    x = max(all(exp_f32::kSmallest), min(all(exp_f32::kLargest), x));
    const Vec t = fma(x, all(exp_f32::kLog2E), all(exp_f32::kRound));
    const Vec n = t - all(exp_f32::kRound);
    const Vec r = fnma(n, all(exp_f32::kLn2Low), fnma(n, all(exp_f32::kLn2High), x));
    Vec q = all(exp_f32::kC4);
    q = fma(q, r, all(exp_f32::kC3));
    q = fma(q, r, all(exp_f32::kC2));
    q = fma(q, r, all(exp_f32::kC1));
    q = fma(q, r, all(exp_f32::kC0));
    return times_power_of_two(all(1.0f) + fma(r * r, q, r), n);
}

inline float exp(float x) { return first_lane(exp(all(x))); }
