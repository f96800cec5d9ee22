// What the many-token panels of NEON's two kinds of byte products have in common. Where the scale is not in the
// weights, blocks of 256 have the sums of their groups multiplied, as int32, which one instruction does together with
// the addition. A block's sum is below 2^27 (docs/numerics.md), whatever the order.
//
// Block after block, each of these parts in this order:
//   weights  [block][16 rows]   int8, in the order that the set's own file says
//   scales   [n_group][16 rows] int32, where they multiply sums
//   minimums [n_group][16 rows] minimum_bytes each, in the order that the set's own file says
//   d        [16 rows]          float; m [16 rows] float
template <class Type, size_t minimum_bytes>
struct SignedPanel {
    static constexpr PanelLayout kLayout = panel_layout(Type::kType);
    static constexpr bool kScaled = kLayout.block == 256 && !kScaleInWeights<Type>;
    static constexpr bool kMinimums = kLayout.m && kLayout.block == 256;
    // Values whose sum is multiplied at once.
    static constexpr size_t kPart = kScaled ? kLayout.group : kLayout.block;
    static constexpr size_t kParts = kLayout.block / kPart;
    static constexpr size_t kScalesAt = kLayout.block * 16;
    static constexpr size_t kMinimumsAt = kScalesAt + (kScaled ? kLayout.n_group * 64 : 0);
    static constexpr size_t kDAt = kMinimumsAt + (kMinimums ? kLayout.n_group * 16 * minimum_bytes : 0);
    static constexpr size_t kMAt = kDAt + 64;
    static constexpr size_t kBytes = kMAt + (kLayout.m ? 64 : 0);
};

template <class P, class Type>
inline void write_scales(const BlockOfRows<Type>& block, std::byte* to) {
    if constexpr (P::kScaled)
        for (size_t g = 0; g < P::kLayout.n_group; ++g)
            store_bytes(shift_right32_signed<16>(block.scales[g]), to + P::kScalesAt + 64 * g);
    write_d_and_m<P>(block, to);
}

// Bytes and floats of a panel, as registers.
inline int8x16_t bytes_at(const std::byte* p) { return (int8x16_t)vld1q_u8(reinterpret_cast<const uint8_t*>(p)); }
inline int32x4_t integers_at(const std::byte* p) { return (int32x4_t)bytes_at(p); }
inline float32x4_t floats_at(const std::byte* p) { return (float32x4_t)bytes_at(p); }
