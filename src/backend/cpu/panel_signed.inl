// A block's weights as signed bytes, which is how the many-token panels of VNNI, AMX and NEON's byte products have
// them: their offsets are taken off, so that activations need no correction for them.
//
// A scale times a weight that is a byte is multiplied into it, so that a block is one sum: Q2_K, 15 * 3; Q3_K, 32 * 4 =
// 128 at most, kept negated, for then it is -128 to 124.
template <class Type>
constexpr bool kScaleInWeights = Type::kType == gguf::TensorType::Q2_K || Type::kType == gguf::TensorType::Q3_K;

// Signed bytes times the words of their lanes: the products of the even and of the odd bytes, as words, and what the
// words of both have as their low and as their high bytes.
struct WordProducts {
    VecI even, odd;
};
inline WordProducts scaled_words(VecI bytes, VecI words) {
    return {multiply_low_words(shift_right16_signed<8>(shift_left16<8>(bytes)), words),
            multiply_low_words(shift_right16_signed<8>(bytes), words)};
}
inline VecI low_bytes(const WordProducts& p) { return (p.even & all16(0xff)) | shift_left16<8>(p.odd); }
inline VecI high_bytes(const WordProducts& p) { return shift_right16<8>(p.even) | (p.odd & all16(0xff00)); }
inline VecI scaled_bytes(VecI bytes, VecI words) { return low_bytes(scaled_words(bytes, words)); }

// Quad i of the block, without its scale.
template <class Type>
inline VecI unscaled_weights(const BlockOfRows<Type>& block, size_t i) {
    const VecI w = block.weights[i];
    if constexpr (!Type::kSigned && Type::kOffset != 0) return add8(w, all8(-Type::kOffset));
    return w;
}
// Its scale: int16 twice, and of Q3_K negated.
template <class Type>
inline VecI scale_of_weights(const BlockOfRows<Type>& block, size_t i) {
    const VecI scale = block.scales[i / (panel_layout(Type::kType).group / 4)];
    if constexpr (Type::kType == gguf::TensorType::Q3_K) return multiply_low_words(scale, -1);
    return scale;
}
// Quad i as it is multiplied.
template <class Type>
inline VecI signed_weights(const BlockOfRows<Type>& block, size_t i) {
    const VecI w = unscaled_weights<Type>(block, i);
    if constexpr (kScaleInWeights<Type>) return scaled_bytes(w, scale_of_weights<Type>(block, i));
    return w;
}

// The floats of the panel P. A sum kept negated times a negated d is the same product.
template <class P, class Type>
inline void write_d_and_m(const BlockOfRows<Type>& block, std::byte* to) {
    const Vec d = Type::kType == gguf::TensorType::Q3_K ? negate(block.d) : block.d;
    store_bytes(as_integers(d), to + P::kDAt);
    if constexpr (P::kLayout.m) store_bytes(as_integers(block.m), to + P::kMAt);
}
