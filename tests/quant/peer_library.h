// llama.cpp's own encoders and decoders, from the npm package's libggml-base.so: what minfer's must equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "gguf/types.h"
#include "quant/arithmetic.h"

namespace minfer::test {

class PeerLibrary {
  public:
    static std::filesystem::path path();  // MINFER_SKIP_WITHOUT(PeerLibrary::path()) first

    PeerLibrary();
    ~PeerLibrary();
    PeerLibrary(const PeerLibrary&) = delete;
    PeerLibrary& operator=(const PeerLibrary&) = delete;

    // ggml_quantize_chunk over all of `src`; `importance` is empty or one row long.
    std::vector<std::byte> encode(gguf::TensorType type, std::span<const float> src, int64_t row_length,
                                  std::span<const float> importance) const;

    // dequantize_row_*, ggml_fp16_to_fp32_row and ggml_bf16_to_fp32_row.
    void decode(gguf::TensorType type, const std::byte* row, std::span<float> out) const;

  private:
    void* symbol(const std::string& name) const;
    void* library_ = nullptr;
};

// What runs on AArch64, under qemu-aarch64, one process for all requests.
struct EncodeRequest {
    gguf::TensorType type;
    int64_t row_length;
    std::span<const float> values, importance;
};
using EncodedRequests = std::vector<std::vector<std::byte>>;

// ggml_quantize_chunk of a library for that machine.
EncodedRequests encode_by_arm_peer(const std::filesystem::path& library, std::span<const EncodeRequest> requests);
std::filesystem::path arm_clang_library();  // the npm package's

// minfer's own encoders, built for that machine: the set of that name.
EncodedRequests encode_on_arm(const std::string& set, quant::Arithmetic arithmetic,
                              std::span<const EncodeRequest> requests);

// Both need this, which is absent without a cross compiler.
std::filesystem::path arm_programs();

}  // namespace minfer::test
