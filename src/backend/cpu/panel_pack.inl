// Sixteen rows of a file as a panel.
template <class Type>
void matmul_pack(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel) {
    constexpr size_t kBlock = panel_layout(Type::kType).block;
    const RowStride stride(row_bytes);
    const auto* p = reinterpret_cast<const uint8_t*>(rows);
    BlockOfRows<Type> block;
    for (size_t b = 0; b < n_in / kBlock; ++b, p += Type::kBytes, panel += kPanelBlockBytes<Type>) {
        read_block<Type>(p, row_bytes, stride, &block);
        write_block<Type>(block, panel);
    }
}
