// A checkpoint of a few kilobytes that converts, for tests to break in one place.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "support/support.h"

namespace minfer::test {

using Json = nlohmann::json;

struct TinyTensor {
    std::string name, dtype;
    std::vector<uint64_t> shape;
    std::string bytes;  // empty: zeros of the right count
};

// Header and data of a safetensors file; offsets follow from the order. `header_text` replaces the JSON where given.
std::string safetensors(const std::vector<TinyTensor>& tensors, const std::optional<std::string>& header_text = {});

class TinyCheckpoint {
  public:
    // `architecture` is "qwen2", "qwen3" or "llama": 2 layers of 32 values, 2 heads of 16, a vocabulary of 300 with 262
    // tokens. Output tied. The tokenizer has the 256 bytes, 3 merges and 3 added tokens.
    explicit TinyCheckpoint(const std::string& architecture = "qwen2");

    Json config, generation_config, tokenizer, tokenizer_config;
    std::vector<TinyTensor> tensors;

    TinyTensor& tensor(const std::string& name);
    void erase(const std::string& name);

    // Writes the files; model.safetensors unless `weights` is false. Gives the folder.
    std::filesystem::path write(bool weights = true) const;
    std::filesystem::path folder() const { return folder_.path() / "Tiny"; }
    convert::ConvertOptions options(gguf::TensorType type = gguf::TensorType::F16) const;

  private:
    TemporaryFolder folder_;
};

// The message of what `call` throws as an Error of class E, or a text that says what it did instead.
template <typename E, typename Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const E& e) {
        return e.what();
    } catch (const std::exception& e) {
        return std::string("another exception: ") + e.what();
    }
    return "no exception";
}

}  // namespace minfer::test
