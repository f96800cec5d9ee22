// Importance matrices: for each weight matrix, how much each of its inputs matters, measured on a text by
// llama-imatrix. Encoders weigh their errors by them. Read from its GGUF form and from the older binary one.
//
// The numbers stay in the file, for those of a model with many experts are gigabytes: load() reads the few at hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "gguf/reader.h"

namespace minfer::quant {

class Importance {
  public:
    // Throws IoError and FormatError; a sum or count that is negative or not finite is one of those.
    static Importance read(const std::string& path);

    const std::string& path() const { return path_; }
    const File& file() const { return gguf_ ? gguf_->file(0) : *legacy_; }
    size_t n_entries() const { return entries_.size(); }
    const std::vector<std::string>& datasets() const { return datasets_; }  // the texts it was measured on
    int64_t n_chunks() const { return n_chunks_; }                          // of text; 0 where the file does not say
    std::vector<std::string> names() const;                                 // of the entries, sorted

    // How many values the tensor of that name has, [n_expert][n_in]; nothing where it was not measured.
    std::optional<uint64_t> find(std::string_view tensor) const;
    // Those of an entry that is there from `first` on. Threads may load at once.
    void load(std::string_view tensor, uint64_t first, std::span<float> out) const;

  private:
    struct Entry {
        uint64_t n_values = 0;
        const gguf::TensorInfo *sums = nullptr, *counts = nullptr;  // in the GGUF form
        uint64_t offset = 0;                                        // of the sums in the older one
        int32_t n_call = 0;
    };

    void read_gguf();
    void read_legacy();
    void check_values() const;
    void load(const Entry& entry, uint64_t first, std::span<float> out) const;

    std::string path_;
    std::optional<gguf::Gguf> gguf_;  // either this
    std::optional<File> legacy_;      // or this
    std::map<std::string, Entry, std::less<>> entries_;
    std::vector<std::string> datasets_;
    int64_t n_chunks_ = 0;
};

}  // namespace minfer::quant
