// The metadata of a converted file: every key that the reference writes for these architectures, with its value.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "convert/json_file.h"
#include "convert/model_card.h"
#include "convert/model_config.h"
#include "convert/special_tokens.h"
#include "convert/token_list.h"
#include "gguf/types.h"
#include "gguf/value.h"

namespace minfer::convert {

using Metadata = std::vector<gguf::KeyValue>;

// general.sampling.* from generation_config.json's tree.
Metadata sampling_metadata(const JsonObject& generation_config);

// general.name to general.languages: the card counts first, then config.json's _name_or_path, then the folder's name.
// `n_params` counts the values of all tensors of the file.
Metadata authorship_metadata(const ModelCard& card, const std::string& name_or_path, const std::string& folder_name,
                             uint64_t n_params);

// ARCH.*: sizes, rotary embedding, norms.
Metadata model_metadata(const ModelConfig& config);
// ARCH.pooling_type, where modules.json says that this is an embedding model.
Metadata pooling_metadata(const std::filesystem::path& folder, Architecture architecture);

// tokenizer.*
Metadata tokenizer_metadata(std::string_view pre_tokenizer, const TokenList& tokens,
                            const std::vector<std::string>& merges, const SpecialTokens& special,
                            const ChatTemplates& templates);
// What the reference adds for Llama alone: add_space_prefix, and what it tells by the vocabulary's size.
Metadata llama_tokenizer_metadata(const JsonObject& tokenizer_config, uint64_t n_vocab);

// general.file_type of a file whose matrices have this type: llama.cpp's llama_ftype.
uint32_t file_type(gguf::TensorType type);

}  // namespace minfer::convert
