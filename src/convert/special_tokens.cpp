#include "convert/special_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "gguf/value.h"

namespace minfer::convert {
namespace {

// Tokens that tokenizer_config.json names, as the rules below change them on the way. A name may stand there as a
// string or inside an object; the reference compares only strings with the tokens of a template, so an object is like
// none.
class Names {
  public:
    struct Name {
        std::string token;
        bool plain = true;  // it was a string
    };

    explicit Names(const JsonObject& config) {
        for (const std::string_view kind : {"bos", "eos", "unk", "sep", "pad", "cls", "mask"}) {
            order_.emplace_back(kind);
            const std::string key = fmt::format("{}_token", kind);
            const Json* entry = config.find(key);
            if (!entry) continue;
            const bool plain = entry->is_string();
            const Json* token = entry;
            if (entry->is_object()) {
                const auto content = entry->find("content");
                if (content != entry->end()) token = &*content;
            }
            if (!token->is_string())
                throw FormatError(config.path(), config.field(key), describe(*entry),
                                  "a token: a string, or an object with a string as its content");
            names_[std::string(kind)] = {token->get<std::string>(), plain};
        }
    }

    const std::vector<std::string>& order() const { return order_; }
    bool has_kind(std::string_view kind) const { return std::ranges::find(order_, kind) != order_.end(); }
    void add_kind(std::string_view kind) { order_.emplace_back(kind); }

    Name get(std::string_view kind) const {  // an empty token where there is none
        const auto at = names_.find(kind);
        return at == names_.end() ? Name{} : at->second;
    }
    bool has(std::string_view kind) const { return !get(kind).token.empty(); }
    bool is(std::string_view kind, std::string_view token) const {
        const Name name = get(kind);
        return name.plain && !token.empty() && name.token == token;
    }
    void set(std::string_view kind, Name name) { names_[std::string(kind)] = std::move(name); }

