// Cells of the KV cache as rows of floats, written in a cell's type and read back from it.
// Rounding: docs/numerics.md, "KV cells". The only files of this folder that know how a cell keeps its numbers; what
// attention must know is whether it keeps them rotated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/scratch.h"
#include "base/threads.h"
#include "kv/layout.h"

namespace minfer::cpu {

struct Kernels;

// Whether the CPU keeps heads of that size in cells of that type: q8_0 needs whole blocks of 32 values.
bool supports_cells(kv::CellType type, size_t head_dim);

// Whether keys and values of such cells are rotated (rotation.h): then queries must be, and what comes of them turned
// back.
inline bool are_rotated(kv::CellType type) { return type == kv::CellType::Q8_0; }

// region[cells[t]] = x[t]. x [n_token][dim]; region [n_cells][kv::row_bytes(type, dim)]; cells [n_token], of which none
// comes twice. Throws ShapeError where sizes do not fit, dim is not whole blocks, or a cell is not in [0, n_cells).
void store_kv(const Kernels& kernels, ThreadPool& pool, kv::CellType type, std::span<const float> x,
              std::span<const int32_t> cells, std::span<std::byte> region, size_t n_cells);

// One row of n values, in the format of a cell; n is whole blocks of 32 for q8_0. `out` needs no alignment.
void encode_f16_row_reference(const float* x, std::byte* out, size_t n);
void decode_f16_row_reference(const std::byte* row, float* out, size_t n);
void decode_q8_0_row_reference(const std::byte* row, float* out, size_t n);
// The same with any kernels: a block is what their quantize_row makes of 32 values, rotated (rotation.h), its scale
// rounded to f16. Decoding gives the rotated values back: attention turns its queries and its results instead.
void encode_q8_0_row(const Kernels& kernels, const float* x, std::byte* out, size_t n);

// The regions of a layer: k, v [n_cell][n_head_kv][head_dim] in the cells' type, borrowed.
struct KvCells {
    kv::CellType type = kv::CellType::F32;
    const std::byte* k = nullptr;
    const std::byte* v = nullptr;
    size_t n_cell = 0;
};

inline constexpr size_t kAttentionTile = 64;

// Finds the keys and values of up to 64 cells as rows of floats: in place where cells are f32, else decoded. Those of
// q8_0 cells are rotated.
class TileReader {
  public:
    // Bytes that one reader needs, a multiple of 64.
    static size_t memory_bytes(kv::CellType type, size_t head_dim);

    // `memory` is of memory_bytes(), 64-aligned, and like all else borrowed.
    TileReader(const Kernels& kernels, const KvCells& cells, size_t n_head_kv, size_t head_dim, std::byte* memory);

    // The rows of key head `head` of these cells, at most kAttentionTile.
    void read(std::span<const int32_t> cells, size_t head);

    // Asks for the rows of all heads of these cells, so that they are nearer when they are read.
    void prefetch(std::span<const int32_t> cells) const;

    const float* const* k() const { return k_; }  // [n_key] rows of head_dim floats; valid until the next read
    const float* const* v() const { return v_; }
    size_t n_key() const { return n_key_; }

  private:
    using Decode = void (*)(const std::byte* row, float* out, size_t n);

    const KvCells& cells_;
    size_t head_dim_, head_bytes_, row_bytes_;
    Decode decode_;  // null for f32
    float* memory_;
    const float* k_[kAttentionTile];
    const float* v_[kAttentionTile];
    size_t n_key_ = 0;
};

}  // namespace minfer::cpu
