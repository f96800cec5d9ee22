// Which type each tensor of a model gets: llama.cpp's rules, as a pure function. A plan says nothing of values.
// Source: the behaviour of llama_model_quantize in llama.cpp v0.5.0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/types.h"
#include "quant/scheme.h"

namespace minfer::quant {

// What the rules ask of a model's metadata: each 0 to 2^31 - 1. Heads are the first layer's.
struct ModelFacts {
    std::string architecture;
    int64_t n_layer = 0;
    int64_t n_head = 0;
    int64_t n_head_kv = 0;
    int64_t n_expert = 0;
};

struct TensorFacts {
    std::string name;
    std::array<uint64_t, 4> ne = {1, 1, 1, 1};  // ne[0] is the row length
    gguf::TensorType type = gguf::TensorType::F32;
};

// One --tensor-type REGEX=TYPE: the first whose expression is found in a name decides.
// tensor_name_pattern() makes it.
struct TypeOverride {
    std::regex pattern;
    gguf::TensorType type;
};

struct PlanOptions {
    Scheme scheme;                // `pure` as the command line left it
    bool quantize_output = true;  // false: --leave-output-tensor
    bool has_importance = false;
    std::optional<gguf::TensorType> output_type;           // --output-tensor-type
    std::optional<gguf::TensorType> token_embedding_type;  // --token-embedding-type
    std::vector<TypeOverride> overrides;
};

enum class Choice {
    Base,     // the scheme's own type
    Kept,     // no tensor to encode: a vector, a norm, a table that stays as it is
    Rule,     // the mixture gives it another type: more bits, as a rule
    Option,   // the command line named its type
    Demoted,  // its rows do not divide into blocks of the type chosen for it
};

struct PlannedTensor {
    gguf::TensorType type;
    Choice choice;
    bool needs_importance = false;              // the reference refuses to encode it without an importance matrix
    std::optional<size_t> override_index = {};  // of the override that decided
};

// Matches what std::regex does in the reference, letters lower case as there, in a time that is polynomial in the
// pattern and the name. Throws std::regex_error for what is no regular expression, and for a back-reference.
std::regex tensor_name_pattern(std::string text);

// The reference's order of tensors, in which it counts layers and writes files: by block number, those without one
// first, then by name.
bool reference_order(std::string_view a, std::string_view b);

// The plan of `tensors`, which stand in reference order (with --keep-split, in that of the parts). Throws ShapeError
// where a type that the command line names cannot hold a tensor's rows.
std::vector<PlannedTensor> plan(const ModelFacts& model, std::span<const TensorFacts> tensors,
                                const PlanOptions& options);

}  // namespace minfer::quant
