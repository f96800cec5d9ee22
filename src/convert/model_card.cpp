#include "convert/model_card.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <initializer_list>
#include <map>
#include <utility>

#include "base/error.h"
#include "convert/json_file.h"
#include "convert/yaml_scalar.h"
#include "gguf/value.h"

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

// Takes a parsed card of `n_bytes` apart. `path` is for messages.
class Reader {
  public:
    Reader(size_t n_bytes, const std::string& path) : path_(path), allowance_(n_bytes + kFewAliases) {}

    ModelCard read(const YAML::Node& card) {
        card_ = fields_of(card);
        ModelCard out;
        for (const TextKey& key : kTextKeys)
            for (const char* name : key.card)
                if (const YAML::Node* node = name ? find(name) : nullptr; node && !node->IsNull())
                    out.texts.emplace(key.gguf, text(name, *node, key.gguf == "license"));
        out.base_models = sources({"base_model", "base_models", "base_model_sources"});
        out.datasets = sources({"datasets", "dataset", "dataset_sources"});
        for (const char* key : {"tags", "pipeline_tag"}) append(out.tags, key);
        for (const char* key : {"languages", "language"}) append(out.languages, key);
        return out;
    }

  private:
    using Fields = std::map<std::string, YAML::Node, std::less<>>;
    static constexpr size_t kFewAliases = 1 << 16;

    [[noreturn]] void fail(std::string_view key, const YAML::Node& found, std::string expected) const {
        throw FormatError(path_, fmt::format("key '{}'", key),
                          found.IsSequence() ? "a list"
                          : found.IsMap()    ? "a mapping"
                          : found.IsScalar() ? "a text"
                                             : "nothing",
                          std::move(expected));
    }

    // Aliases can make a few bytes say as much as millions. All that is taken of a card is little more than it has.
    void take(size_t n_bytes) {
        if (n_bytes > allowance_) throw FormatError(path_, "front matter", "aliases without end", "few of them");
        allowance_ -= n_bytes;
    }

    static void put(Fields& fields, const std::string& key, const YAML::Node& value) {
        const auto [at, is_new] = fields.try_emplace(key, value);
        if (!is_new) at->second.reset(value);  // an assignment would change the tree
    }

    // A mapping's fields as PyYAML has them: of a key that stands twice the last counts, and "<<" brings in what
    // another mapping, or each of a list of them, has and this one has not. Other keys than strings are none that
    // anybody asks for.
    Fields fields_of(const YAML::Node& mapping, int depth = 0) {
        constexpr int kMaxDepth = 8;  // a mapping may be merged into itself
        if (depth > kMaxDepth)
            throw FormatError(path_, "key '<<'", "merges of merges", fmt::format("at most {} deep", kMaxDepth));
        Fields own, merged;
        for (const auto& field : mapping) {
            const YAML::Node &key = field.first, &value = field.second;
            take(1);
            if (is_plain(key) && key.Scalar() == "<<") {
                for (const auto& [name, brought] : merged_fields(value, depth)) put(merged, name, brought);
            } else if (is_string(key)) {
                take(key.Scalar().size());
                put(own, key.Scalar(), value);
            }
        }
        own.merge(merged);
        return own;
    }

    // What the value of "<<" brings in. Versions of PyYAML disagree on which of a list's mappings counts: 6.0.4 takes
    // the last that has a key, older ones the first, as YAML says.
    Fields merged_fields(const YAML::Node& value, int depth) {
        const auto fields_of_item = [&](const YAML::Node& item) {
            if (!item.IsMap()) fail("<<", item, "a mapping, or a list of mappings");
            take(1);
            return fields_of(item, depth + 1);
        };
        if (!value.IsSequence()) return fields_of_item(value);
        Fields out;
        for (const YAML::Node& item : value)
            for (const auto& [name, brought] : fields_of_item(item))
                if (const auto [at, is_new] = out.try_emplace(name, brought); !is_new && !at->second.is(brought))
                    throw FormatError(path_, "key '<<'",
                                      "key " + gguf::in_quotes(name) + " in two mappings of its list", "it in one");
        return out;
    }

    const YAML::Node* find(std::string_view key) const {
        const auto at = card_.find(key);
        return at == card_.end() ? nullptr : &at->second;
    }

    // A number or a truth value is taken as it is spelled. Licences may come as a list, and are joined.
    std::string text(std::string_view key, const YAML::Node& node, bool may_be_list) {
        if (node.IsScalar()) {
            take(node.Scalar().size());
            return node.Scalar();
        }
        if (!may_be_list || !node.IsSequence()) fail(key, node, "a text");
        std::vector<std::string> items;
        for (const YAML::Node& item : node) items.push_back(text(key, item, false));
        return fmt::format("{}", fmt::join(items, ","));
    }

    void append(std::vector<std::string>& out, const char* key) {
        const YAML::Node* node = find(key);
        if (!node || node->IsNull()) return;
        if (node->IsSequence())
            for (const YAML::Node& item : *node) out.push_back(text(key, item, false));
        else if (is_string(*node))
            out.push_back(text(key, *node, false));
    }

    // The first key that is there counts, be it empty.
    std::optional<std::vector<CardSource>> sources(std::initializer_list<const char*> keys) {
        for (const char* key : keys) {
            const YAML::Node* node = find(key);
            if (!node) continue;
            std::vector<CardSource> out;
            if (node->IsSequence())
                for (const YAML::Node& item : *node) out.push_back(source(key, item));
            else if (is_string(*node))
                out.push_back(source(key, *node));
            return out;
        }
        return std::nullopt;
    }

    CardSource source(const char* key, const YAML::Node& node) {
        CardSource out;
        if (is_string(node)) out.id = text(key, node, false);
        if (node.IsMap())
            for (const auto& [name, value] : fields_of(node))
                if (!value.IsNull()) out.fields[name] = text(key, value, false);
        return out;
    }

    const std::string& path_;
    Fields card_;
    size_t allowance_;  // bytes that may yet be taken
};

}  // namespace

ModelCard parse_model_card(std::string_view text, const std::string& path) {
    const std::string yaml = front_matter(text);
    if (yaml.empty()) return {};
    require_utf8(yaml, path);
    try {
        const YAML::Node card = YAML::Load(yaml);
        if (!card.IsMap()) return {};
        return Reader(yaml.size(), path).read(card);
    } catch (const YAML::Exception& e) {
        throw FormatError(path, fmt::format("front matter, line {}", e.mark.line + 2),
                          fmt::format("what is no YAML ({})", e.msg), "YAML between two lines of ---");
    }
}

}  // namespace minfer::convert
