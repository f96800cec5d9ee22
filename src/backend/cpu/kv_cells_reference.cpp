#include <cstring>

#include "backend/cpu/kv_cells.h"
#include "base/half.h"

namespace minfer::cpu {

void encode_f16_row_reference(const float* x, std::byte* out, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const uint16_t half = f32_to_f16(x[i]);
        std::memcpy(out + 2 * i, &half, sizeof half);
    }
}

void decode_f16_row_reference(const std::byte* row, float* out, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        uint16_t half;
        std::memcpy(&half, row + 2 * i, sizeof half);
        out[i] = f16_to_f32(half);
    }
}

void decode_q8_0_row_reference(const std::byte* row, float* out, size_t n) {
    for (size_t i = 0; i < n; i += 32, row += 34) {
        uint16_t half;
        std::memcpy(&half, row, sizeof half);
        const float d = f16_to_f32(half);
        for (size_t j = 0; j < 32; ++j) out[i + j] = float(int8_t(row[2 + j])) * d;
    }
}

}  // namespace minfer::cpu
