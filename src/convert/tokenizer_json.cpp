#include "convert/tokenizer_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "gguf/value.h"

namespace minfer::convert {
namespace {

namespace ondemand = simdjson::ondemand;

// Ids above this are not believed; the largest vocabularies have 262,144 tokens.
constexpr uint64_t kMaxId = (1 << 24) - 1;
constexpr std::string_view kSpace = "\u0120";  // how the byte-level alphabet writes a space

// Which texts there are; borrows them. Merges ask it three times each, some 800,000 times for a real file, which a
// table in one piece answers in half the time of std::unordered_set.
class TextSet {
  public:
    explicit TextSet(size_t n) : slots_(std::bit_ceil(2 * n + 1)) {}

    // Whether it is new.
    bool insert(std::string_view text) {
        Slot& slot = slots_[place_of(text)];
        if (slot.text.data()) return false;
        slot = {text, hash_of(text)};
        return true;
    }
    bool contains(std::string_view text) const { return slots_[place_of(text)].text.data() != nullptr; }

  private:
    struct Slot {
        std::string_view text;  // no data where the slot is free
        size_t hash = 0;
    };

    static size_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

    // Where the text is, or the free slot where it would be. At most half of the slots are in use.
    size_t place_of(std::string_view text) const {
        const size_t hash = hash_of(text), mask = slots_.size() - 1;
        size_t at = hash & mask;
        while (slots_[at].text.data() && (slots_[at].hash != hash || slots_[at].text != text)) at = (at + 1) & mask;
        return at;
    }

    std::vector<Slot> slots_;
};

class Parser {
  public:
    Parser(std::string_view text, const std::string& path) : text_(text), path_(path) { out_.path = path; }

    TokenizerJson parse() {
        try {
            ondemand::parser parser;
            ondemand::document document =
                parser.iterate(text_.data(), text_.size(), text_.size() + simdjson::SIMDJSON_PADDING);
            read_top(document.get_object());
            const bool at_end = document.current_location().error() != simdjson::SUCCESS;
            if (!at_end) fail("end", "more text", "one JSON object");
        } catch (const simdjson::simdjson_error& e) {
            fail(where_,
                 e.error() == simdjson::INCORRECT_TYPE ? "a value of another kind"
                                                       : fmt::format("JSON that does not parse ({})", e.what()),
                 "what `tokenizers` writes");
        }
        if (!seen_.contains("model")) fail("model", "no such key", "an object");
        check_tokens();
        return std::move(out_);
    }

  private:
    [[noreturn]] void fail(std::string field, std::string found, std::string expected) const {
        throw FormatError(path_, std::move(field), std::move(found), std::move(expected));
    }

    void read_top(ondemand::object top) {
        for (ondemand::field field : top) {
            const std::string_view key = field.unescaped_key();
            where_ = std::string(key);
            if (!seen_.insert(where_).second) fail(where_, "it twice", "it once");
            if (key == "model") {
                read_model(field.value().get_object());
            } else if (key == "added_tokens") {
                if (!field.value().is_null()) read_added_tokens(field.value().get_array());
            } else if (key == "normalizer") {
                out_.normalizer = small_tree(field.value());
            } else if (key == "pre_tokenizer") {
                out_.pre_tokenizer = small_tree(field.value());
            } else if (key == "post_processor") {
                out_.post_processor = small_tree(field.value());
            } else if (key == "decoder") {
                out_.decoder = small_tree(field.value());
            } else {
                check_json(field.value());
            }
        }
    }

    // Parts of a few kilobytes go to nlohmann's tree, which is easier to ask.
    Json small_tree(ondemand::value value) {
        constexpr size_t kMaxBytes = 1 << 20;
        const std::string_view raw = simdjson::to_json_string(value);
        if (raw.size() > kMaxBytes)
            fail(where_, fmt::format("{} bytes", raw.size()), fmt::format("at most {}", kMaxBytes));
        return parse_json(raw, path_);
    }

    // simdjson passes over a value that nobody reads without a look inside.
    void check_json(ondemand::value value) { static_cast<void>(small_tree(value)); }

    void read_model(ondemand::object model) {
        out_.model = Json::object();
        for (ondemand::field field : model) {
            const std::string key(std::string_view(field.unescaped_key()));
            where_ = "model." + key;
            if (!seen_.insert(where_).second) fail(where_, "it twice", "it once");
            if (key == "vocab") {
                read_vocab(field.value());
            } else if (key == "merges") {
                read_merges(field.value().get_array());
            } else {
                out_.model[key] = small_tree(field.value());
            }
        }
    }

    // A list (of pairs, in models of another type than BPE) is passed over: the type is what a message should name.
    void read_vocab(ondemand::value value) {
        if (value.type() != ondemand::json_type::object) {
            static_cast<void>(std::string_view(simdjson::to_json_string(value)));
            return;
        }
        for (ondemand::field entry : value.get_object()) {
            const std::string_view token = entry.unescaped_key();
            uint64_t id = 0;
            if (entry.value().get_uint64().get(id) || id > kMaxId)
                fail("model.vocab: token " + gguf::in_quotes(token), "another value",
                     fmt::format("an id from 0 to {}", kMaxId));
            out_.vocab.push_back({std::string(token), uint32_t(id)});
        }
    }

