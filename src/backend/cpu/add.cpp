#include "backend/cpu/add.h"

#include <fmt/format.h>

#include "backend/cpu/rows_in_parallel.h"
#include "base/error.h"

namespace minfer::cpu {

void add(const Kernels& kernels, ThreadPool& pool, std::span<const float> a, std::span<const float> b,
         std::span<float> out) {
    if (a.size() != b.size() || a.size() != out.size())
        throw ShapeError(fmt::format("add: a of {}, b of {} and out of {} values", a.size(), b.size(), out.size()));
    values_in_parallel(pool, a.size(), [&](size_t begin, size_t count) {
        kernels.add_row(a.data() + begin, b.data() + begin, out.data() + begin, count);
    });
}

void add_bias(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<const float> bias,
              std::span<float> out) {
    const size_t dim = bias.size();
    if (dim == 0 || x.size() % dim != 0 || x.size() != out.size())
        throw ShapeError(fmt::format("add_bias: x of {}, bias of {} and out of {} values", x.size(), dim, out.size()));
    rows_in_parallel(pool, x.size() / dim, dim, [&](size_t row) {
        kernels.add_row(x.data() + row * dim, bias.data(), out.data() + row * dim, dim);
    });
}

}  // namespace minfer::cpu
