#include "convert/model_card.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "convert/json_file.h"
#include "convert/yaml_scalar.h"

namespace minfer::convert {
namespace {

// GGUF's key and the card's keys for it; the first of those that the card has with a value counts.
struct TextKey {
    std::string_view gguf;
    std::array<const char*, 3> card;
};
constexpr std::array<TextKey, 15> kTextKeys = {{
    {"name", {"name", "model_name", nullptr}},
    {"author", {"author", "model_author", "model_creator"}},
    {"version", {"version", "model_version", nullptr}},
    {"organization", {"organization", "model_organization", nullptr}},
    {"description", {"description", "model_description", nullptr}},
    {"finetune", {"finetune", "model_finetune", nullptr}},
    {"basename", {"basename", "model_basename", "model_type"}},
    {"size_label", {"size_label", "model_size_label", nullptr}},
    {"source.url", {"url", "model_url", nullptr}},
    {"source.doi", {"doi", "model_doi", nullptr}},
    {"source.uuid", {"uuid", "model_uuid", nullptr}},
    {"source.repo_url", {"repo_url", "model_repo_url", nullptr}},
    {"license", {"license", nullptr, nullptr}},
    {"license.name", {"license_name", nullptr, nullptr}},
    {"license.link", {"license_link", nullptr, nullptr}},
}};

// The lines between the first two "---", made ready as the reference does: "no" in a list is Norwegian and no truth
// value, and a tab is two spaces.
std::string front_matter(std::string_view readme) {
    const std::string text = with_unix_newlines(readme);
    std::string yaml;
    bool first = true;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = std::string_view(text).substr(begin, end - begin);
        begin = end + 1;
        if (first && line != "---") return "";
        if (!first && line == "---") break;
        if (std::exchange(first, false)) continue;
        for (const char c : line)
            if (c == '\t')
                yaml += "  ";
            else
                yaml += c;
        if (line.ends_with("- no")) yaml.replace(yaml.size() - 2, 2, "\"no\"");
        yaml += '\n';
    }
    return yaml;
}

bool is_plain(const YAML::Node& node) { return node.IsScalar() && (node.Tag() == "?" || node.Tag().empty()); }

// A scalar with quotes or a tag is one whatever it looks like.
bool is_string(const YAML::Node& node) {
    return node.IsScalar() && (!is_plain(node) || is_plain_yaml_string(node.Scalar()));
}

class Reader {
  public:
    Reader(const YAML::Node& card, const std::string& path) : card_(card), path_(path) {}

    ModelCard read() const {
        ModelCard out;
        for (const TextKey& key : kTextKeys)
            for (const char* name : key.card)
                if (name && card_[name] && !card_[name].IsNull() && !out.texts.contains(key.gguf))
                    out.texts.emplace(key.gguf, text(name, card_[name], key.gguf == "license"));
        out.base_models = sources({"base_model", "base_models", "base_model_sources"});
        out.datasets = sources({"datasets", "dataset", "dataset_sources"});
        for (const char* key : {"tags", "pipeline_tag"}) append(out.tags, key);
        for (const char* key : {"languages", "language"}) append(out.languages, key);
        return out;
    }

  private:
    [[noreturn]] void fail(const char* key, const YAML::Node& found, std::string expected) const {
        throw FormatError(path_, fmt::format("key '{}'", key),
                          found.IsSequence() ? "a list"
                          : found.IsMap()    ? "a mapping"
                                             : "nothing",
                          std::move(expected));
    }

    // A number or a truth value is taken as it is spelled. Licences may come as a list, and are joined.
    std::string text(const char* key, const YAML::Node& node, bool may_be_list) const {
        if (node.IsScalar()) return node.Scalar();
        if (!may_be_list || !node.IsSequence()) fail(key, node, "a text");
        std::vector<std::string> items;
        for (const YAML::Node& item : node) items.push_back(text(key, item, false));
        return fmt::format("{}", fmt::join(items, ","));
    }

    void append(std::vector<std::string>& out, const char* key) const {
        const YAML::Node node = card_[key];
        if (!node || node.IsNull()) return;
        if (node.IsSequence())
            for (const YAML::Node& item : node) out.push_back(text(key, item, false));
        else if (is_string(node))
            out.push_back(node.Scalar());
    }

    // The first key that is there counts, be it empty.
    std::optional<std::vector<CardSource>> sources(std::initializer_list<const char*> keys) const {
        for (const char* key : keys) {
            const YAML::Node node = card_[key];
            if (!node) continue;
            std::vector<CardSource> out;
            if (node.IsSequence())
                for (const YAML::Node& item : node) out.push_back(source(key, item));
            else if (is_string(node))
                out.push_back(source(key, node));
            return out;
        }
        return std::nullopt;
    }

    CardSource source(const char* key, const YAML::Node& node) const {
        CardSource out;
        if (is_string(node)) out.id = node.Scalar();
        if (node.IsMap())
            for (const auto& field : node)
                if (field.first.IsScalar() && !field.second.IsNull())
                    out.fields[field.first.Scalar()] = text(key, field.second, false);
        return out;
    }

    const YAML::Node& card_;
    const std::string& path_;
};

}  // namespace

ModelCard parse_model_card(std::string_view text, const std::string& path) {
    const std::string yaml = front_matter(text);
    if (yaml.empty()) return {};
    require_utf8(yaml, path);
    try {
        const YAML::Node card = YAML::Load(yaml);
        if (!card.IsMap()) return {};
        return Reader(card, path).read();
    } catch (const YAML::Exception& e) {
        throw FormatError(path, fmt::format("front matter, line {}", e.mark.line + 2),
                          fmt::format("what is no YAML ({})", e.msg), "YAML between two lines of ---");
    }
}

}  // namespace minfer::convert
