// The float exp, sixteen at a time: base/exp_constants.h.
inline Vec power_of_two(VecI n) { return as_floats(shift_left32<23>(add32(n, all32(127)))); }

inline Vec exp(Vec x) {
    using namespace exp_f32;
    // Comparisons are false for NaN, so NaN stays; what becomes of its n does not matter, for NaN times anything is
    // NaN.
    x = select_less(all(kLargest), x, all(kLargest), x);
    x = select_less(x, all(kSmallest), all(kSmallest), x);
    const Vec t = fma(x, all(kLog2E), all(kRound));
    const VecI n = sub32(as_integers(t), as_integers(all(kRound)));
    const Vec n_float = t - all(kRound);
    const Vec r = fnma(n_float, all(kLn2Low), fnma(n_float, all(kLn2High), x));
    Vec q = all(kC4);
    q = fma(q, r, all(kC3));
    q = fma(q, r, all(kC2));
    q = fma(q, r, all(kC1));
    q = fma(q, r, all(kC0));
    const Vec p = all(1.0f) + fma(r * r, q, r);
    const VecI half = shift_right32_signed<1>(n);
    return p * power_of_two(sub32(n, half)) * power_of_two(half);
}

inline float exp(float x) { return first_lane(exp(all(x))); }
