// Work on rows that do not depend on each other.
#pragma once

#include <cstddef>

#include "base/threads.h"

namespace minfer::cpu {

// Values below which one thread is done before the others would have woken.
inline constexpr size_t kAloneValues = 32 * 1024;

// Calls fn(row) for each of n_row rows of row_size values.
template <class Function>
void rows_in_parallel(ThreadPool& pool, size_t n_row, size_t row_size, Function&& fn) {
    if (n_row * row_size < kAloneValues || pool.size() == 1) {
        for (size_t row = 0; row < n_row; ++row) fn(row);
        return;
    }
    pool.parallel([&](int thread, int n_threads) {
        const size_t begin = n_row * size_t(thread) / size_t(n_threads);
        const size_t end = n_row * (size_t(thread) + 1) / size_t(n_threads);
        for (size_t row = begin; row < end; ++row) fn(row);
    });
}

// Calls fn(begin, count) for pieces of n values.
template <class Function>
void values_in_parallel(ThreadPool& pool, size_t n, Function&& fn) {
    constexpr size_t kPiece = 4096;
    rows_in_parallel(pool, (n + kPiece - 1) / kPiece, kPiece, [&](size_t piece) {
        const size_t begin = piece * kPiece;
        fn(begin, n - begin < kPiece ? n - begin : kPiece);
    });
}

}  // namespace minfer::cpu
