// Rows of cells to floats and back. docs/numerics.md, "KV cells".

void encode_f16_row(const float* x, std::byte* out, size_t n) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) store_halves(load(x + i), out + 2 * i);
    if (i < n) {
        alignas(32) std::byte last[32];
        store_halves(load(x + i, n - i), last);
        __builtin_memcpy(out + 2 * i, last, 2 * (n - i));
    }
}

void decode_f16_row(const std::byte* row, float* out, size_t n) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) store(load_halves(row + 2 * i), out + i);
    if (i < n) {
        alignas(32) std::byte last[32] = {};
        __builtin_memcpy(last, row + 2 * i, 2 * (n - i));
        store(load_halves(last), out + i, n - i);
    }
}

void decode_q8_0_row(const std::byte* row, float* out, size_t n) {
    for (size_t i = 0; i < n; i += 32, row += 34) {
        uint16_t half;
        __builtin_memcpy(&half, row, 2);
        const Vec d = low_halves(all32(half));
        store(load_signed_bytes(row + 2) * d, out + i);
        store(load_signed_bytes(row + 18) * d, out + i + 16);
    }
}
