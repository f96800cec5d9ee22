// A whole model of an architecture in a GGUF file of a few kilobytes, with whatever is to be wrong about it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "gguf/types.h"
#include "gguf/value.h"

namespace minfer::test {

struct TinyTensor {
    uint64_t n_in = 0;   // ne[0]
    uint64_t n_out = 0;  // ne[1]; 0: a vector
    gguf::TensorType type = gguf::TensorType::F32;
};

// Metadata and tensors by name, for a test to change before the file is written.
struct TinyFile {
    std::map<std::string, gguf::Value> metadata;
    std::map<std::string, TinyTensor> tensors;

    void set(std::string_view key, gguf::Value value);
    // Random values that follow from the names alone, encoded as minfer's quantizer does. Types that it does not write
    // have zero bytes.
    void write(const std::filesystem::path& path) const;
};

struct TinyShape {
    uint32_t n_layer = 2;
    uint32_t n_head = 4;
    uint32_t n_head_kv = 2;
    uint32_t head_dim = 8;  // twice that for qwen3, whose heads are not n_embd / n_head
    uint32_t n_ff = 48;
    uint32_t n_vocab = 40;
    gguf::TensorType type = gguf::TensorType::F32;  // of the matrices

    uint32_t n_embd() const { return n_head * head_dim; }
};

// Without a tokenizer.
TinyFile tiny_file(const std::string& architecture, const TinyShape& shape = {});

// Gives it a vocabulary of the 256 bytes, then <|im_end|> (256, the end of a text) and <|endoftext|> (257).
void add_byte_tokenizer(TinyFile& file);

}  // namespace minfer::test
