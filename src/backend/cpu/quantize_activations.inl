// Activations to integers. The largest magnitude is the largest of the bits without their sign, in which infinity and
// NaN are larger than any number.

// d of a block and what its values are multiplied by, from the bits of the largest magnitude. A block that is to be 0
// gets 0: a number times 0 is 0, and infinity or NaN times 0 is NaN, which becomes the integer 0x80000000, whose low
// byte is 0 as well.
inline float block_scale(uint32_t bits, float* d) {
    float amax;
    __builtin_memcpy(&amax, &bits, 4);
    const bool finite = bits < 0x7f800000u, zero_block = !finite || amax < 0x1p-100f;
    *d = !finite ? __builtin_nanf("") : zero_block ? 0.0f : amax / 127.0f;
    return zero_block ? 0.0f : 127.0f / amax;
}

inline VecI magnitudes(const float* x) { return as_integers(load(x)) & all32(0x7fffffff); }

// Lane e of each quarter: the largest of the lanes of m[e].
inline VecI largest_of_4(const VecI (&m)[4]) {
    const VecI a = max_unsigned32(unpack_low32(m[0], m[1]), unpack_high32(m[0], m[1]));
    const VecI b = max_unsigned32(unpack_low32(m[2], m[3]), unpack_high32(m[2], m[3]));
    return max_of_quarters32(max_unsigned32(unpack_low64(a, b), unpack_high64(a, b)));
}

// Four dwords a quarter: sums of four bytes each.
inline VecI sums_of_4_bytes(VecI q) { return multiply_words(multiply_unsigned(all8(1), q), all16(1)); }

// 256 values, of eight blocks or of one.
inline void quantize_256(const float* x, size_t block, int8_t* q, float* d, int16_t* sums16, int16_t* sums32) {
    float inverse[8];
    if (block == 32) {
        for (size_t i = 0; i < 8; i += 4) {
            VecI m[4];
            for (size_t e = 0; e < 4; ++e)
                m[e] = max_unsigned32(magnitudes(x + 32 * (i + e)), magnitudes(x + 32 * (i + e) + 16));
            uint32_t bits[16];
            store_bytes(largest_of_4(m), bits);
            for (size_t e = 0; e < 4; ++e) inverse[i + e] = block_scale(bits[e], d + i + e);
        }
    } else {
        VecI largest = magnitudes(x);
        for (size_t i = 16; i < 256; i += 16) largest = max_unsigned32(largest, magnitudes(x + i));
        inverse[0] = block_scale(max_lane_unsigned32(largest), d);
        for (size_t i = 1; i < 8; ++i) inverse[i] = inverse[0];
    }
    for (size_t i = 0; i < 256; i += 16) store_low_bytes(to_integers(load(x + i) * all(inverse[i / 32])), q + i);
    // Group e + 4 L is quarter L of the vector e, and so lane e + 4 L of the sums.
    VecI groups[4];
    for (size_t e = 0; e < 4; ++e)
        groups[e] = sums_of_4_bytes(load_rows(reinterpret_cast<const uint8_t*>(q) + 16 * e, 16));
    int16_t sums[16];
    store_low_words(sums_by_row(groups), sums);
    if (sums16) __builtin_memcpy(sums16, sums, sizeof sums);
    for (size_t i = 0; i < 8; ++i) sums32[i] = int16_t(sums[2 * i] + sums[2 * i + 1]);
}

void quantize_row(const float* x, size_t n_in, size_t block, const QuantizedRow& out) {
    size_t i = 0;
    for (; i + 256 <= n_in; i += 256)
        quantize_256(x + i, block, out.q + i, out.d + i / block, out.sums16 ? out.sums16 + i / 16 : nullptr,
                     out.sums32 + i / 32);
    // Blocks of 32 that do not make 256 values.
    for (; i < n_in; i += 32) {
        const uint32_t bits = max_lane_unsigned32(max_unsigned32(magnitudes(x + i), magnitudes(x + i + 16)));
        const Vec inverse = all(block_scale(bits, out.d + i / 32));
        store_low_bytes(to_integers(load(x + i) * inverse), out.q + i);
        store_low_bytes(to_integers(load(x + i + 16) * inverse), out.q + i + 16);
        int sum[2] = {0, 0};
        for (size_t j = 0; j < 32; ++j) sum[j / 16] += out.q[i + j];
        if (out.sums16) {
            out.sums16[i / 16] = int16_t(sum[0]);
            out.sums16[i / 16 + 1] = int16_t(sum[1]);
        }
        out.sums32[i / 32] = int16_t(sum[0] + sum[1]);
    }
}
