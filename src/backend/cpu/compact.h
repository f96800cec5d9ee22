// Sixteen rows of a weight matrix as they lie in memory while a model is loaded: a vector's lane is an output row, and
// a panel is read from its first byte to its last in the order in which the sums of docs/numerics.md want it. The bytes
// are those of the file, each once and in another place, so a panel is exactly as large as its sixteen rows.
//
// Integer types: block after block, each of these parts in this order:
//   words   [n_word][16 rows] the block's 32-bit words, as runs says where they lie in the file's block: a vector holds
//                             one word of each row, so 4 neighbouring bytes of a row meet 4 activations broadcast.
//   halves  [n_half][16 rows] its 16-bit words: d, then m, dmin or IQ4_XS's scales_h
// In Q5_0 and Q5_1 the word of fifth bits is permuted, so that they lie as those of Q5_K do, in the byte of their
// value: bit 4 k + j (of value 4 k + j) is bit 4 (k % 2) + k / 2 of byte j.
//
// F32, F16, BF16: [n_in][16 rows] of the file's values.
//
// Many-token kernels unpack a panel to a larger one of their own for a moment.
#pragma once

#include <cstddef>

#include "gguf/types.h"

namespace minfer::cpu {

// Plain numbers without member functions: kernel files see this, and may not emit functions for others to use.
struct CompactLayout {
    struct Run {
        size_t at, n_word;  // bytes from the block's start in the file
    };
    size_t block = 0;        // values of a row in a block; 1 for the float types
    size_t file_bytes = 0;   // of a block in the file
    Run runs[3] = {};        // one after the other they are the words
    size_t n_half = 0;       // 1 or 2
    size_t half_at[2] = {};  // bytes from the block's start in the file
    size_t fifth_bits = 0;   // which word is Q5_0's and Q5_1's permuted one; 0 where there is none
    // Derived:
    size_t n_word = 0;
    size_t halves_at = 0;    // bytes from the block's start in the panel
    size_t block_bytes = 0;  // in the panel: 16 * file_bytes
};

constexpr CompactLayout compact_layout(gguf::TensorType type) {
    using enum gguf::TensorType;
    CompactLayout layout;
    switch (type) {
        case Q4_0:
        case IQ4_NL:
            layout = {.block = 32, .file_bytes = 18, .runs = {{2, 4}}, .n_half = 1, .half_at = {0}};
            break;
        case Q4_1:
            layout = {.block = 32, .file_bytes = 20, .runs = {{4, 4}}, .n_half = 2, .half_at = {0, 2}};
            break;
        case Q5_0:
            layout = {
                .block = 32, .file_bytes = 22, .runs = {{6, 4}, {2, 1}}, .n_half = 1, .half_at = {0}, .fifth_bits = 4};
            break;
        case Q5_1:
            layout = {.block = 32,
                      .file_bytes = 24,
                      .runs = {{8, 4}, {4, 1}},
                      .n_half = 2,
                      .half_at = {0, 2},
                      .fifth_bits = 4};
            break;
        case Q8_0:
            layout = {.block = 32, .file_bytes = 34, .runs = {{2, 8}}, .n_half = 1, .half_at = {0}};
            break;
        case Q2_K:  // qs, scales
            layout = {.block = 256, .file_bytes = 84, .runs = {{16, 16}, {0, 4}}, .n_half = 2, .half_at = {80, 82}};
            break;
        case Q3_K:  // qs, hmask, scales
            layout = {
                .block = 256, .file_bytes = 110, .runs = {{32, 16}, {0, 8}, {96, 3}}, .n_half = 1, .half_at = {108}};
            break;
        case Q4_K:  // qs, scales
            layout = {.block = 256, .file_bytes = 144, .runs = {{16, 32}, {4, 3}}, .n_half = 2, .half_at = {0, 2}};
            break;
        case Q5_K:  // qs, qh, scales
            layout = {
                .block = 256, .file_bytes = 176, .runs = {{48, 32}, {16, 8}, {4, 3}}, .n_half = 2, .half_at = {0, 2}};
            break;
        case Q6_K:  // ql, qh, scales
            layout = {
                .block = 256, .file_bytes = 210, .runs = {{0, 32}, {128, 16}, {192, 4}}, .n_half = 1, .half_at = {208}};
            break;
        case IQ4_XS:  // qs, scales_l; d and scales_h
            layout = {.block = 256, .file_bytes = 136, .runs = {{8, 32}, {4, 1}}, .n_half = 2, .half_at = {0, 2}};
            break;
        case F32:
            layout = {.block = 1, .file_bytes = 4};
            break;
        default:  // F16, BF16
            layout = {.block = 1, .file_bytes = 2};
            break;
    }
    for (const CompactLayout::Run& run : layout.runs) layout.n_word += run.n_word;
    layout.halves_at = layout.n_word * 64;
    layout.block_bytes = layout.file_bytes * 16;
    return layout;
}

// Bytes of a panel of rows of n_in values.
constexpr size_t compact_bytes(gguf::TensorType type, size_t n_in) {
    const CompactLayout layout = compact_layout(type);
    return n_in / layout.block * layout.block_bytes;
}

}  // namespace minfer::cpu
