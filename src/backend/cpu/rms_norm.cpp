#include "backend/cpu/rms_norm.h"

#include <fmt/format.h>

#include "backend/cpu/rows_in_parallel.h"
#include "base/error.h"

namespace minfer::cpu {

void rms_norm(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<const float> weight,
              float eps, std::span<float> out) {
    const size_t dim = weight.size();
    if (dim == 0 || x.size() % dim != 0 || x.size() != out.size())
        throw ShapeError(
            fmt::format("rms_norm: x of {}, weight of {} and out of {} values", x.size(), dim, out.size()));
    rows_in_parallel(pool, x.size() / dim, dim, [&](size_t row) {
        kernels.rms_norm_row(x.data() + row * dim, weight.data(), eps, out.data() + row * dim, dim);
    });
}

}  // namespace minfer::cpu
