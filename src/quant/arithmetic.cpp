#include "quant/arithmetic.h"

#include <string>

#include "base/error.h"

namespace minfer::quant {

std::string_view arithmetic_name(Arithmetic arithmetic) {
    switch (arithmetic) {
        case Arithmetic::x86_64:
            return "x86-64";
        case Arithmetic::aarch64_clang:
            return "aarch64-clang";
        case Arithmetic::aarch64_gcc:
            return "aarch64-gcc";
    }
    return "?";
}

Arithmetic parse_arithmetic(std::string_view name) {
    for (const Arithmetic a : {Arithmetic::x86_64, Arithmetic::aarch64_clang, Arithmetic::aarch64_gcc})
        if (name == arithmetic_name(a)) return a;
    throw UsageError("unknown arithmetic \"" + std::string(name) + "\"; supported: x86-64, aarch64-clang, aarch64-gcc");
}

}  // namespace minfer::quant
