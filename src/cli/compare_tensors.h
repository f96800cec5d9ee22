// Two tensors side by side: by their bytes where their types agree, and by the values they stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/progress.h"
#include "gguf/reader.h"

namespace minfer::cli {

// Of pairs of decoded values. A pair that is equal, or NaN twice, counts as no difference; a pair with another NaN or
// infinity is counted apart.
struct ValueError {
    uint64_t n_values = 0, n_not_finite = 0;
    double sum_of_squares = 0, largest = 0;

    double rmse() const;
};

struct TensorDifference {
    enum class Kind { Equal, Bytes, Type, Shape, OnlyInA, OnlyInB };

    const gguf::TensorInfo *a, *b;
    Kind kind = Kind::Equal;
    uint64_t n_different_bytes = 0;   // with Kind::Bytes
    std::optional<ValueError> error;  // with Bytes and Type, where both types can be decoded

    const std::string& name() const { return (a ? a : b)->name; }
    const char* kind_name() const;  // "equal", "different bytes", "different type"
    std::string words() const;      // the same with its numbers
};

// Either tensor may be null, which is a difference. Reads both by position, in pieces; `progress` hears of a's bytes.
TensorDifference compare_tensors(const gguf::Gguf& model_a, const gguf::TensorInfo* a, const gguf::Gguf& model_b,
                                 const gguf::TensorInfo* b, Progress& progress);

}  // namespace minfer::cli
