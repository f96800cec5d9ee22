// Takes a model's tensors out of a file, each by name and with the shape that the hyperparameters demand.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "gguf/reader.h"
#include "graph/weight_table.h"

namespace minfer::model {

// y = weight x + bias.
struct Linear {
    graph::WeightId weight;                   // [n_out][n_in]
    graph::WeightId bias = graph::kNoWeight;  // [n_out]; may be absent
};

// Whether a linear map of an architecture has a bias; where the file decides, it may.
enum class Bias { None, Optional, Required };

// Throws FormatError where a tensor is missing or has another shape, with both shapes in the message, and
// UnsupportedError, naming tensor and type, where minfer cannot compute with its type.
class WeightReader {
  public:
    // Both are borrowed; the table's weights point into the file's mapping.
    WeightReader(const gguf::Gguf& file, graph::WeightTable& table) : file_(file), table_(table) {}

    // [n_out][n_in] of any type of weights.
    graph::WeightId matrix(const std::string& name, size_t n_out, size_t n_in);
    graph::WeightId matrix_if(const std::string& name, size_t n_out, size_t n_in);
    // [n] of f32: norms, biases, factors.
    graph::WeightId vector(const std::string& name, size_t n);
    graph::WeightId vector_if(const std::string& name, size_t n);
    // name.weight [n_out][n_in], and name.bias [n_out].
    Linear linear(const std::string& name, size_t n_out, size_t n_in, Bias bias);

    // Throws FormatError naming a tensor of the file that nobody took: to leave a weight out is to compute another
    // model.
    void finish() const;

  private:
    graph::WeightId take(const std::string& name, graph::Shape shape, bool is_vector, bool required);

    const gguf::Gguf& file_;
    graph::WeightTable& table_;
    std::set<std::string_view> taken_;  // views into the file's index
};

// "blk.3.attn_q.weight"
std::string layer_tensor(size_t layer, std::string_view name);

// The types that a matrix may have: those that every backend computes with.
bool is_weight_type(gguf::TensorType type);

}  // namespace minfer::model
