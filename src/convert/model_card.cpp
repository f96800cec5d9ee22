#include "convert/model_card.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <regex>
#include <utility>

#include "base/error.h"
#include "convert/json_file.h"

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
        if (!std::exchange(first, false)) {
            for (const char c : line) yaml += c == '\t' ? std::string("  ") : std::string(1, c);
            yaml += '\n';
        }
    }
    constexpr std::string_view kBare = "- no\n", kQuoted = "- \"no\"\n";
    for (size_t at = yaml.find(kBare); at != std::string::npos; at = yaml.find(kBare, at + kQuoted.size()))
        yaml.replace(at, kBare.size(), kQuoted);
    return yaml;
}

// YAML 1.1 takes a plain scalar of these forms for something else than a string.
bool is_string(const YAML::Node& node) {
    if (!node.IsScalar()) return false;
    if (node.Tag() != "?" && !node.Tag().empty()) return true;  // it has quotes, or a tag
    static const std::regex kOther(
        R"(yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF|~|null|Null|NULL|)"
        R"([-+]?(0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(:[0-5]?[0-9])*)|)"
        R"([-+]?([0-9][0-9_]*)?\.[0-9_]*([eE][-+][0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)|)"
        R"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?)");
    constexpr size_t kLongest = 64;  // of those forms; std::regex recurses a step a character
    return node.Scalar().size() > kLongest || !std::regex_match(node.Scalar(), kOther);
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
