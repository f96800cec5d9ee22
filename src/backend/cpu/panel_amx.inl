// Many tokens over a panel of integers with AMX: a tile of 16 tokens times a tile of weights of 16 rows adds 16 x 16
// sums at once, a row of the result a token, a lane a row of the weights.
//
// A tile of weights is [k / 4][16 rows][4] bytes, what the VNNI kernels read as vectors. Here both factors may be
// signed, so weights have their offsets taken off and activations stay as they are.
//
// Blocks of 32: a block is one product of tiles, and its sums leave the tile for one fma each. What bounds the speed is
// not the tiles but the two operations on port 0, the only one that multiplies floats while tiles are multiplied. So
// the sums become floats without vcvtdq2ps: they are accumulated on top of the bits of 1.5 * 2^23, in whose binade
// floats are the integers, and 1.5 * 2^23 is subtracted, exactly. That holds for |s| < 2^22; the largest s is Q8_0's,
// 128 * 127 * 32 = 520192.
//
// Blocks of 256: the integer scale is multiplied into each weight, so that a block is one sum over 256. Where the
// product is a byte (Q2_K: 15 * 3; Q3_K: 32 * 4 = 128, kept negated, -128 to 124) that is all. Else it is a word, and
// the word's bytes are two tiles: product = 256 * high + low, low unsigned, high signed. Q4_K: 63 * 15 = 945, Q5_K: 63
// * 31 = 1953, Q6_K: 128 * 32 = 4096, IQ4_XS: 32 * 127 = 4064 at most, so |high| <= 16. Sums of low are at most 255 *
// 127 * 256 = 8290560, those of high 16 * 127 * 256 = 520192, and 256 times that 2^27: nothing overflows.

