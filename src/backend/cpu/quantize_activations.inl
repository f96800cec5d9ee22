// Activations to integers. The largest magnitude is the largest of the bits without their sign, in which infinity and
// NaN are larger than any number.
void quantize_row(const float* x, size_t n_in, size_t block, const QuantizedRow& out) {
    const VecI magnitude = all32(0x7fffffff);
    for (size_t b = 0; b < n_in / block; ++b) {
        const float* v = x + b * block;
        VecI largest = zero_integers();
        for (size_t i = 0; i < block; i += 16) largest = max_unsigned32(largest, as_integers(load(v + i)) & magnitude);
        const uint32_t bits = max_lane_unsigned32(largest);
        float amax;
        __builtin_memcpy(&amax, &bits, 4);
        const bool finite = bits < 0x7f800000u, zero_block = !finite || amax < 0x1p-100f;
        out.d[b] = !finite ? __builtin_nanf("") : zero_block ? 0.0f : amax / 127.0f;
        const Vec inverse = all(zero_block ? 0.0f : 127.0f / amax);
        int8_t* q = out.q + b * block;
        for (size_t i = 0; i < block; i += 32) {
            const VecI low = zero_block ? zero_integers() : to_integers(load(v + i) * inverse);
            const VecI high = zero_block ? zero_integers() : to_integers(load(v + i + 16) * inverse);
            store_low_bytes(low, q + i);
            store_low_bytes(high, q + i + 16);
            const size_t g = (b * block + i) / 32;
            if (out.sums16) {
                const int sum_low = sum_lanes32(low), sum_high = sum_lanes32(high);
                out.sums16[2 * g] = int16_t(sum_low);
                out.sums16[2 * g + 1] = int16_t(sum_high);
                out.sums32[g] = int16_t(sum_low + sum_high);
            } else {
                out.sums32[g] = int16_t(sum_lanes32(add32(low, high)));
            }
        }
    }
}