    void read_merges(ondemand::array merges) {
        for (ondemand::value merge : merges) {
            std::string joined;
            if (merge.type() == ondemand::json_type::string) {
                joined = std::string_view(merge.get_string());
                const size_t space = joined.find(' ');
                if (space == std::string::npos || space == 0 || space + 1 == joined.size() ||
                    joined.find(' ', space + 1) != std::string::npos)
                    fail_merge("a string without one space inside");
            } else {
                size_t n_parts = 0;
                for (ondemand::value part : merge.get_array()) {
                    if (++n_parts == 2) joined += ' ';
                    append_part(joined, part.get_string());
                }
                if (n_parts != 2) fail_merge(fmt::format("a list of {}", n_parts));
            }
            out_.merges.push_back(std::move(joined));
        }
    }

    [[noreturn]] void fail_merge(std::string found) const {
        fail(fmt::format("model.merges: number {}", out_.merges.size()), std::move(found),
             "two tokens: a list of two strings, or one string with a space between");
    }

    void append_part(std::string& joined, std::string_view part) const {
        if (part.empty()) fail_merge("an empty token");
        for (const char c : part) {
            if (c == ' ')
                joined += kSpace;
            else
                joined += c;
        }
    }

    void read_added_tokens(ondemand::array tokens) {
        for (ondemand::object token : tokens) {
            const std::string number = fmt::format("added_tokens: number {}", out_.added_tokens.size());
            AddedToken added;
            std::optional<uint64_t> id;
            std::optional<std::string> content;
            for (ondemand::field field : token) {
                const std::string_view key = field.unescaped_key();
                if (key == "id")
                    id = field.value().get_uint64();
                else if (key == "content")
                    content = std::string_view(field.value().get_string());
                else if (key == "special")
                    added.special = field.value().get_bool();
                else
                    check_json(field.value());
            }
            if (!id || !content || content->empty() || *id > kMaxId)
                fail(number, "no id or no content", fmt::format("an id from 0 to {} and a content", kMaxId));
            added.id = uint32_t(*id);
            added.content = *std::move(content);
            out_.added_tokens.push_back(std::move(added));
        }
    }

    // An id that two tokens have, or a token with two ids, has no place in GGUF's list of tokens.
    void check_tokens() const {
        TextSet tokens(out_.vocab.size());
        std::vector<bool> used;
        for (const VocabEntry& entry : out_.vocab) {
            check_text("model.vocab", entry.token);
            if (!tokens.insert(entry.token))
                fail("model.vocab: token " + gguf::in_quotes(entry.token), "it twice", "each token once");
            claim(used, entry.id, "model.vocab", entry.token);
        }
        check_merges(tokens);
        used.clear();
        std::unordered_set<std::string_view> contents;
        for (const AddedToken& added : out_.added_tokens) {
            check_text("added_tokens", added.content);
            if (!contents.insert(added.content).second)
                fail("added_tokens: " + gguf::in_quotes(added.content), "it twice", "each token once");
            claim(used, added.id, "added_tokens", added.content);
        }
    }

    // Neither has a spelling: programs in C take a zero byte for the end, and an empty token stands everywhere.
    void check_text(std::string_view list, std::string_view token) const {
        if (token.empty()) fail(fmt::format("{}: token ''", list), "an empty token", "a text");
        if (token.find('\0') != std::string_view::npos)
            fail(fmt::format("{}: token {}", list, gguf::in_quotes(token)), "a token with a zero byte", "a text");
    }

    // `tokenizers` refuses these, and so does the engine.
    void check_merges(const TextSet& tokens) const {
        const auto lacking =
            find_merge_token(out_.merges, [&](std::string_view token) { return !tokens.contains(token); });
        if (lacking)
            fail(fmt::format("model.merges: number {}", lacking->merge), gguf::in_quotes(lacking->token),
                 "tokens of model.vocab");
    }

    void claim(std::vector<bool>& used, uint32_t id, std::string_view list, std::string_view token) const {
        if (id >= used.size()) used.resize(std::max<size_t>(size_t(id) + 1, 2 * used.size()));
        if (used[id])
            fail(fmt::format("{}: token {}", list, gguf::in_quotes(token)), fmt::format("id {} again", id),
                 "each id once");
        used[id] = true;
    }

    std::string_view text_;
    const std::string& path_;
    TokenizerJson out_;
    std::set<std::string> seen_;  // keys of the file, and those of the model with "model." before them
    std::string where_ = "top level";
};

}  // namespace

TokenizerJson parse_tokenizer_json(std::string_view text, const std::string& path) {
    return Parser(text, path).parse();
}

TokenizerJson read_tokenizer_json(const std::string& path) {
    const File file = File::open(path);
    if (file.size() > kMaxTokenizerBytes)
        throw FormatError(path, "size", fmt::format("{} bytes", file.size()),
                          fmt::format("at most {}", kMaxTokenizerBytes));
    const size_t size = size_t(file.size());
    std::string text;
    text.reserve(size + simdjson::SIMDJSON_PADDING);
    text.resize(size);
    file.pread_exact(0, std::as_writable_bytes(std::span(text)));
    return parse_tokenizer_json({text.data(), size}, path);
}

}  // namespace minfer::convert
