// Bytes from lane order to blocks, with the shuffles of the base instruction set. Included by lanes of 8 and of 16.

// rows[lane][i] = bytes[i][lane], for n of at least 16: sixteen of them at a time, the last sixteen perhaps once more.
// Number the kLanes * 16 bytes at hand by the bits of i and then of lane; interleaving the first half of them with the
// second rotates a byte's number by one bit, and four such rounds bring the bits of lane before those of i.
inline void bytes_from_lanes(const uint8_t* bytes, int n, uint8_t* const (&rows)[kLanes]) {
    for (int next = 0; next < n; next += 16) {
        const int first = next + 16 <= n ? next : n - 16;
        __m128i v[kLanes], w[kLanes];
        for (int i = 0; i < kLanes; ++i)
            v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + first * kLanes) + i);
        for (int round = 0; round < 4; ++round) {
            for (int i = 0; i < kLanes / 2; ++i) {
                w[2 * i] = _mm_unpacklo_epi8(v[i], v[i + kLanes / 2]);
                w[2 * i + 1] = _mm_unpackhi_epi8(v[i], v[i + kLanes / 2]);
            }
            for (int i = 0; i < kLanes; ++i) v[i] = w[i];
        }
        for (int lane = 0; lane < kLanes; ++lane)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(rows[lane] + first), v[lane]);
    }
}
