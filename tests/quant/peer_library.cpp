#include "peer_library.h"

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>

#include "support/support.h"

namespace minfer::test {

using gguf::TensorType;

std::filesystem::path PeerLibrary::path() {
    return oracles_dir() / "npm/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/libggml-base.so";
}

PeerLibrary::PeerLibrary() : library_(dlopen(path().c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
}

PeerLibrary::~PeerLibrary() { dlclose(library_); }

void* PeerLibrary::symbol(const std::string& name) const {
    void* address = dlsym(library_, name.c_str());
    if (address == nullptr) throw std::runtime_error("no symbol " + name);
    return address;
}

std::vector<std::byte> PeerLibrary::encode(TensorType type, std::span<const float> src, int64_t row_length,
                                           std::span<const float> importance) const {
    using RowSize = size_t (*)(int, int64_t);
    using QuantizeChunk = size_t (*)(int, const float*, void*, int64_t, int64_t, int64_t, const float*);
    const auto row_size = reinterpret_cast<RowSize>(symbol("ggml_row_size"));
    const auto quantize_chunk = reinterpret_cast<QuantizeChunk>(symbol("ggml_quantize_chunk"));
    const int64_t n_rows = int64_t(src.size()) / row_length;
    std::vector<std::byte> out(row_size(int(type), row_length) * size_t(n_rows));
    const float* weights = importance.empty() ? nullptr : importance.data();
    if (quantize_chunk(int(type), src.data(), out.data(), 0, n_rows, row_length, weights) != out.size())
        throw std::runtime_error("ggml_quantize_chunk wrote another size");
    return out;
}

void PeerLibrary::decode(TensorType type, const std::byte* row, std::span<float> out) const {
    using ToFloat = void (*)(const void*, float*, int64_t);
    using TypeName = const char* (*)(int);
    const std::string name = reinterpret_cast<TypeName>(symbol("ggml_type_name"))(int(type));
    const std::string function = type == TensorType::F16    ? "ggml_fp16_to_fp32_row"
                                 : type == TensorType::BF16 ? "ggml_bf16_to_fp32_row"
                                                            : "dequantize_row_" + name;
    reinterpret_cast<ToFloat>(symbol(function))(row, out.data(), int64_t(out.size()));
}

namespace {

// Feeds a filter of this folder (peer_encode.c, encode_filter.cpp) all requests; `tail` ends each header.
EncodedRequests encode_under_qemu(const std::string& program, const std::string& argument,
                                  std::span<const EncodeRequest> requests, const std::vector<int64_t>& tail) {
    std::string input;
    const auto append = [&](const void* data, size_t size) { input.append(static_cast<const char*>(data), size); };
    EncodedRequests results;
    for (const EncodeRequest& request : requests) {
        const int64_t rows = int64_t(request.values.size()) / request.row_length;
        const int64_t bytes = rows * int64_t(gguf::row_bytes(request.type, uint64_t(request.row_length)));
        const int64_t header[] = {int64_t(request.type), rows, request.row_length, !request.importance.empty(), bytes};
        append(header, sizeof header);
        append(tail.data(), tail.size() * sizeof(int64_t));
        append(request.values.data(), request.values.size_bytes());
        append(request.importance.data(), request.importance.size_bytes());
        results.emplace_back(size_t(bytes));
    }
    const Finished finished = run({"qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", program, argument}, input);
    if (finished.status != 0) throw std::runtime_error(program + ": " + finished.err);
    const char* at = finished.out.data();
    size_t left = finished.out.size();
    for (std::vector<std::byte>& result : results) {
        if (left < result.size()) throw std::runtime_error(program + " wrote too little");
        std::memcpy(result.data(), at, result.size());
        at += result.size();
        left -= result.size();
    }
    return results;
}

}  // namespace

EncodedRequests encode_by_arm_peer(const std::filesystem::path& library, std::span<const EncodeRequest> requests) {
    return encode_under_qemu(MINFER_PEER_ENCODE_ARM, library, requests, {});
}

EncodedRequests encode_on_arm(const std::string& set, quant::Arithmetic arithmetic,
                              std::span<const EncodeRequest> requests) {
    return encode_under_qemu(MINFER_ENCODE_FILTER_ARM, set, requests, {int64_t(arithmetic)});
}

std::filesystem::path arm_programs() { return MINFER_ENCODE_FILTER_ARM; }

std::filesystem::path arm_clang_library() {
    return oracles_dir() / "npm/node_modules/@node-llama-cpp/linux-arm64/bins/linux-arm64/libggml-base.so";
}

}  // namespace minfer::test