  private:
    std::vector<std::string> order_;
    std::map<std::string, Name, std::less<>> names_;
};

// The items of a TemplateProcessing list: the id of {"SpecialToken": {"id": ...}} or {"Sequence": {"id": ...}}.
std::string item_id(const Json& list, size_t index, std::string_view kind) {
    const Json& item = list.at(index);
    if (!item.is_object()) return "";
    const auto inner = item.find(kind);
    if (inner == item.end() || !inner->is_object()) return "";
    const auto id = inner->find("id");
    return id != inner->end() && id->is_string() ? id->get<std::string>() : "";
}

const Json& list_of(const Json& processor, std::string_view key) {
    static const Json empty = Json::array();
    const auto at = processor.find(key);
    return at != processor.end() && at->is_array() ? *at : empty;
}

// The reference's reading of TemplateProcessing: a special token before or after a single text, and one between two.
void apply_template(const Json& processor, Names& names, SpecialTokens& out) {
    const Json& single = list_of(processor, "single");
    const Json& pair = list_of(processor, "pair");
    std::string first, last;
    if (single.size() > 1) {
        first = item_id(single, 0, "SpecialToken");
        if (!first.empty()) {
            if (!names.is("bos", first) && !names.is("cls", first)) {
                if (!names.has("bos")) names.set("bos", {first});
                if (!names.has("cls")) names.set("cls", {first});
            }
            out.added["bos"] = names.is("bos", first) || names.is("cls", first);
        }
        last = item_id(single, single.size() - 1, "SpecialToken");
        if (!last.empty()) {
            if (!names.is("eos", last)) {  // the old end of a text becomes the end of a turn, or of a message
                const Names::Name eos = names.get("eos");
                for (const std::string_view kind : {"eot", "eom"}) {
                    if (names.has_kind(kind)) continue;
                    names.add_kind(kind);
                    names.set(kind, eos);
                    break;
                }
                names.set("eos", {last});
            }
            out.added["eos"] = true;
        }
    }
    if (pair.empty()) return;
    const size_t begin = !first.empty() && item_id(pair, 0, "SpecialToken") == first ? 1 : 0;
    size_t end = pair.size();
    if (!last.empty() && item_id(pair, end - 1, "SpecialToken") == last) --end;
    if (end < begin + 3) return;  // A, B and something between
    if (item_id(pair, begin, "Sequence") != "A" || item_id(pair, end - 1, "Sequence") != "B") return;
    const auto separates = [&](const std::string& token) { return names.is("sep", token) || names.is("eos", token); };
    bool add_sep = separates(item_id(pair, begin + 1, "SpecialToken")) && last.empty();
    if (end - begin == 4 && separates(item_id(pair, begin + 2, "SpecialToken"))) add_sep = true;
    out.added["sep"] = add_sep;
    if (add_sep && !names.has("sep")) names.set("sep", names.get("eos"));
}

void apply_post_processor(const TokenizerJson& tokenizer, Names& names, SpecialTokens& out) {
    const Json& top = tokenizer.post_processor;
    if (top.is_null()) return;
    const auto list = top.is_object() ? top.find("processors") : top.end();
    std::vector<const Json*> processors;
    if (top.is_object() && list != top.end() && list->is_array())
        for (const Json& processor : *list) processors.push_back(&processor);
    else
        processors.push_back(&top);
    for (const Json* processor : processors) {
        const auto type = processor->is_object() ? processor->find("type") : processor->end();
        const bool named = processor->is_object() && type != processor->end();
        if (named && *type == "TemplateProcessing") {
            apply_template(*processor, names, out);
        } else if (!named || *type != "ByteLevel") {
            throw UnsupportedError(
                fmt::format("{} has the post-processor {}; minfer converts ByteLevel and TemplateProcessing only",
                            tokenizer.path, named ? describe(*type) : describe(*processor)));
        }
    }
}

// GGUF has a key for these; a "cls" token has none.
bool has_id_key(std::string_view kind) { return kind != "cls"; }
bool has_add_key(std::string_view kind) { return kind == "bos" || kind == "eos" || kind == "sep"; }

}  // namespace

SpecialTokens read_special_tokens(const TokenizerJson& tokenizer, const JsonObject& tokenizer_config,
                                  const JsonObject& config, uint64_t n_vocab) {
    SpecialTokens out;
    Names names(tokenizer_config);
    if (!names.has("bos") && names.has("cls")) names.set("bos", names.get("cls"));
    if (!names.has("eos") && names.has("sep")) names.set("eos", names.get("sep"));
    apply_post_processor(tokenizer, names, out);

    const auto set_id = [&](const std::string& kind, uint64_t id, const std::string& path, const std::string& field) {
        if (id >= n_vocab)
            throw FormatError(path, field, fmt::format("the id {}", id), fmt::format("an id below {}", n_vocab));
        const bool known = std::ranges::any_of(out.ids, [&](const auto& entry) { return entry.first == kind; });
        if (!known && has_id_key(kind)) out.ids.emplace_back(kind, uint32_t(id));
    };
    for (const std::string& kind : names.order()) {
        if (has_add_key(kind))
            if (const auto add = tokenizer_config.boolean(fmt::format("add_{}_token", kind))) out.added[kind] = *add;
        const std::string token = names.get(kind).token;
        const auto at = std::ranges::find(tokenizer.added_tokens, token, &AddedToken::content);
        if (at != tokenizer.added_tokens.end()) {
            set_id(kind, at->id, tokenizer.path, "added token " + gguf::in_quotes(token));
        } else if (!token.empty() &&
                   std::ranges::find(tokenizer.vocab, token, &VocabEntry::token) == tokenizer.vocab.end()) {
            // transformers would give it a new id, past the vocabulary: that is a guess about the embedding's rows.
            throw FormatError(tokenizer_config.path(), tokenizer_config.field(kind + "_token"), gguf::in_quotes(token),
                              "a token that tokenizer.json has");
        }
    }
    for (const std::string& kind : names.order()) {
        const std::string key = fmt::format("{}_token_id", kind);
        const Json* id = config.find(key);
        if (!id || id->is_array()) continue;  // a list of ids is for generation, not for this key
        if (!id->is_number_unsigned())
            throw FormatError(config.path(), config.field(key), describe(*id), "an id that is not negative");
        set_id(kind, id->get<uint64_t>(), config.path(), config.field(key));
    }
    return out;
}

namespace {

constexpr uint64_t kMaxTemplateBytes = 4 << 20;

std::string read_template(const std::filesystem::path& path) {
    const std::string text = read_text_file(path.string(), kMaxTemplateBytes);
    require_utf8(text, path.string());
    return with_unix_newlines(text);
}

// A name with letters, digits and '_' only, which is what a key of GGUF takes; each other character is one '_'.
std::string key_name(std::string_view name) {
    std::string out;
    for (const char c : name) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;  // a character of several bytes
        if (plain)
            out += c;
        else if (!continues)
            out += '_';
    }
    return out;
}

void add_template(ChatTemplates& out, const std::string& name, std::string text) {
    if (name == "default")
        out.main = std::move(text);
    else if (!name.empty())
        out.named[name] = std::move(text);
}

// A template is one text, or a list of {"name", "template"}.
ChatTemplates from_json(const JsonObject& object) {
    ChatTemplates out;
    const Json& value = *object.find("chat_template");
    if (value.is_string()) {
        out.main = value.get<std::string>();
    } else if (value.is_array()) {
        for (size_t i = 0; i < value.size(); ++i) {
            const std::string field = fmt::format("chat_template[{}]", i);
            if (!value[i].is_object())
                throw FormatError(object.path(), object.field(field), describe(value[i]), "a name and a template");
            const JsonObject item(object.path(), field + ".", value[i]);
            const auto text = item.string("template");
            if (text) add_template(out, key_name(item.string("name").value_or("")), *text);
        }
    } else {
        throw FormatError(object.path(), object.field("chat_template"), describe(value),
                          "a template, or a list of them");
    }
    return out;
}

}  // namespace

ChatTemplates read_chat_templates(const std::filesystem::path& folder, const JsonObject& tokenizer_config) {
    namespace fs = std::filesystem;
    if (tokenizer_config.has("chat_template")) return from_json(tokenizer_config);
    ChatTemplates out;
    if (is_there(folder / "chat_template.jinja")) {
        out.main = read_template(folder / "chat_template.jinja");
        const fs::path more = folder / "additional_chat_templates";
        if (fs::is_directory(more))
            for (const fs::directory_entry& entry : fs::directory_iterator(more))
                if (entry.path().extension() == ".jinja")
                    add_template(out, key_name(entry.path().stem().string()), read_template(entry.path()));
    } else if (is_there(folder / "chat_template.json")) {
        const std::string path = (folder / "chat_template.json").string();
        const Json tree = read_json_object(path, kMaxTemplateBytes);
        const JsonObject object(path, "", tree);
        if (object.has("chat_template")) return from_json(object);
    }
    return out;
}

}  // namespace minfer::convert
