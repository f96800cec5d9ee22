// Which of the pre-tokenizers that GGUF files name a tokenizer.json describes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "convert/tokenizer_json.h"

namespace minfer::convert {
namespace {

// A pre-tokenizer is known by its steps before the bytes are mapped, the normalizer before it, and by whether the model
// takes a word that is in the vocabulary whole. The expressions are the ones that the models' own files have.
struct KnownTokenizer {
    std::string_view name;
    std::string_view split;       // the expression of its Split step; empty for none
    bool digits;                  // a Digits step that makes each digit a word
    bool byte_level_regex;        // ByteLevel splits with GPT-2's expression
    std::string_view normalizer;  // empty for none
    bool ignore_merges;
};
constexpr std::array<KnownTokenizer, 4> kKnownTokenizers = {{
    {"qwen2",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     false, false, "NFC", false},
    {"llama-bpe",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     false, false, "", true},
    {"smollm", "", true, true, "", false},
    {"gpt-2", "", false, true, "", false},
}};

std::string type_of(const Json& step) {
    if (!step.is_object()) return describe(step);
    const auto type = step.find("type");
    return type != step.end() && type->is_string() ? type->get<std::string>() : "an object without a type";
}

// The steps of a Sequence, nested ones in their place; a single step is a sequence of one, null one of none. What is
// nested deeper than any real file stays a step of its own, which nobody knows.
void flatten(const Json& step, std::string_view list_key, std::vector<const Json*>& out, int depth = 0) {
    constexpr int kMaxDepth = 8;
    if (step.is_null()) return;
    const auto list = step.is_object() ? step.find(list_key) : step.end();
    if (depth < kMaxDepth && type_of(step) == "Sequence" && list != step.end() && list->is_array()) {
        for (const Json& inner : *list) flatten(inner, list_key, out, depth + 1);
    } else {
        out.push_back(&step);
    }
}

// What pre_tokenizer says, in the terms of KnownTokenizer.
struct Steps {
    std::string split;
    bool digits = false;
    bool byte_level_regex = false;
};

class Reader {
  public:
    explicit Reader(const TokenizerJson& tokenizer) : tokenizer_(tokenizer) {}

    std::string_view name() const {
        check_model();
        const Steps steps = read_steps();
        const std::string normalizer = read_normalizer();
        const bool ignore_merges = flag(tokenizer_.model, "ignore_merges", false);
        std::optional<std::string_view> near;  // one that differs only in what stands around the pre-tokenizer
        for (const KnownTokenizer& known : kKnownTokenizers) {
            if (known.split != steps.split || known.digits != steps.digits ||
                known.byte_level_regex != steps.byte_level_regex)
                continue;
            if (known.normalizer == normalizer && known.ignore_merges == ignore_merges) return known.name;
            near = known.name;
        }
        if (near)
            refuse(fmt::format("has the pre-tokenizer of {} with the normalizer {} and ignore_merges {}", *near,
                               normalizer.empty() ? "null" : normalizer, ignore_merges));
        refuse(fmt::format("has an unknown pre-tokenizer: Split '{}'{}, ByteLevel with use_regex {}", steps.split,
                           steps.digits ? ", Digits" : "", steps.byte_level_regex));
    }

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        std::vector<std::string_view> names;
        for (const KnownTokenizer& known : kKnownTokenizers) names.push_back(known.name);
        throw UnsupportedError(fmt::format("{} {}; minfer converts byte-level BPE with the pre-tokenizers {} only",
                                           tokenizer_.path, what, fmt::join(names, ", ")));
    }

    bool flag(const Json& step, std::string_view key, bool otherwise) const {
        return JsonObject(tokenizer_.path, type_of(step) + ".", step).boolean(key).value_or(otherwise);
    }

    void check_model() const {
        const Json& model = tokenizer_.model;
        if (const std::string type = type_of(model); type != "BPE") refuse(fmt::format("has a model of type {}", type));
        if (flag(model, "byte_fallback", false)) refuse("has a BPE model with byte_fallback, which is not byte-level");
        for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
            const auto at = model.find(key);
            const bool absent = at == model.end() || at->is_null();
            if (!absent && !(at->is_string() && at->get_ref<const std::string&>().empty()))
                refuse(fmt::format("has a BPE model with {} {}", key, describe(*at)));
        }
        const auto dropout = model.find("dropout");
        if (dropout != model.end() && !dropout->is_null() && *dropout != 0.0)
            refuse("has a BPE model with dropout, which is random");
        if (type_of(tokenizer_.decoder) != "ByteLevel")
            refuse(fmt::format("has the decoder {}", type_of(tokenizer_.decoder)));
        if (tokenizer_.vocab.empty())
            throw FormatError(tokenizer_.path, "model.vocab", "no tokens", "an object of ids");
        if (tokenizer_.merges.empty()) throw FormatError(tokenizer_.path, "model.merges", "none", "a list of pairs");
    }

    Steps read_steps() const {
        std::vector<const Json*> list;
        flatten(tokenizer_.pre_tokenizer, "pretokenizers", list);
        if (list.empty() || type_of(*list.back()) != "ByteLevel")
            refuse(fmt::format("has the pre-tokenizer {}, which does not end in ByteLevel",
                               list.empty() ? "null" : type_of(*list.back())));
        Steps steps;
        for (const Json* step : list) {
            const std::string type = type_of(*step);
            if (type == "ByteLevel" && step == list.back()) {
                if (flag(*step, "add_prefix_space", true)) refuse("has a ByteLevel step with add_prefix_space");
                steps.byte_level_regex = flag(*step, "use_regex", true);
            } else if (type == "Split" && steps.split.empty() && !steps.digits) {
                steps.split = read_split(*step);
            } else if (type == "Digits" && !steps.digits && steps.split.empty()) {
                if (!flag(*step, "individual_digits", false)) refuse("has a Digits step that keeps digits together");
                steps.digits = true;
            } else {
                refuse(fmt::format("has the pre-tokenizer step {}", type));
            }
        }
        return steps;
    }

    std::string read_split(const Json& step) const {
        const auto pattern = step.find("pattern");
        const auto behavior = step.find("behavior");
        const Json* regex = nullptr;
        if (pattern != step.end() && pattern->is_object()) {
            const auto at = pattern->find("Regex");
            if (at != pattern->end() && at->is_string()) regex = &*at;
        }
        if (!regex) refuse("has a Split step without an expression");
        if (behavior == step.end() || *behavior != "Isolated" || flag(step, "invert", false))
            refuse("has a Split step that does not isolate its matches");
        return regex->get<std::string>();
    }

    std::string read_normalizer() const {
        std::vector<const Json*> list;
        flatten(tokenizer_.normalizer, "normalizers", list);
        std::vector<std::string> names;
        for (const Json* step : list) names.push_back(type_of(*step));
        return fmt::format("{}", fmt::join(names, "+"));
    }

    const TokenizerJson& tokenizer_;
};

}  // namespace

std::string_view TokenizerJson::pre_tokenizer_name() const { return Reader(*this).name(); }

}  // namespace minfer::convert
