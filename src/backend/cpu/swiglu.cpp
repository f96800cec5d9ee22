#include "backend/cpu/swiglu.h"

#include <fmt/format.h>

#include "backend/cpu/rows_in_parallel.h"
#include "base/error.h"

namespace minfer::cpu {

namespace {

void check(const char* name, size_t a, size_t b, size_t out) {
    if (a != b || a != out)
        throw ShapeError(fmt::format("{}: inputs of {} and {} and out of {} values", name, a, b, out));
}

}  // namespace

void silu(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<float> out) {
    check("silu", x.size(), x.size(), out.size());
    values_in_parallel(pool, x.size(), [&](size_t begin, size_t count) {
        kernels.silu_row(x.data() + begin, out.data() + begin, count);
    });
}

void mul(const Kernels& kernels, ThreadPool& pool, std::span<const float> a, std::span<const float> b,
         std::span<float> out) {
    check("mul", a.size(), b.size(), out.size());
    values_in_parallel(pool, a.size(), [&](size_t begin, size_t count) {
        kernels.mul_row(a.data() + begin, b.data() + begin, out.data() + begin, count);
    });
}

void swiglu(const Kernels& kernels, ThreadPool& pool, std::span<const float> gate, std::span<const float> up,
            std::span<float> out) {
    check("swiglu", gate.size(), up.size(), out.size());
    values_in_parallel(pool, gate.size(), [&](size_t begin, size_t count) {
        kernels.swiglu_row(gate.data() + begin, up.data() + begin, out.data() + begin, count);
    });
}

}  // namespace minfer::cpu
