// Sixteen rows of a weight matrix unpacked so that a vector's lane is an output row. The many-token kernels make a
// panel once and run all tokens over it; nothing of it reaches a file. Every part is a whole number of 64-byte lines.
//
// F32, F16, BF16: [n_in][16 rows] float.
//
// Integer types: block after block, each of these parts in this order:
//   weights   [block / 4][16 rows][4]  bytes: 4 neighbouring values of a row, so that one vector meets 4 activations
//                                      broadcast. Unsigned as stored in the file, offsets (8, 16, 32 ...) not taken
//                                      off; signed for Q8_0, IQ4_NL and IQ4_XS (the last two looked up in their table).
//   scales    [n_group][16 rows][2]    int16, the group's integer scale twice: one multiply-add of words scales and
//                                      widens. Types with blocks of 256 only.
//   corrections [n_group / 2][16 rows][2] int16: what multiplies the sums of a group's activations; a pair of groups at
//   a
//                                      time. Q2_K, Q4_K, Q5_K: the minimums. Q3_K, Q6_K: -offset * scale.
//   d         [16 rows]                float
//   m         [16 rows]                float: dmin of Q2_K, Q4_K, Q5_K; m of Q4_1, Q5_1
#pragma once

#include <cstddef>

#include "gguf/types.h"

namespace minfer::cpu {

// Plain numbers without member functions: kernel files see this, and may not emit functions for others to use.
struct PanelLayout {
    size_t block = 0;  // values of a row in a block; 0 for the float types
    size_t group = 0;  // values that share an integer scale; 0 without them
    size_t n_group = 0;
    bool corrections = false;
    bool m = false;
    // Places of the parts in a block, and its size, in bytes.
    size_t scales_at = 0, corrections_at = 0, d_at = 0, m_at = 0, block_bytes = 0;
};

constexpr PanelLayout panel_layout(gguf::TensorType type) {
    using enum gguf::TensorType;
    PanelLayout layout;
    switch (type) {
        case Q4_0:
        case Q5_0:
        case Q8_0:
        case IQ4_NL:
            layout = {.block = 32};
            break;
        case Q4_1:
        case Q5_1:
            layout = {.block = 32, .m = true};
            break;
        case Q2_K:
            layout = {.block = 256, .group = 16, .corrections = true, .m = true};
            break;
        case Q3_K:
        case Q6_K:
            layout = {.block = 256, .group = 16, .corrections = true};
            break;
        case Q4_K:
        case Q5_K:
            layout = {.block = 256, .group = 32, .corrections = true, .m = true};
            break;
        case IQ4_XS:
            layout = {.block = 256, .group = 32};
            break;
        default:
            return layout;
    }
    if (layout.group) layout.n_group = layout.block / layout.group;
    layout.scales_at = layout.block * 16;
    layout.corrections_at = layout.scales_at + layout.n_group * 64;
    layout.d_at = layout.corrections_at + (layout.corrections ? layout.n_group / 2 * 64 : 0);
    layout.m_at = layout.d_at + 64;
    layout.block_bytes = layout.m_at + (layout.m ? 64 : 0);
    return layout;
}

// Bytes of a panel of rows of n_in values.
constexpr size_t panel_bytes(gguf::TensorType type, size_t n_in) {
    const PanelLayout layout = panel_layout(type);
    return layout.block ? n_in / layout.block * layout.block_bytes : n_in * 64;
}

}  // namespace minfer::cpu
