// One head. Both values of a pair are read before either is written, so out may be x.

inline Vec with_bias(const float* x, const float* bias, size_t i, size_t n) {
    const Vec v = load(x + i, n);
    return bias ? v + load(bias + i, n) : v;
}

inline void copy_rest(const float* x, const float* bias, float* out, size_t from, size_t head_dim) {
    for (size_t i = from; i < head_dim; i += 16) store(with_bias(x, bias, i, head_dim - i), out + i, head_dim - i);
}

void rope_halves(const float* x, const float* bias, const float* cos, const float* sin, float* out, size_t n_rot,
                 size_t head_dim) {
    const size_t half = n_rot / 2;
    for (size_t j = 0; j < half; j += 16) {
        const size_t n = half - j;
        const Vec a = with_bias(x, bias, j, n), b = with_bias(x, bias, half + j, n);
        const Vec c = load(cos + j, n), s = load(sin + j, n);
        store(a * c - b * s, out + j, n);
        store(a * s + b * c, out + half + j, n);
    }
    copy_rest(x, bias, out, n_rot, head_dim);
}

void rope_interleaved(const float* x, const float* bias, const float* cos, const float* sin, float* out, size_t n_rot,
                      size_t head_dim) {
    for (size_t i = 0; i < n_rot; i += 16) {
        const size_t n = n_rot - i, n_pair = n >= 16 ? 8 : n / 2;
        const Vec v = with_bias(x, bias, i, n);
        // a c - b s and b c + a s: with s negated in the even lanes both are v c + swapped(v) s, to the bit.
        const Vec c = each_twice(load(cos + i / 2, n_pair)), s = each_twice(load(sin + i / 2, n_pair));
        store(v * c + swap_pairs(v) * negate_even(s), out + i, n);
    }
    copy_rest(x, bias, out, n_rot, head_dim);
}
