// What this machine can do at most, measured: the floors that a benchmark's figures are held against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cpu_features.h"
#include "base/pages.h"
#include "base/threads.h"

namespace minfer::cpu {

// An instruction that multiplies and adds, and a loop of nothing else: independent chains in registers, enough of them
// to hide its latency, no memory.
struct MultiplyAddUnit {
    std::string_view name;  // "avx512_vnni"
    CpuFeatures needs;
    uint64_t (*run)(size_t n);  // n rounds; gives the multiply-adds done
};

// The units for int8 and for float32 of this build, best first. The last of each needs nothing: it is scalar code.
std::span<const MultiplyAddUnit> integer_units();
std::span<const MultiplyAddUnit> float_units();

// The first of `units` that `features` have.
const MultiplyAddUnit& best_unit(std::span<const MultiplyAddUnit> units, const CpuFeatures& features);

// Multiply-adds a second of all threads of the pool at once: the best of a few rounds of some milliseconds each.
double multiply_adds_per_second(const MultiplyAddUnit& unit, ThreadPool& pool);

// Memory that is read, each byte once, in as many consecutive pieces as there are threads. It lies in huge pages, so
// that it is the memory that is measured and not the address translation.
class ReadProbe {
  public:
    // `n_bytes` is what a token reads of weights, so that what a cache may hold of it, it may hold of both.
    ReadProbe(size_t n_bytes, ThreadPool& pool);
    // Bytes a second: the better of two passes, the first of which finds the caches full of other things.
    double bytes_per_second();

  private:
    double one_pass();
    std::span<uint64_t> share(int thread, int n) const;  // of the words, that of one of n threads

    ThreadPool& pool_;
    Pages pages_;
    std::span<uint64_t> words_;  // all of them
};

}  // namespace minfer::cpu
