void rms_norm_row(const float* x, const float* weight, float eps, float* out, size_t dim) {
    Vec sum = zero();
    for (size_t i = 0; i < dim; i += 16) {
        const Vec v = load(x + i, dim - i);  // past the end +0, which changes no bit of a sum of squares
        sum = fma(v, v, sum);
    }
    const Vec scale = all(1.0f / square_root(tree(sum) / float(dim) + eps));
    for (size_t i = 0; i < dim; i += 16)
        store(load(x + i, dim - i) * scale * load(weight + i, dim - i), out + i, dim - i);
}
