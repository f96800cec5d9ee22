// The cells of the cache as bytes, wherever their layers lie: for files, and for moving them.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/scheduler.h"

namespace minfer::runtime {

const backend::KvRegion& Scheduler::region(size_t layer) const {
    if (layer >= layout_.n_layer) throw ShapeError(fmt::format("KV cache: layer {} of {}", layer, layout_.n_layer));
    for (const std::vector<backend::KvRegion>& regions : regions_)
        if (regions[layer].buffer) return regions[layer];
    throw Error(fmt::format("KV cache: layer {} has no memory before a graph has been planned", layer));
}

size_t Scheduler::row_bytes(KvPart part) const {
    return part == KvPart::Keys ? layout_.k_row_bytes() : layout_.v_row_bytes();
}

// Throws where these cells are not, or `found_bytes` is not what their rows take.
Scheduler::CellRows Scheduler::cell_rows(size_t layer, KvPart part, std::span<const int32_t> cells,
                                         size_t found_bytes) const {
    const size_t row = row_bytes(part);
    if (found_bytes != cells.size() * row)
        throw ShapeError(
            fmt::format("KV cache: found {} bytes for {} cells, expected {} each", found_bytes, cells.size(), row));
    for (const int32_t cell : cells)
        if (cell < 0 || size_t(cell) >= layout_.n_cells)
            throw ShapeError(fmt::format("KV cache: found cell {}, expected 0 to {}", cell, layout_.n_cells - 1));
    const backend::KvRegion& at = region(layer);
    return {at.buffer, part == KvPart::Keys ? at.k_offset : at.v_offset, row};
}

void Scheduler::read_cells(size_t layer, KvPart part, std::span<const int32_t> cells, std::span<std::byte> out) const {
    const CellRows rows = cell_rows(layer, part, cells, out.size());
    for (size_t i = 0; i < cells.size(); ++i)
        rows.buffer->read(rows.offset + size_t(cells[i]) * rows.bytes, out.subspan(i * rows.bytes, rows.bytes));
}

void Scheduler::write_cells(size_t layer, KvPart part, std::span<const int32_t> cells, std::span<const std::byte> in) {
    const CellRows rows = cell_rows(layer, part, cells, in.size());
    for (size_t i = 0; i < cells.size(); ++i)
        rows.buffer->write(rows.offset + size_t(cells[i]) * rows.bytes, in.subspan(i * rows.bytes, rows.bytes));
}

void Scheduler::copy_cells(std::span<const kv::CellMove> moves) {
    staging_.resize(std::max({staging_.size(), layout_.k_row_bytes(), layout_.v_row_bytes()}));
    for (const kv::CellMove& move : moves)
        for (size_t layer = 0; layer < layout_.n_layer; ++layer)
            for (const KvPart part : {KvPart::Keys, KvPart::Values}) {
                const std::span<std::byte> row = std::span(staging_).first(row_bytes(part));
                read_cells(layer, part, std::span(&move.from, 1), row);
                write_cells(layer, part, std::span(&move.to, 1), row);
            }
}

}  // namespace minfer::runtime
