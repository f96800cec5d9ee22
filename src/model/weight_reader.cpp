#include "model/weight_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace minfer::model {
namespace {

using gguf::TensorType;

constexpr TensorType kWeightTypes[] = {
    TensorType::F32,  TensorType::F16,  TensorType::BF16, TensorType::Q4_0,   TensorType::Q4_1,
    TensorType::Q5_0, TensorType::Q5_1, TensorType::Q8_0, TensorType::Q2_K,   TensorType::Q3_K,
    TensorType::Q4_K, TensorType::Q5_K, TensorType::Q6_K, TensorType::IQ4_NL, TensorType::IQ4_XS,
};

std::string weight_type_names() {
    std::vector<std::string_view> names;
    for (const TensorType type : kWeightTypes) names.push_back(gguf::type_name(type));
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool is_weight_type(TensorType type) { return std::ranges::count(kWeightTypes, type) > 0; }

std::string layer_tensor(size_t layer, std::string_view name) { return fmt::format("blk.{}.{}", layer, name); }

graph::WeightId WeightReader::take(const std::string& name, graph::Shape shape, bool is_vector, bool required) {
    const gguf::TensorInfo* info = file_.find_tensor(name);
    if (!info) {
        if (!required) return graph::kNoWeight;
        throw FormatError(file_.path(), "tensor '" + name + "'", "no such tensor",
                          fmt::format("one of shape {}", graph::to_string(shape)));
    }
    const graph::Shape found{size_t(info->n_rows()), size_t(info->ne[0])};
    if (found != shape)
        throw FormatError(file_.path(), "tensor '" + name + "'", fmt::format("shape {}", graph::to_string(found)),
                          fmt::format("{}, by the hyperparameters", graph::to_string(shape)));
    if (is_vector && info->type != TensorType::F32)
        throw UnsupportedError(fmt::format("{}: tensor '{}': unsupported type {} of a vector; it must be f32",
                                           file_.path(), name, gguf::type_name(info->type)));
    if (!is_weight_type(info->type))
        throw UnsupportedError(fmt::format("{}: tensor '{}': unsupported weight type {}; there are {}", file_.path(),
                                           name, gguf::type_name(info->type), weight_type_names()));
    taken_.insert(info->name);
    return table_.add({name, info->type, shape, file_.data(*info)});
}

graph::WeightId WeightReader::matrix(const std::string& name, size_t n_out, size_t n_in) {
    return take(name, {n_out, n_in}, false, true);
}
graph::WeightId WeightReader::matrix_if(const std::string& name, size_t n_out, size_t n_in) {
    return take(name, {n_out, n_in}, false, false);
}
graph::WeightId WeightReader::vector(const std::string& name, size_t n) { return take(name, {1, n}, true, true); }
graph::WeightId WeightReader::vector_if(const std::string& name, size_t n) { return take(name, {1, n}, true, false); }

Linear WeightReader::linear(const std::string& name, size_t n_out, size_t n_in, Bias bias) {
    Linear l{.weight = matrix(name + ".weight", n_out, n_in)};
    if (bias != Bias::None) l.bias = take(name + ".bias", {1, n_out}, true, bias == Bias::Required);
    return l;
}

void WeightReader::finish() const {
    for (const gguf::TensorInfo& info : file_.tensors())
        if (!taken_.contains(info.name))
            throw FormatError(file_.path(), "tensor '" + info.name + "'",
                              "a weight that the architecture does not have",
                              "none but its own: a weight left out changes the result");
}

}  // namespace minfer::model
