// What the many-token panels of NEON's two kinds of byte products have in common. Both factors are signed, so weights
// have their offsets taken off and activations need no correction.
//
// A scale times a weight that is a byte is multiplied into it, so that a block is one sum: Q2_K, 15 * 3; Q3_K, 32 * 4 =
// 128 at most, kept negated, for then it is -128 to 124. The other types with blocks of 256 have the sums of their
// groups multiplied, as int32, which one instruction does together with the addition. A block's sum is below 2^27
// (docs/numerics.md), whatever the order.
//
// Block after block, each of these parts in this order:
//   weights  [block][16 rows]   int8, in the order that the set's own file says
//   scales   [n_group][16 rows] int32, where they multiply sums
//   minimums [n_group][16 rows] minimum_bytes each, in the order that the set's own file says
//   d        [16 rows]          float; m [16 rows] float
template <class Type>
constexpr bool kScaleInWeights = Type::kType == gguf::TensorType::Q2_K || Type::kType == gguf::TensorType::Q3_K;

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

// Quad i of the block as it is multiplied.
template <class Type>
inline VecI signed_weights(const BlockOfRows<Type>& block, size_t i) {
    VecI w = block.weights[i];
    if constexpr (!Type::kSigned && Type::kOffset != 0) w = add8(w, all8(-Type::kOffset));
    if constexpr (kScaleInWeights<Type>) {
        constexpr size_t kQuadsOfGroup = panel_layout(Type::kType).group / 4;
        VecI scale = block.scales[i / kQuadsOfGroup];
        if constexpr (Type::kType == gguf::TensorType::Q3_K) scale = multiply_low_words(scale, -1);
        w = scaled_bytes(w, scale);
    }
    return w;
}

template <class P, class Type>
inline void write_scales(const BlockOfRows<Type>& block, std::byte* to) {
    if constexpr (P::kScaled)
        for (size_t g = 0; g < P::kLayout.n_group; ++g)
            store_bytes(shift_right32_signed<16>(block.scales[g]), to + P::kScalesAt + 64 * g);
    // A sum kept negated times a negated d is the same product.
    const Vec d = Type::kType == gguf::TensorType::Q3_K ? negate(block.d) : block.d;
    store_bytes(as_integers(d), to + P::kDAt);
    if constexpr (P::kLayout.m) store_bytes(as_integers(block.m), to + P::kMAt);
}

// Bytes and floats of a panel, as registers.
inline int8x16_t bytes_at(const std::byte* p) { return (int8x16_t)vld1q_u8(reinterpret_cast<const uint8_t*>(p)); }
inline int32x4_t integers_at(const std::byte* p) { return (int32x4_t)bytes_at(p); }
inline float32x4_t floats_at(const std::byte* p) { return (float32x4_t)bytes_at(p); }
