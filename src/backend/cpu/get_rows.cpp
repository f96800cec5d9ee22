#include "backend/cpu/get_rows.h"

#include <fmt/format.h>

#include "backend/cpu/rows_in_parallel.h"
#include "base/error.h"
#include "quant/decode.h"

namespace minfer::cpu {

void get_rows(ThreadPool& pool, const Weights& table, std::span<const int32_t> ids, std::span<float> out) {
    if (out.size() != ids.size() * table.n_in)
        throw ShapeError(
            fmt::format("get_rows: {} rows of {} values and out of {}", ids.size(), table.n_in, out.size()));
    if (!supports_weights(table.type))
        throw UnsupportedError(fmt::format("get_rows: no decoder for rows of type {}", gguf::type_name(table.type)));
    for (const int32_t id : ids)
        if (id < 0 || size_t(id) >= table.n_out)
            throw ShapeError(fmt::format("get_rows: row {}, expected 0 to {}", id, table.n_out - 1));
    const size_t bytes = gguf::row_bytes(table.type, table.n_in);
    rows_in_parallel(pool, ids.size(), table.n_in, [&](size_t i) {
        quant::decode_row(table.type, {table.data + size_t(ids[i]) * table.row_bytes, bytes},
                          out.subspan(i * table.n_in, table.n_in));
    });
}

}  // namespace minfer::cpu
