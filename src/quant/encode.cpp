#include "quant/encode.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "quant/decode.h"

namespace minfer::quant {
namespace {

using gguf::TensorType;

[[noreturn]] void refuse_sizes(const std::string& what, uint64_t found, uint64_t expected) {
    throw ShapeError("encode_rows: " + what + " is " + std::to_string(found) + ", expected " +
                     std::to_string(expected));
}

}  // namespace

bool can_encode(TensorType type) { return can_decode(type); }  // what minfer reads it writes, and nothing else

bool weighs_by_row(TensorType type) {
    return type == TensorType::Q4_0 || type == TensorType::Q4_1 || type == TensorType::Q5_0 || type == TensorType::Q5_1;
}

float add_squares(Arithmetic arithmetic, std::span<const float> values, float sum) {
    return default_encoder_set().functions->add_squares(arithmetic, values.data(), int64_t(values.size()), sum);
}

bool all_finite(std::span<const float> values) {
    return default_encoder_set().functions->all_finite(values.data(), int64_t(values.size()));
}

void encode_rows(TensorType type, std::span<const float> src, int64_t n_rows, int64_t row_length,
                 std::span<std::byte> dst, const EncodeOptions& options) {
    if (!can_encode(type))
        throw UnsupportedError("encode_rows: tensor type " + std::string(gguf::type_name(type)) + " has no encoder");
    if (n_rows < 0 || row_length <= 0) throw ShapeError("encode_rows: rows and their length must be positive");
    const uint64_t row_bytes = gguf::row_bytes(type, uint64_t(row_length));
    if (src.size() != uint64_t(n_rows) * uint64_t(row_length))
        refuse_sizes("the number of values", src.size(), uint64_t(n_rows) * uint64_t(row_length));
    if (dst.size() != uint64_t(n_rows) * row_bytes)
        refuse_sizes("the destination's size", dst.size(), uint64_t(n_rows) * row_bytes);
    if (!options.importance.empty() && options.importance.size() != uint64_t(row_length))
        refuse_sizes("the importance's length", options.importance.size(), uint64_t(row_length));

    const EncoderSet& set = options.set != nullptr ? *options.set : default_encoder_set();
    const EncoderFunctions& functions = *set.functions;
    const auto out = reinterpret_cast<uint8_t*>(dst.data());
    const auto n = int64_t(src.size());
    switch (type) {
        case TensorType::F32:
            if (!src.empty()) std::memcpy(out, src.data(), src.size_bytes());
            return;
        case TensorType::F16:
            return functions.narrow_f16(options.arithmetic, src.data(), out, n);
        case TensorType::BF16:
            return functions.narrow_bf16(src.data(), out, n);
        default: {
            const int64_t blocks_per_row = row_length / int64_t(gguf::block_size(type));
            functions.encode(type, options.arithmetic,
                             {.src = src.data(),
                              .importance = options.importance.empty() ? nullptr : options.importance.data(),
                              .n_blocks = n_rows * blocks_per_row,
                              .blocks_per_row = blocks_per_row,
                              .row_mean_square = options.row_mean_square ? &*options.row_mean_square : nullptr,
                              .dst = out});
        }
    }
}

}  // namespace minfer::quant
