// Typed, range-checked access to the ARCHITECTURE.* keys of a file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gguf/reader.h"

namespace minfer::model {

// Above every size there is in a model, and small enough that the product of two fits 64 bits with room to spare.
constexpr size_t kLargestSize = size_t(1) << 28;

class Metadata {
  public:
    // Borrows the file.
    explicit Metadata(const gguf::Gguf& file) : file_(file), architecture_(file.architecture()) {}

    const gguf::Gguf& file() const { return file_; }
    const std::string& architecture() const { return architecture_; }
    // "ARCHITECTURE.name": no other architecture's keys are ever read in its place.
    std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
    bool has(std::string_view name) const { return file_.has(key(name)); }

    // An integer from 1 to kLargestSize. Throws FormatError for any other, and size() where the key is missing.
    size_t size(std::string_view name) const;
    std::optional<size_t> size_if(std::string_view name) const;
    // A finite number above 0; FormatError for any other. Without `otherwise` the key must be there.
    double positive(std::string_view name, std::optional<double> otherwise = std::nullopt) const;
    std::string_view text_or(std::string_view name, std::string_view otherwise) const;

    // Throws UnsupportedError where the key is there with a value other than 0 or false, for it says that the model
    // computes something that minfer does not.
    void refuse(std::string_view name) const;

    // Throws FormatError about the key.
    [[noreturn]] void fail(std::string_view name, std::string found, std::string expected) const;
    [[noreturn]] void unsupported(std::string_view name, std::string_view what) const;

  private:
    const gguf::Gguf& file_;
    std::string architecture_;
};

}  // namespace minfer::model
