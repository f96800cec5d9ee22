// The float exp, sixteen at a time: base/exp_constants.h.
inline Vec power_of_two(VecI n) { return as_floats(shift_left32<23>(add32(n, all32(127)))); }

inline Vec exp(Vec x) {
    // Comparisons are false for NaN, so NaN stays; what becomes of its n does not matter, for NaN times anything is
    // NaN.
    x = select_less(all(exp_f32::kLargest), x, all(exp_f32::kLargest), x);
    x = select_less(x, all(exp_f32::kSmallest), all(exp_f32::kSmallest), x);
    const Vec t = fma(x, all(exp_f32::kLog2E), all(exp_f32::kRound));
    const VecI n = sub32(as_integers(t), as_integers(all(exp_f32::kRound)));
    const Vec n_float = t - all(exp_f32::kRound);
    const Vec r = fnma(n_float, all(exp_f32::kLn2Low), fnma(n_float, all(exp_f32::kLn2High), x));
    Vec q = all(exp_f32::kC4);
    q = fma(q, r, all(exp_f32::kC3));
    q = fma(q, r, all(exp_f32::kC2));
    q = fma(q, r, all(exp_f32::kC1));
    q = fma(q, r, all(exp_f32::kC0));
    const Vec p = all(1.0f) + fma(r * r, q, r);
    const VecI half = shift_right32_signed<1>(n);
    return p * power_of_two(sub32(n, half)) * power_of_two(half);
}

inline float exp(float x) { return first_lane(exp(all(x))); }