struct TileConfig {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
// Tiles 0 to 3 are sums, 4 and 5 activations of k values, 6 and 7 weights.
constexpr TileConfig tile_config(uint16_t k) {
    TileConfig c{};
    c.palette = 1;
    for (int i = 0; i < 4; ++i) c.row_bytes[i] = 64, c.rows[i] = 16;
    for (int i = 4; i < 6; ++i) c.row_bytes[i] = k, c.rows[i] = 16;
    for (int i = 6; i < 8; ++i) c.row_bytes[i] = 64, c.rows[i] = uint8_t(k / 4);
    return c;
}
alignas(64) constexpr TileConfig kTilesOf32 = tile_config(32), kTilesOf64 = tile_config(64);

// The bits of 1.5 * 2^23 as a float.
constexpr int32_t kMagic = 0x4b400000;

// Block after block, each of these parts in this order:
//   weights  [block / 4][16 rows][4]   bytes; where kSplit the low bytes, and the high ones after them
//   minimums [n_group / 2][16 rows][2] int16
//   d        [16 rows]                 float; m [16 rows] float
template <class Type>
struct AmxPanel {
    static constexpr PanelLayout kLayout = panel_layout(Type::kType);
    static constexpr bool kSplit = kLayout.block == 256 && !kScaleInWeights<Type>;
    static constexpr bool kMinimums = kLayout.m && kLayout.block == 256;
    static constexpr size_t kHighAt = kLayout.block * 16;
    static constexpr size_t kMinimumsAt = kHighAt * (kSplit ? 2 : 1);
    static constexpr size_t kDAt = kMinimumsAt + (kMinimums ? kLayout.n_group / 2 * 64 : 0);
    static constexpr size_t kMAt = kDAt + 64;
    static constexpr size_t kBytes = kMAt + (kLayout.m ? 64 : 0);
};

template <class Type>
constexpr size_t kPanelBlockBytes = AmxPanel<Type>::kBytes;

template <class Type>
inline void write_block(const BlockOfRows<Type>& block, std::byte* to) {
    using P = AmxPanel<Type>;
    for (size_t i = 0; i < P::kLayout.block / 4; ++i) {
        if constexpr (P::kSplit) {
            const WordProducts words = scaled_words(unscaled_weights<Type>(block, i), scale_of_weights<Type>(block, i));
            store_bytes(low_bytes(words), to + 64 * i);
            store_bytes(high_bytes(words), to + P::kHighAt + 64 * i);
        } else {
            store_bytes(signed_weights<Type>(block, i), to + 64 * i);
        }
    }
    if constexpr (P::kMinimums)
        for (size_t i = 0; i < P::kLayout.n_group / 2; ++i)
            store_bytes(block.minimums[i], to + P::kMinimumsAt + 64 * i);
    write_d_and_m<P>(block, to);
}

// A group of tokens as tiles: k is 32 with blocks of 32, else 64.
size_t arranged_bytes(size_t n_in, size_t block) { return group_bytes(n_in, block); }
void arrange(const QuantizedRow& row, size_t n_in, size_t block, size_t token, std::byte* group) {
    if (block == 32)
        arrange_bytes<32>(row.q, n_in, token, group);
    else
        arrange_bytes<64>(row.q, n_in, token, group);
    arrange_floats(row, n_in, block, token, group);
}
constexpr ArrangedBytes kArrangedBytes = &arranged_bytes;
constexpr Arrange kArrange = &arrange;

// ---- Blocks of 32: one group of tokens over all panels.

// The products of tiles run kAhead blocks before the floats, through panel after panel, so that a block's sums have
// come out of the tile and reached the cache when they are wanted.
constexpr size_t kAhead = 3, kRing = 4;

template <class Type>
inline void group_of_32(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x,
                        const std::byte* group, size_t n_token, float* out, size_t out_stride) {
    using P = AmxPanel<Type>;
    const size_t n_block = x.n_in / 32;
    const auto* d_a = reinterpret_cast<const float*>(group + x.n_in * kTokenGroup);
    alignas(64) int32_t sums[kRing][256];
    const Vec magic = as_floats(all32(kMagic));

    // The product to start next. Tiles take turns, so that one is stored while the other is multiplied.
    const std::byte *next_a = group, *next_w = panels, *next_panel = panels;
    size_t next_block = 0, started = 0;
    const size_t n_step = n_block * n_panel;
    const auto start = [&]() __attribute__((always_inline)) {
        if (started == n_step) return;
        if (started % 2 == 0) {
            _tile_zero(0);
            _tile_loadd(4, next_a, 32);
            _tile_loadd(6, next_w, 64);
            _tile_dpbssd(0, 4, 6);
        } else {
            _tile_zero(1);
            _tile_loadd(5, next_a, 32);
            _tile_loadd(7, next_w, 64);
            _tile_dpbssd(1, 5, 7);
        }
        ++started;
        next_a += 32 * kTokenGroup;
        next_w += P::kBytes;
        if (++next_block == n_block) {
            next_block = 0;
            next_a = group;
            next_w = next_panel += panel_bytes;
        }
    };
    size_t finished = 0;
    const auto finish = [&]() __attribute__((always_inline)) {
        if (finished == started) return;
        if (finished % 2 == 0)
            _tile_stored(0, sums[finished % kRing], 64);
        else
            _tile_stored(1, sums[finished % kRing], 64);
        ++finished;
    };
    for (size_t i = 0; i < kAhead; ++i) {
        if (i != 0) finish();
        start();
    }
    size_t step = 0;
    for (size_t p = 0; p < n_panel; ++p) {
        Vec acc[16];
#pragma GCC unroll 16
        for (int t = 0; t < 16; ++t) acc[t] = zero();
        const std::byte* w = panels + p * panel_bytes;
        const float* scales_a = d_a;
        for (size_t b = 0; b < n_block; ++b, ++step, w += P::kBytes, scales_a += kTokenGroup) {
            start();
            const int32_t* s = sums[step % kRing];
            const Vec d = load(reinterpret_cast<const float*>(w + P::kDAt));
#pragma GCC unroll 16
            for (int t = 0; t < 16; ++t) {
                const Vec exact = as_floats(add32(load_bytes(s + 16 * t), all32(kMagic))) - magic;
                acc[t] = fma(d * all(scales_a[t]), exact, acc[t]);
            }
            if constexpr (P::kLayout.m) {
                const Vec m = load(reinterpret_cast<const float*>(w + P::kMAt));
                const float* sums_a = scales_a + n_block * kTokenGroup;
#pragma GCC unroll 16
                for (int t = 0; t < 16; ++t) acc[t] = fma(m * all(scales_a[t]), all(sums_a[t]), acc[t]);
            }
            finish();
        }
        float* const to = out + p * kPanelRows;
#pragma GCC unroll 16
        for (int t = 0; t < 16; ++t)
            if (size_t(t) < n_token) store(acc[t], to + size_t(t) * out_stride);
    }
}

// int32 times 256, without the shift that only port 0 does.
inline VecI byte_left32(VecI x) {
    static constexpr uint8_t kUp[16] = {128, 0, 1, 2, 128, 4, 5, 6, 128, 8, 9, 10, 128, 12, 13, 14};
    return shuffle(x, pattern(kUp));
}

// ---- Blocks of 256: one or two groups of tokens over all panels.

// Blocks that all panels are taken through before the next ones: what two groups of tokens have of them, 32 KiB, stays
// in L1 while the panels come from L2. The float sums wait in `out` meanwhile.
constexpr size_t kChunk = 4;

// A block whose tiles are done: its floats are computed while the next one's tiles are multiplied.
struct Finished {
    const std::byte* w = nullptr;  // null where there is none
    size_t block = 0;
    bool first = false, last = false;  // of the row; of the chunk
    float* out = nullptr;
};

// The floats of tokens begin .. end - 1 of a group.
template <class Type>
inline void finish_tokens(const Finished& f, const Activations& x, const std::byte* group, size_t token, int begin,
                          int end, size_t n_token, const int32_t* sums, float* acc, float* out, size_t out_stride,
                          bool load_out) {
    using P = AmxPanel<Type>;
    const auto* d_a = reinterpret_cast<const float*>(group + x.n_in * kTokenGroup) + f.block * kTokenGroup;
    const Vec d = load(reinterpret_cast<const float*>(f.w + P::kDAt));
    constexpr size_t kSumOf = P::kLayout.group == 16 ? 16 : 32;
    const size_t n_sums = x.n_in / kSumOf;
    const int16_t* sums_a = (kSumOf == 16 ? x.sums16 : x.sums32) + token * n_sums + f.block * (256 / kSumOf);
    Vec m = zero();
    VecI minimums[P::kLayout.n_group / 2];
    if constexpr (P::kMinimums) {
        m = load(reinterpret_cast<const float*>(f.w + P::kMAt));
#pragma GCC unroll 8
        for (size_t j = 0; j < P::kLayout.n_group / 2; ++j) minimums[j] = load_bytes(f.w + P::kMinimumsAt + 64 * j);
    }
#pragma GCC unroll 2
    for (int t = begin; t < end; ++t) {
        // A token that is not there has no sums and no place in `out`.
        const bool there = size_t(t) < n_token;
        VecI s = load_bytes(sums + 16 * t);
        if constexpr (P::kSplit) s = add32(s, byte_left32(load_bytes(sums + 256 + 16 * t)));
        Vec a = f.first ? zero() : load(load_out && there ? out + size_t(t) * out_stride : acc + 16 * t);
        const Vec scale_a = all(d_a[t]);
        a = fma(d * scale_a, to_float(s), a);
        if constexpr (P::kMinimums) {
            const int16_t* from = there ? sums_a + size_t(t) * n_sums : sums_a;
            VecI c = zero_integers();
#pragma GCC unroll 8
            for (size_t j = 0; j < P::kLayout.n_group / 2; ++j) c = dot2(c, minimums[j], repeat4(from + 2 * j));
            a = fnma(m * scale_a, to_float(c), a);
        }
        if (!f.last)
            store(a, acc + 16 * t);
        else if (there)
            store(a, out + size_t(t) * out_stride);
    }
}

template <class Type, int n_group>
inline void groups_of_256(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x,
                          const std::byte* group, size_t token, size_t n_token, float* out, size_t out_stride) {
    using P = AmxPanel<Type>;
    const size_t n_block = x.n_in / 256;
    const std::byte* const second = n_group == 2 ? group + x.arranged_bytes : group;
    alignas(64) int32_t sums[2][2][512];  // [of two blocks][group][low, high]
    alignas(64) float acc[2][256] = {};
    const auto post = [&](const Finished& f, const int32_t(&from)[2][512], int quarter) __attribute__((always_inline)) {
        if (!f.w) return;
        const int begin = 4 * quarter, end = begin + 4;
        const bool load_out = f.block % kChunk == 0;
        finish_tokens<Type>(f, x, group, token, begin, end, n_token, from[0], acc[0], f.out, out_stride, load_out);
        if constexpr (n_group == 2)
            finish_tokens<Type>(f, x, second, token + kTokenGroup, begin, end, n_token - kTokenGroup, from[1], acc[1],
                                f.out + kTokenGroup * out_stride, out_stride, load_out);
    };
    Finished finished;
    int buffer = 0;
    for (size_t chunk = 0; chunk < n_block; chunk += kChunk) {
        const size_t chunk_end = chunk + kChunk < n_block ? chunk + kChunk : n_block;
        for (size_t p = 0; p < n_panel; ++p) {
            const std::byte* w = panels + p * panel_bytes + chunk * P::kBytes;
            for (size_t b = chunk; b < chunk_end; ++b, w += P::kBytes, buffer ^= 1) {
                const int32_t(&previous)[2][512] = sums[buffer ^ 1];
                _tile_zero(0);
                if constexpr (P::kSplit) _tile_zero(1);
                if constexpr (n_group == 2) {
                    _tile_zero(2);
                    if constexpr (P::kSplit) _tile_zero(3);
                }
                for (int k = 0; k < 4; ++k) {
                    const std::byte* tile = w + 1024 * k;
                    const size_t a = (b * 4 + size_t(k)) * 1024;
                    _tile_loadd(4, group + a, 64);
                    _tile_loadd(6, tile, 64);
                    if constexpr (P::kSplit) {
                        _tile_dpbsud(0, 4, 6);
                        _tile_loadd(7, tile + P::kHighAt, 64);
                        _tile_dpbssd(1, 4, 7);
                    } else {
                        _tile_dpbssd(0, 4, 6);
                    }
                    if constexpr (n_group == 2) {
                        _tile_loadd(5, second + a, 64);
                        if constexpr (P::kSplit) {
                            _tile_dpbsud(2, 5, 6);
                            _tile_dpbssd(3, 5, 7);
                        } else {
                            _tile_dpbssd(2, 5, 6);
                        }
                    }
                    post(finished, previous, k);
                }
                _tile_stored(0, sums[buffer][0], 64);
                if constexpr (P::kSplit) _tile_stored(1, sums[buffer][0] + 256, 64);
                if constexpr (n_group == 2) {
                    _tile_stored(2, sums[buffer][1], 64);
                    if constexpr (P::kSplit) _tile_stored(3, sums[buffer][1] + 256, 64);
                }
                finished = {w, b, b == 0, b + 1 == chunk_end, out + p * kPanelRows};
            }
        }
    }
    for (int k = 0; k < 4; ++k) post(finished, sums[buffer ^ 1], k);
}

template <class Type>
void matmul_panel(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                  size_t n_token, float* out, size_t out_stride) {
    // token is a multiple of kTokenGroup. Tiles are state of the thread, so they are set up and let go of at each call.
    const std::byte* group = x.arranged + token / kTokenGroup * x.arranged_bytes;
    if constexpr (panel_layout(Type::kType).block == 32) {
        _tile_loadconfig(&kTilesOf32);
        for (size_t t = 0; t < n_token; t += kTokenGroup, group += x.arranged_bytes)
            group_of_32<Type>(panels, panel_bytes, n_panel, x, group, n_token - t, out + t * out_stride, out_stride);
    } else {
        _tile_loadconfig(&kTilesOf64);
        size_t t = 0;
        for (; t + kTokenGroup < n_token; t += 2 * kTokenGroup, group += 2 * x.arranged_bytes)
            groups_of_256<Type, 2>(panels, panel_bytes, n_panel, x, group, token + t, n_token - t, out + t * out_stride,
                                   out_stride);
        if (t < n_token)
            groups_of_256<Type, 1>(panels, panel_bytes, n_panel, x, group, token + t, n_token - t, out + t * out_stride,
                                   out_stride);
    }
    _tile_release();
}
