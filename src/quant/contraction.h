// Which sums of products the builds of each arithmetic round once. An entry is true where the compiler made a fused
// multiply-add of the expression beside it, whose last product then is not rounded.
//
// x86-64: none; the base instruction set has no such operation.
//
// aarch64-clang: the front end fuses within one expression, of a * b - c * d the left product, and never across the
// call of a small function like rint. But where the vectorizer takes a loop that only sums products, it must keep the
// sums in order, and then multiplies in vectors and adds one by one: those stay unfused. Which loops it takes depends
// on their length (a loop of 16 it unrolls, and the sum is fused), hence the entries "of 16" and "of 32". Read off the
// disassembly of the npm package's library, clang 21.
//
// aarch64-gcc: GCC 12.2 fuses a product into every sum that is its only use in the same basic block, across statements
// and inlined calls too; of a * b - c * d one of the two, by its own order of statements. A product with another use is
// rounded (w * l in sum_l), and a loop that it turned into an ordered vector sum is not fused (the candidates of the
// symmetric search). Read off -fdump-tree-optimized of ggml-quants.c with -O3.
//
// tests/quant/encode_test.cpp and encode_recorded_test.cpp hold all of this to the bytes of such builds.
#pragma once

#include "quant/arithmetic.h"

namespace minfer::quant {

// Of a * b - c * d at most one product can be fused.
enum class FusedProduct { none, left, right };

// Sums over a row or a block that become weights.
struct WeightContraction {
    bool row_square;    // sum += x * x, over a row
    bool block_square;  // sum += x * x, over a super-block, or a block of IQ4_NL
    bool group_square;  // sum += x * x, over a group of 32 of Q4_K and Q5_K
    bool weight;        // sigma2 + x * x
};

// The searches of search.inl; l, w and x are a value's level, weight and value.
struct SymmetricContraction {
    bool level;       // rint(iscale * x)
    bool first_sums;  // sum_lx += (w * x) * l, sum_l2 += (w * l) * l, for the first candidate
    bool candidate;   // 0.1 * step + l_max
    bool sums_of_16;  // the same sums for the other candidates, of 16 values
    bool sums_of_32;  // of 32
};
struct DescentContraction {
    bool level;        // rint(iscale * x)
    bool first_sums;   // sum_lx += (w * x) * l, sum_l2 += (w * l) * l
    bool remove, add;  // the same for one value's old and new level
};
struct AffineContraction {
    bool sum_x;              // sum_x += w * x
    bool level;              // rint(iscale * (x - min))
    bool value;              // scale * l + min
    bool first_error_of_16;  // error += w * difference, for the first candidate, of 16 values
    bool first_error_of_32;  // of 32
    bool candidate;          // rdelta * step + rmin
    bool sum_l;              // sum_l += w * l
    bool sum_l2;             // sum_l2 += (w * l) * l
    bool sum_lx;             // sum_lx += (w * l) * x
    FusedProduct det;        // sum_w * sum_l2 - sum_l * sum_l
    FusedProduct det_scale;  // sum_w * sum_lx - sum_x * sum_l
    FusedProduct det_min;    // sum_l2 * sum_x - sum_l * sum_lx
    bool error;              // error += w * difference, for the other candidates
};
struct PositiveContraction {
    bool level;         // rint(iscale * x)
    bool first_value;   // x - scale * l, for the first candidate
    bool first_error;   // error += (w * difference) * difference
    bool candidate;     // 0.1 * step + l_max
    bool value, error;  // the same for the others
    bool sums;          // sum_lx += (w * x) * l, sum_l2 += (w * l) * l
    bool remove, add;   // the same for one value's old and new level
};
struct TableContraction {
    bool first_sums;  // sum_qx += (w * q) * x, sum_q2 += (w * q) * q, for the first candidate
    bool sums;        // for the others
};

struct Contraction {
    WeightContraction weights;
    SymmetricContraction symmetric;
    DescentContraction descent;
    AffineContraction affine;
    PositiveContraction positive;
    TableContraction table;
    bool scale_level;  // rint(iscale * scale), of a group's scale or min
    bool round;        // x * id + 8.5 and its like, of Q4_0 to Q5_1
};

consteval Contraction contraction(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::x86_64:
            return {};
        case Arithmetic::aarch64_clang: {
            Contraction c{};
            c.weights = {.row_square = false, .block_square = false, .group_square = true, .weight = true};
            c.symmetric = {
                .level = false, .first_sums = false, .candidate = true, .sums_of_16 = true, .sums_of_32 = false};
            c.descent = {.level = false, .first_sums = true, .remove = true, .add = true};
            c.affine = {.sum_x = true,
                        .level = false,
                        .value = true,
                        .first_error_of_16 = true,
                        .first_error_of_32 = false,
                        .candidate = true,
                        .sum_l = false,
                        .sum_l2 = false,
                        .sum_lx = false,
                        .det = FusedProduct::left,
                        .det_scale = FusedProduct::left,
                        .det_min = FusedProduct::left,
                        .error = true};
            c.positive = {.level = false,
                          .first_value = true,
                          .first_error = false,
                          .candidate = true,
                          .value = true,
                          .error = false,
                          .sums = false,
                          .remove = true,
                          .add = true};
            c.table = {.first_sums = true, .sums = true};
            return c;
        }
        case Arithmetic::aarch64_gcc: {
            Contraction c{};
            c.weights = {.row_square = true, .block_square = true, .group_square = true, .weight = true};
            c.symmetric = {
                .level = true, .first_sums = true, .candidate = true, .sums_of_16 = false, .sums_of_32 = false};
            c.descent = {.level = true, .first_sums = true, .remove = true, .add = true};
            c.affine = {.sum_x = true,
                        .level = true,
                        .value = true,
                        .first_error_of_16 = true,
                        .first_error_of_32 = true,
                        .candidate = true,
                        .sum_l = false,
                        .sum_l2 = true,
                        .sum_lx = true,
                        .det = FusedProduct::left,
                        .det_scale = FusedProduct::right,
                        .det_min = FusedProduct::left,
                        .error = true};
            c.positive = {.level = true,
                          .first_value = true,
                          .first_error = true,
                          .candidate = true,
                          .value = true,
                          .error = true,
                          .sums = true,
                          .remove = true,
                          .add = true};
            c.table = {.first_sums = true, .sums = true};
            c.scale_level = true;
            c.round = true;
            return c;
        }
    }
    return {};
}

}  // namespace minfer::quant
