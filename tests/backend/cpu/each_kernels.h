// What the kernel tests share: a test for each set of kernels, memory that ends at a page nobody may touch, data that
// is the same with any compiler, and comparison by bits.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/cpu_features.h"

namespace minfer::cpu::test {

// Runs once for each set; a set that this CPU cannot run shows as skipped.
class EachKernels : public testing::TestWithParam<const Kernels*> {
  protected:
    void SetUp() override {
        const std::string missing = missing_features(*GetParam(), detect_cpu_features());
        if (!missing.empty()) GTEST_SKIP() << "this CPU lacks " << missing;
    }
    const Kernels& kernels() const { return *GetParam(); }
};

#define MINFER_EACH_KERNELS()                                                            \
    INSTANTIATE_TEST_SUITE_P(                                                            \
        All, EachKernels, testing::ValuesIn(all_kernels().begin(), all_kernels().end()), \
        [](const testing::TestParamInfo<const Kernels*>& i) { return std::string(i.param->name); })

// n values that end where a page begins that faults at any touch.
template <class T>
class Guarded {
  public:
    explicit Guarded(size_t n) : n_(n) {
        const size_t page = size_t(sysconf(_SC_PAGESIZE));
        bytes_ = (n * sizeof(T) + page - 1) / page * page + page;
        base_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base_ == MAP_FAILED) throw std::runtime_error("mmap failed");
        std::byte* const guard = static_cast<std::byte*>(base_) + bytes_ - page;
        if (mprotect(guard, page, PROT_NONE) != 0) throw std::runtime_error("mprotect failed");
        data_ = reinterpret_cast<T*>(guard) - n;
    }
    explicit Guarded(std::span<const T> from) : Guarded(from.size()) { std::copy(from.begin(), from.end(), data_); }
    ~Guarded() { munmap(base_, bytes_); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    T* data() const { return data_; }
    size_t size() const { return n_; }
    T& operator[](size_t i) const { return data_[i]; }
    T* begin() const { return data_; }
    T* end() const { return data_ + n_; }
    std::span<T> span() const { return {data_, n_}; }

  private:
    size_t n_, bytes_ = 0;
    void* base_ = nullptr;
    T* data_ = nullptr;
};

// SplitMix64 (Steele et al. 2014): the standard's distributions differ between libraries.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    size_t below(size_t n) { return size_t(next() % n); }
    // Between -1 and 1.
    float unit() { return float(int32_t(next() >> 40) - (1 << 23)) * 0x1p-23f; }

  private:
    uint64_t state_;
};

inline void fill(std::span<float> out, uint64_t seed, float magnitude) {
    Random random(seed);
    for (float& x : out) x = random.unit() * magnitude;
    if (out.size() > 2) out[out.size() / 2] = -0.0f;
}

// The bits, with one pattern for all NaN: docs/numerics.md leaves a NaN's sign and payload open.
inline uint32_t bits(float x) { return std::isnan(x) ? 0x7fc00000u : std::bit_cast<uint32_t>(x); }
inline std::vector<uint32_t> bits(std::span<const float> x) {
    std::vector<uint32_t> out;
    for (const float v : x) out.push_back(bits(v));
    return out;
}

// FNV-1a of the bits: recorded in the tests, so that compilers and machines are compared with each other too.
inline uint64_t digest(std::span<const float> x) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const float v : x)
        for (uint32_t b = bits(v), i = 0; i < 4; ++i, b >>= 8) hash = (hash ^ (b & 255)) * 0x100000001b3;
    return hash;
}

}  // namespace minfer::cpu::test
