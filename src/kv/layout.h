// What a cell of the KV cache is. A cell holds one token's keys and values of every layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace minfer::kv {

// How a cell keeps its numbers. Attention reads them back in this type, also those that the same chunk wrote.
enum class CellType : uint8_t { F32, F16, Q8_0 };

std::string_view type_name(CellType type);  // "f32", "f16", "q8_0"
std::optional<CellType> cell_type_from_name(std::string_view name);
// Of the environment's MINFER_CACHE_TYPE; F32 where it is unset or empty. Throws UsageError for a name that is none,
// listing those that are. Whether a backend keeps such cells is the backend's to say (Backend::supports_op).
CellType cell_type_from_environment();
// Bytes of `n` values. Throws ShapeError where n is not whole blocks: 32 values for Q8_0.
size_t row_bytes(CellType type, size_t n);

// A row of a cell moved: what `from` held is wanted in `to`.
struct CellMove {
    int32_t from = 0;
    int32_t to = 0;
    bool operator==(const CellMove&) const = default;
};

// A layer has two regions, one of keys and one of values; row c of a region belongs to cell c:
//   K  [n_cells][n_head_kv * head_dim_k]
//   V  [n_cells][n_head_kv * head_dim_v]
struct Layout {
    size_t n_layer = 0;
    size_t n_cells = 0;
    size_t n_head_kv = 0;
    size_t head_dim_k = 0;
    size_t head_dim_v = 0;
    CellType type = CellType::F32;

    size_t k_row_bytes() const { return row_bytes(type, n_head_kv * head_dim_k); }
    size_t v_row_bytes() const { return row_bytes(type, n_head_kv * head_dim_v); }
    size_t total_bytes() const { return n_layer * n_cells * (k_row_bytes() + v_row_bytes()); }

    bool operator==(const Layout&) const = default;
};

}  // namespace minfer::kv
