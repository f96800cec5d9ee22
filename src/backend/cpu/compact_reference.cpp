#include "backend/cpu/compact_reference.h"

#include <cstdint>
#include <cstring>

#include "backend/cpu/compact.h"

namespace minfer::cpu {

namespace {

// Where bit i of the word of fifth bits lies in a panel.
size_t place_of_fifth_bit(size_t i) {
    const size_t k = i / 4, j = i % 4;
    return 8 * j + 4 * (k % 2) + k / 2;
}

uint32_t permute_fifth_bits(uint32_t word, bool back) {
    uint32_t out = 0;
    for (size_t i = 0; i < 32; ++i) {
        const size_t place = place_of_fifth_bit(i);
        out |= (word >> (back ? place : i) & 1) << (back ? i : place);
    }
    return out;
}

void copy_fifth_bits(const std::byte* from, std::byte* to, bool back) {
    uint32_t word;
    std::memcpy(&word, from, sizeof word);
    word = permute_fifth_bits(word, back);
    std::memcpy(to, &word, sizeof word);
}

}  // namespace

void repack_reference(gguf::TensorType type, const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel) {
    const CompactLayout layout = compact_layout(type);
    for (size_t b = 0; b < n_in / layout.block; ++b, panel += layout.block_bytes)
        for (size_t row = 0; row < kPanelRows; ++row) {
            const std::byte* from = rows + row * row_bytes + b * layout.file_bytes;
            if (layout.block == 1) {
                std::memcpy(panel + row * layout.file_bytes, from, layout.file_bytes);
                continue;
            }
            size_t word = 0;
            for (const CompactLayout::Run& run : layout.runs)
                for (size_t i = 0; i < run.n_word; ++i, ++word) {
                    std::byte* to = panel + (word * kPanelRows + row) * 4;
                    if (layout.fifth_bits && word == layout.fifth_bits)
                        copy_fifth_bits(from + run.at, to, false);
                    else
                        std::memcpy(to, from + run.at + 4 * i, 4);
                }
            for (size_t i = 0; i < layout.n_half; ++i)
                std::memcpy(panel + layout.halves_at + (i * kPanelRows + row) * 2, from + layout.half_at[i], 2);
        }
}

void read_compact_block(gguf::TensorType type, const std::byte* panel, size_t block, size_t row, std::byte* out) {
    const CompactLayout layout = compact_layout(type);
    panel += block * layout.block_bytes;
    if (layout.block == 1) {
        std::memcpy(out, panel + row * layout.file_bytes, layout.file_bytes);
        return;
    }
    size_t word = 0;
    for (const CompactLayout::Run& run : layout.runs)
        for (size_t i = 0; i < run.n_word; ++i, ++word) {
            const std::byte* from = panel + (word * kPanelRows + row) * 4;
            if (layout.fifth_bits && word == layout.fifth_bits)
                copy_fifth_bits(from, out + run.at, true);
            else
                std::memcpy(out + run.at + 4 * i, from, 4);
        }
    for (size_t i = 0; i < layout.n_half; ++i)
        std::memcpy(out + layout.half_at[i], panel + layout.halves_at + (i * kPanelRows + row) * 2, 2);
}

}  // namespace minfer::cpu
