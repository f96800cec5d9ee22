#include "kv/layout.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"

namespace minfer::kv {
namespace {

constexpr size_t kQ8_0Values = 32;  // of a block
constexpr size_t kQ8_0Bytes = 34;   // an f16 scale and 32 int8

}  // namespace

std::string_view type_name(CellType type) {
    switch (type) {
        case CellType::F32:
            return "f32";
        case CellType::F16:
            return "f16";
        case CellType::Q8_0:
            return "q8_0";
    }
    return "?";
}

std::optional<CellType> cell_type_from_name(std::string_view name) {
    for (CellType type : {CellType::F32, CellType::F16, CellType::Q8_0})
        if (name == type_name(type)) return type;
    return std::nullopt;
}

CellType cell_type_from_environment() {
    const char* name = std::getenv("MINFER_CACHE_TYPE");
    if (!name || !*name) return CellType::F32;
    if (const auto type = cell_type_from_name(name)) return *type;
    throw UsageError(fmt::format("MINFER_CACHE_TYPE: found '{}', expected f32, f16 or q8_0", name));
}

size_t row_bytes(CellType type, size_t n) {
    switch (type) {
        case CellType::F32:
            return n * 4;
        case CellType::F16:
            return n * 2;
        case CellType::Q8_0:
            break;
    }
    if (n % kQ8_0Values != 0)
        throw ShapeError(fmt::format("KV cells of type q8_0: rows of {} values, expected a multiple of 32", n));
    return n / kQ8_0Values * kQ8_0Bytes;
}

}  // namespace minfer::kv
