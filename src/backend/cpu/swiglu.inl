inline Vec silu(Vec x) { return x / (all(1.0f) + exp(negate(x))); }

void silu_row(const float* x, float* out, size_t n) {
    for (size_t i = 0; i < n; i += 16) store(silu(load(x + i, n - i)), out + i, n - i);
}

void mul_row(const float* a, const float* b, float* out, size_t n) {
    for (size_t i = 0; i < n; i += 16) store(load(a + i, n - i) * load(b + i, n - i), out + i, n - i);
}

void swiglu_row(const float* gate, const float* up, float* out, size_t n) {
    for (size_t i = 0; i < n; i += 16) store(silu(load(gate + i, n - i)) * load(up + i, n - i), out + i, n - i);
}
