// The three families of llama.cpp builds whose bytes minfer writes (DESIGN section 5). They differ in which products of
// a sum are rounded, and in what a float becomes that does not fit its integer.
#pragma once

#include <string_view>

namespace minfer::quant {

enum class Arithmetic {
    x86_64,         // builds for the base instruction set, which has no fused multiply-add
    aarch64_clang,  // clang, -ffp-contract=on: a product is fused with the sum in its own expression
    aarch64_gcc,    // GCC 12.2 -O3, -ffp-contract=fast: fused across statements, as that compiler chose
};

// "x86-64", "aarch64-clang", "aarch64-gcc": the words of --arith.
std::string_view arithmetic_name(Arithmetic arithmetic);

// Throws UsageError, naming the three, for any other word.
Arithmetic parse_arithmetic(std::string_view name);

}  // namespace minfer::quant
