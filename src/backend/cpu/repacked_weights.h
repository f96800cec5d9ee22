// The compact panels (compact.h) of weight matrices: made once by all threads, then read by every matmul.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "backend/cpu/kernels.h"
#include "backend/cpu/weights.h"
#include "base/pages.h"
#include "base/threads.h"

namespace minfer::cpu {

// Told of rows that have been repacked, and how many bytes there are in all: to show progress, and to let go of the
// memory they came from. Called from any thread, one call at a time.
using Repacked = std::function<void(std::span<const std::byte> rows, size_t n_bytes)>;

// Repacks the whole groups of 16 rows of each matrix and sets its `panels`. The memory returned holds them. Throws
// std::bad_alloc.
Pages repack(const Kernels& kernels, ThreadPool& pool, std::span<Weights* const> matrices, const Repacked& repacked);

}  // namespace minfer::cpu
