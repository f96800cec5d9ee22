// Rows to compact panels (compact.h), once, when a model is loaded; and compact panels to unpacked ones (panel.h), each
// time that many tokens go over them. repack_reference (compact_reference.h) is the definition of the first,
// matmul_pack of the same rows that of the second.

// The permutation of Q5_0's and Q5_1's fifth bits: of a bit's number in binary, digits 0 and 3 change places, and 1 and
// 4. It is its own inverse.
template <int distance>
inline VecI swap_bits(VecI x, int lower) {
    const VecI differ = (shift_right32<distance>(x) ^ x) & all32(lower);
    return x ^ differ ^ shift_left32<distance>(differ);
}
inline VecI permute_fifth_bits(VecI x) { return swap_bits<14>(swap_bits<7>(x, 0x00aa00aa), 0x0000cccc); }

template <class Type>
void repack(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* compact) {
    constexpr CompactLayout kLayout = compact_layout(Type::kType);
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    const RowStride stride(row_bytes);
    for (size_t b = 0; b < n_in / kLayout.block; ++b, p += Type::kBytes, compact += kLayout.block_bytes) {
        std::byte* to = compact;
        VecI across[4];
        // Four words of each row from `from` on.
        const auto transpose_four = [&](const uint8_t* from) __attribute__((always_inline)) {
            transpose_rows(load_rows(from, row_bytes), load_rows(from + row_bytes, row_bytes),
                           load_rows(from + 2 * row_bytes, row_bytes), load_rows(from + 3 * row_bytes, row_bytes),
                           across);
        };
        for (const CompactLayout::Run& run : kLayout.runs) {
            size_t i = 0;
            for (; i + 4 <= run.n_word; i += 4) {
                transpose_four(p + run.at + 4 * i);
                for (int k = 0; k < 4; ++k, to += 64) store_bytes(across[k], to);
            }
            if (run.n_word - i == 3) {
                // With the word before or after them, whichever is in the block.
                const bool with_next = run.at + 16 <= kLayout.file_bytes;
                transpose_four(p + run.at - (with_next ? 0 : 4));
                for (int k = 0; k < 3; ++k, to += 64) store_bytes(across[k + (with_next ? 0 : 1)], to);
            } else if (run.n_word - i == 1) {
                const VecI word = load_lanes(p + run.at, stride);
                store_bytes(kLayout.fifth_bits ? permute_fifth_bits(word) : word, to);
                to += 64;
            }
        }
        // A lane takes 4 bytes, so at a block's end the half is the upper one.
        if constexpr (kLayout.half_at[0] + 4 <= kLayout.file_bytes) {
            const VecI halves = load_lanes(p + kLayout.half_at[0], stride);
            store_low_words(halves, to);
            if constexpr (kLayout.n_half == 2) store_low_words(shift_right32<16>(halves), to + 32);
        } else {
            store_low_words(shift_right32<16>(load_lanes(p + kLayout.half_at[0] - 2, stride)), to);
        }
    }
}

template <class Type>
void repack_float(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* compact) {
    constexpr size_t kValues = 16 / Type::kBytes;  // of a row at a time
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    size_t k = 0;
    for (; k + kValues <= n_in; k += kValues, p += 16) {
        VecI across[4];
        transpose_rows(load_rows(p, row_bytes), load_rows(p + row_bytes, row_bytes),
                       load_rows(p + 2 * row_bytes, row_bytes), load_rows(p + 3 * row_bytes, row_bytes), across);
        for (int i = 0; i < 4; ++i, compact += 64) {
            if constexpr (Type::kBytes == 4) {
                store_bytes(across[i], compact);
            } else {
                store_low_words(across[i], compact);
                store_low_words(shift_right32<16>(across[i]), compact + 32);
            }
        }
    }
    for (; k < n_in; ++k, p += Type::kBytes)
        for (size_t row = 0; row < kPanelRows; ++row, compact += Type::kBytes)
            __builtin_memcpy(compact, p + row * row_bytes, Type::kBytes);
}

// The same block as read_block (panel_block.inl) makes of the rows, from a compact panel.
template <class Type, int g, int i>
inline void read_quads(const std::byte* compact, BlockOfRows<Type>* block) {
    block->weights[g * kQuads<Type> + i] = quad<g, i>(Type(), compact);
    if constexpr (i + 1 < kQuads<Type>)
        read_quads<Type, g, i + 1>(compact, block);
    else if constexpr (g + 1 < kGroups<Type>)
        read_quads<Type, g + 1, 0>(compact, block);
}
template <class Type, int g, size_t n>
inline void read_scales(const VecI (&s)[n], BlockOfRows<Type>* block) {
    constexpr Place kAt = kPlace<Type, g>;
    block->scales[g] = bytes_as_words<kAt.byte, kAt.byte, kSignedScales<Type>>(s[kAt.vector]);
    if constexpr (g + 1 < kGroups<Type>) read_scales<Type, g + 1>(s, block);
}
template <class Type, int pair, size_t n>
inline void read_minimums(const VecI (&m)[n], BlockOfRows<Type>* block) {
    block->minimums[pair] = pair_of_groups<Type, pair, false>(m);
    if constexpr (2 * pair + 2 < kGroups<Type>) read_minimums<Type, pair + 1>(m, block);
}

template <class Type>
void unpack(const std::byte* compact, size_t n_in, std::byte* panel) {
    constexpr CompactLayout kFrom = compact_layout(Type::kType);
    constexpr PanelLayout kTo = panel_layout(Type::kType);
    BlockOfRows<Type> block;
    for (size_t b = 0; b < n_in / kFrom.block; ++b, compact += kFrom.block_bytes, panel += kPanelBlockBytes<Type>) {
        read_quads<Type, 0, 0>(compact, &block);
        if constexpr (kTo.group != 0) {
            VecI bytes[kTo.n_group / 4];
            scale_bytes(Type(), compact, bytes);
            read_scales<Type, 0>(bytes, &block);
            if constexpr (kTo.m) {
                minimum_bytes(Type(), compact, bytes);
                read_minimums<Type, 0>(bytes, &block);
            }
        }
        block.d = load_halves(compact + kFrom.halves_at);
        if constexpr (kTo.m) block.m = load_halves(compact + kFrom.halves_at + 32);
        write_block<Type>(block, panel);
    }
}

template <class Type>
void unpack_float(const std::byte* compact, size_t n_in, std::byte* panel) {
    for (size_t k = 0; k < n_in; ++k, panel += 64)
        store_bytes(as_integers(compact_column(Type(), compact + k * kPanelRows * Type::kBytes)), panel);
}
