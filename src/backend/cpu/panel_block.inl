// A block of sixteen rows taken apart: where many-token panels are made from, whatever the rows lay in before.

// Lane = row, everywhere.
template <class Type>
struct BlockOfRows {
    static constexpr PanelLayout kLayout = panel_layout(Type::kType);
    VecI weights[kLayout.block / 4];         // bytes: values 4 i .. 4 i + 3. Unsigned as stored, kOffset not taken off,
                                             // or signed where Type::kSigned
    VecI scales[kLayout.n_group + 1];        // int16 twice: the group's integer scale
    VecI minimums[kLayout.n_group / 2 + 1];  // two int16: those of groups 2 i and 2 i + 1 (Q2_K, Q4_K, Q5_K)
    Vec d, m;
};

template <class Type>
inline void transpose_scales(const VecI (&scales)[4], BlockOfRows<Type>* block) {
    const auto one = [&](auto g) __attribute__((always_inline)) {
        constexpr int kGroup = decltype(g)::value;
        if constexpr (kGroup < int(BlockOfRows<Type>::kLayout.n_group)) {
            VecI across[4];
            transpose_rows(Type::template group_scale<kGroup>(scales[0]), Type::template group_scale<kGroup>(scales[1]),
                           Type::template group_scale<kGroup>(scales[2]), Type::template group_scale<kGroup>(scales[3]),
                           across);
            block->scales[kGroup] = across[0];
        }
    };
    one(Int<0>()), one(Int<1>()), one(Int<2>()), one(Int<3>()), one(Int<4>()), one(Int<5>()), one(Int<6>());
    one(Int<7>()), one(Int<8>()), one(Int<9>()), one(Int<10>()), one(Int<11>()), one(Int<12>()), one(Int<13>());
    one(Int<14>()), one(Int<15>());
}

// The block at `p` of sixteen rows as a file holds them.
template <class Type>
inline void read_block(const uint8_t* p, size_t row_bytes, const RowStride& stride, BlockOfRows<Type>* block) {
    constexpr PanelLayout kLayout = panel_layout(Type::kType);
    VecI weights[kLayout.block / 16][4];  // [16 values][quad]
    VecI scales[4], across[4];
    for (int j = 0; j < 4; ++j) {
        const uint8_t* quad = p + size_t(j) * row_bytes;
        if constexpr (kLayout.group == 16) {
            Type::unpack(quad, row_bytes,
                         [&](auto g, VecI w) __attribute__((always_inline)) { weights[decltype(g)::value][j] = w; });
        } else {
            Type::unpack(quad, row_bytes, [&](auto g, VecI low, VecI high) __attribute__((always_inline)) {
                weights[2 * decltype(g)::value][j] = low;
                weights[2 * decltype(g)::value + 1][j] = high;
            });
        }
        if constexpr (kLayout.block == 256) scales[j] = Type::scales(quad, row_bytes);
    }
    for (size_t i = 0; i < kLayout.block / 16; ++i) {
        transpose_rows(weights[i][0], weights[i][1], weights[i][2], weights[i][3], across);
        for (size_t k = 0; k < 4; ++k) block->weights[4 * i + k] = across[k];
    }
    if constexpr (kLayout.block == 256) transpose_scales<Type>(scales, block);
    if constexpr (kLayout.m && kLayout.block == 256) {
        VecI low[4], high[4];
        for (int j = 0; j < 4; ++j) Type::corrections(scales[j], &low[j], &high[j]);
        transpose_rows(low[0], low[1], low[2], low[3], across);
        for (size_t k = 0; k < 4; ++k) block->minimums[k] = across[k];
        if constexpr (kLayout.group == 16) {
            transpose_rows(high[0], high[1], high[2], high[3], across);
            for (size_t k = 0; k < 4; ++k) block->minimums[4 + k] = across[k];
        }
    }
    Type::d_and_m(p, stride, &block->d, &block->m);
}
