#include "backend/cpu/kv_cells.h"

#include <fmt/format.h>

#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/cpu/rotation.h"
#include "backend/cpu/rows_in_parallel.h"
#include "base/error.h"
#include "base/half.h"

namespace minfer::cpu {
namespace {

constexpr size_t kBlock = 32;
constexpr size_t kBlockBytes = 34;  // an f16 scale and 32 int8, as in GGUF's Q8_0

void encode_row(const Kernels& kernels, kv::CellType type, const float* x, std::byte* out, size_t n) {
    switch (type) {
        case kv::CellType::F32:
            std::memcpy(out, x, n * sizeof(float));
            return;
        case kv::CellType::F16:
            return kernels.encode_f16_row(x, out, n);
        case kv::CellType::Q8_0:
            return encode_q8_0_row(kernels, x, out, n);
    }
}

}  // namespace

bool supports_cells(kv::CellType type, size_t head_dim) { return type != kv::CellType::Q8_0 || head_dim % kBlock == 0; }

void encode_q8_0_row(const Kernels& kernels, const float* x, std::byte* out, size_t n) {
    for (size_t i = 0; i < n; i += kBlock, out += kBlockBytes) {
        float turned[kBlock], d;
        int16_t sum;  // of the block's integers, which only a matmul needs
        rotate(x + i, turned, kBlock, kCellScale);
        kernels.quantize_row(turned, kBlock, kBlock, {reinterpret_cast<int8_t*>(out + 2), &d, nullptr, &sum});
        const uint16_t scale = f32_to_f16(d);
        std::memcpy(out, &scale, sizeof scale);
    }
}

void store_kv(const Kernels& kernels, ThreadPool& pool, kv::CellType type, std::span<const float> x,
              std::span<const int32_t> cells, std::span<std::byte> region, size_t n_cells) {
    const size_t dim = cells.empty() ? 0 : x.size() / cells.size();
    const size_t bytes = kv::row_bytes(type, dim);
    if (dim == 0 || n_cells == 0 || x.size() % cells.size() != 0 || region.size() % n_cells != 0 ||
        region.size() / n_cells != bytes)
        throw ShapeError(
            fmt::format("store_kv: found {} values for {} tokens, expected rows of a region of {} bytes in {} cells",
                        x.size(), cells.size(), region.size(), n_cells));
    for (size_t t = 0; t < cells.size(); ++t)
        if (cells[t] < 0 || size_t(cells[t]) >= n_cells)
            throw ShapeError(
                fmt::format("store_kv: token {} goes to cell {}, expected 0 to {}", t, cells[t], n_cells - 1));
    rows_in_parallel(pool, cells.size(), dim, [&](size_t t) {
        encode_row(kernels, type, x.data() + t * dim, region.data() + size_t(cells[t]) * bytes, dim);
    });
}

size_t TileReader::memory_bytes(kv::CellType type, size_t head_dim) {
    if (type == kv::CellType::F32) return 0;
    return Scratch::aligned(2 * kAttentionTile * head_dim * sizeof(float));
}

TileReader::TileReader(const Kernels& kernels, const KvCells& cells, size_t n_head_kv, size_t head_dim,
                       std::byte* memory)
    : cells_(cells),
      head_dim_(head_dim),
      head_bytes_(kv::row_bytes(cells.type, head_dim)),
      row_bytes_(n_head_kv * head_bytes_),
      decode_(cells.type == kv::CellType::F16    ? kernels.decode_f16_row
              : cells.type == kv::CellType::Q8_0 ? kernels.decode_q8_0_row
                                                 : nullptr),
      memory_(reinterpret_cast<float*>(memory)) {}

void TileReader::read(std::span<const int32_t> cells, size_t head) {
    n_key_ = cells.size();
    for (size_t i = 0; i < cells.size(); ++i) {
        const size_t at = size_t(cells[i]) * row_bytes_ + head * head_bytes_;
        if (!decode_) {
            k_[i] = reinterpret_cast<const float*>(cells_.k + at);
            v_[i] = reinterpret_cast<const float*>(cells_.v + at);
            continue;
        }
        float* const k = memory_ + i * head_dim_;
        float* const v = memory_ + (kAttentionTile + i) * head_dim_;
        decode_(cells_.k + at, k, head_dim_);
        decode_(cells_.v + at, v, head_dim_);
        k_[i] = k;
        v_[i] = v;
    }
}

void TileReader::prefetch(std::span<const int32_t> cells) const {
    constexpr size_t kLine = 64;
    for (const int32_t cell : cells)
        for (const std::byte* region : {cells_.k, cells_.v})
            for (size_t i = 0; i < row_bytes_; i += kLine)
                __builtin_prefetch(region + size_t(cell) * row_bytes_ + i, 0, 2);  // for L2: L1 has work at hand
}

}  // namespace minfer::cpu
