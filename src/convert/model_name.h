// What a model's name says of it: "Tiny-0.1B-Instruct-v1.5" is the base name Tiny, a size, the finetune Instruct and a
// version. The rules are those of the reference (gguf-py, Metadata.get_model_id_components), for equal names give equal
// metadata.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minfer::convert {

struct NameParts {
    std::optional<std::string> full_name;     // without the organization
    std::optional<std::string> organization;  // of "organization/name"
    std::optional<std::string> basename, finetune, version, size_label;
};

// `n_params` tells a size ("7B") from a context length ("128k"): a size far from it counts as part of the finetune.
NameParts parse_model_name(std::string_view id, uint64_t n_params);

// "qwen2.5-instruct" as a title: "Qwen2.5 Instruct". Words with capitals, versions and numbers stay as they are.
std::string title_of_name(std::string_view name);

// "7.6B", "68M": at least two digits.
std::string size_label(uint64_t n_params);

}  // namespace minfer::convert
