// Importance matrices: for each weight matrix, how much each of its inputs matters, measured on a text by
// llama-imatrix. Encoders weigh their errors by them. Read from its GGUF form and from the older binary one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::quant {

class Importance {
  public:
    // Throws IoError and FormatError; a value that is not finite is one of those.
    static Importance read(const std::string& path);

    const std::string& path() const { return path_; }
    size_t n_entries() const { return entries_.size(); }
    const std::vector<std::string>& datasets() const { return datasets_; }  // the texts it was measured on
    int64_t n_chunks() const { return n_chunks_; }                          // of text; 0 where the file does not say

    // [n_expert][n_in] for the tensor of that name; nothing where it was not measured.
    std::optional<std::span<const float>> find(std::string_view tensor) const;

  private:
    void read_gguf();
    void read_legacy();

    std::string path_;
    std::map<std::string, std::vector<float>, std::less<>> entries_;
    std::vector<std::string> datasets_;
    int64_t n_chunks_ = 0;
};

}  // namespace minfer::quant
