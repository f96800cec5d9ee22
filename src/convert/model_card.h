// The model card, README.md: YAML between two lines of "---". Gives what GGUF's general.* keys take from it, by the
// keys that HuggingFace and the reference know.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::convert {

// A model or data set that this one comes from: a name as HuggingFace or a URL has it, or the card's own fields.
struct CardSource {
    std::optional<std::string> id;              // where the card has a string
    std::map<std::string, std::string> fields;  // where it has a mapping
};

struct ModelCard {
    // By GGUF's key without "general.": name, author, version, organization, description, finetune, basename,
    // size_label, source.url, source.doi, source.uuid, source.repo_url, license, license.name, license.link.
    std::map<std::string, std::string, std::less<>> texts;
    std::optional<std::vector<CardSource>> base_models, datasets;  // nothing where the card has no such key
    std::vector<std::string> tags, languages;
};

constexpr uint64_t kMaxCardBytes = 8 << 20;

// `text` is the whole README.md; without front matter the card is empty. Keys that stand twice and merges are as PyYAML
// has them. Throws FormatError where the YAML does not parse, where a key has a list or a mapping for a text, and where
// aliases make the card say more than it has bytes.
ModelCard parse_model_card(std::string_view text, const std::string& path);

}  // namespace minfer::convert
