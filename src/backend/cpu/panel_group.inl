// A group of kTokenGroup tokens, as AMX and SMMLA multiply them together:
//   q    [n_in / k][16 tokens][k]  int8; k is how many values of a token an instruction takes
//   d    [n_block][16 tokens]      float
//   sums [n_block][16 tokens]      float, of 32 q; with blocks of 32 only
constexpr size_t group_bytes(size_t n_in, size_t block) {
    return n_in * kTokenGroup + n_in / block * kTokenGroup * sizeof(float) * (block == 32 ? 2 : 1);
}

template <size_t k>
inline void arrange_bytes(const int8_t* q, size_t n_in, size_t token, std::byte* group) {
    for (size_t i = 0; i < n_in; i += k) __builtin_memcpy(group + i * kTokenGroup + token * k, q + i, k);
}

inline void arrange_floats(const QuantizedRow& row, size_t n_in, size_t block, size_t token, std::byte* group) {
    const size_t n_block = n_in / block;
    const float* d = row.d;
    auto* to = reinterpret_cast<float*>(group + n_in * kTokenGroup) + token;
    for (size_t b = 0; b < n_block; ++b) to[b * kTokenGroup] = d[b];
    if (block != 32) return;
    const int16_t* sums = row.sums32;
    to += n_block * kTokenGroup;
    for (size_t b = 0; b < n_block; ++b) to[b * kTokenGroup] = float(sums[b]);
}
