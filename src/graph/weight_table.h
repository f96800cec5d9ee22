// The tensors of a loaded model as a graph knows them: by number, with type, shape and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gguf/types.h"
#include "graph/shape.h"

namespace minfer::graph {

// An index into one WeightTable. kNoWeight stands for a tensor that a model may lack, such as a bias.
enum class WeightId : int32_t {};
constexpr WeightId kNoWeight{-1};

struct Weight {
    std::string name;
    gguf::TensorType type = gguf::TensorType::F32;
    Shape shape;                      // rows = n_out, dim = n_in = GGUF's ne[0]; a vector is [1][n]
    std::span<const std::byte> data;  // borrowed from the mapped file; the rows in GGUF's own encoding
};

class WeightTable {
  public:
    // Throws ShapeError where `data` is not exactly the rows' bytes.
    WeightId add(Weight weight);
    const Weight& operator[](WeightId id) const { return weights_.at(size_t(id)); }
    size_t size() const { return weights_.size(); }
    // Grows with each add: a graph built of an older table is not reused.
    uint64_t version() const { return weights_.size(); }

  private:
    std::vector<Weight> weights_;
};

}  // namespace minfer::graph
