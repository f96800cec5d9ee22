#include "cli/sampling_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <random>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cli/not_empty.h"
#include "cli/read_input.h"

namespace minfer::cli {
namespace {

template <class T>
void add(CLI::App& app, const char* names, T& value, const char* type, const char* description) {
    app.add_option(names, value, description)->capture_default_str()->type_name(type);
}

void add_strings(CLI::App& app, const char* names, std::vector<std::string>& values, const char* type,
                 const char* description) {
    app.add_option(names, values, description)->expected(1)->take_all()->type_name(type);
}

// "\\n", "\\t" and "\\\\" as shells hand them on: a newline, a tab, a backslash.
std::string unescape(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
        if (next == 'n' || next == 't' || next == '\\') {
            out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

// CLI11 takes whatever does not fit for the largest number, and a negative one for one near it.
std::string is_seed(const std::string& text) {
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
    if (error == std::errc() && end == text.data() + text.size()) return {};
    return fmt::format("found '{}', expected 0 to {}; without it the seed is a random one", text,
                       std::numeric_limits<uint64_t>::max());
}

std::string some(std::string text, const std::string& path) {
    if (text.empty()) throw Error(path + ": the file is empty");
    return text;
}

}  // namespace

void SamplingOptions::declare(CLI::App& app) {
    sampling::SamplerParams& p = params_;
    app.add_flag("--greedy", p.greedy, "Always take the most likely token");
    add(app, "--temp,--temperature", p.temperature, "F", "Temperature; 0 is greedy");
    add(app, "--top-k", p.top_k, "N", "Draw among the N best tokens; 0: all");
    add(app, "--top-p", p.top_p, "F", "Draw among the best tokens that have this probability together; 1: all");
    add(app, "--min-p", p.min_p, "F", "Draw among tokens at least this likely relative to the best; 0: all");
    add(app, "--typical,--typical-p", p.typical_p, "F",
        "Draw among the tokens of most typical surprise that have this probability together; 1: all");
    add(app, "--top-n-sigma,--top-nsigma", p.top_n_sigma, "F",
        "Draw among tokens whose logit is at most N standard deviations below the best; -1: all");
    add(app, "--xtc-probability", p.xtc_probability, "F",
        "Probability to leave out all but the last of the tokens above the XTC threshold; 0: off");
    add(app, "--xtc-threshold", p.xtc_threshold, "F", "Probability from which on a token is a top choice for XTC");
    add(app, "--dynatemp-range", p.dynatemp_range, "F",
        "The temperature follows the entropy, within this range; 0: off");
    add(app, "--dynatemp-exp", p.dynatemp_exponent, "F", "Exponent of the entropy in the temperature");
    add(app, "--repeat-penalty", p.repeat_penalty, "F", "Make recent tokens less likely by this factor; 1: off");
    add(app, "--frequency-penalty", p.frequency_penalty, "F", "Take this off a logit for each time it came; 0: off");
    add(app, "--presence-penalty", p.presence_penalty, "F", "Take this off a logit that came at all; 0: off");
    add(app, "--repeat-last-n", p.repeat_last_n, "N", "Tokens that the three penalties look back; 0: off");
    add(app, "--dry-multiplier", p.dry.multiplier, "F", "Penalty of a token that goes on with a repetition; 0: off");
    add(app, "--dry-base", p.dry.base, "F", "The penalty grows by this factor with each token repeated");
    add(app, "--dry-allowed-length", p.dry.allowed_length, "N", "Repetitions up to this length cost nothing");
    add(app, "--dry-penalty-last-n", p.dry.last_n, "N", "Tokens that DRY looks back; 0: off");
    add_strings(app, "--dry-sequence-breaker", dry_breakers_, "TEXT",
                "Repetitions do not reach over this text; replaces newline, ':', '\"' and '*'; 'none': no breakers");
    add(app, "--mirostat", p.mirostat, "N", "2: hold the surprise at --mirostat-ent in place of truncation; 0: off");
    add(app, "--mirostat-lr", p.mirostat_rate, "F", "Learning rate of Mirostat");
    add(app, "--mirostat-ent", p.mirostat_entropy, "F", "Surprise that Mirostat holds, in bits");
    add_strings(app, "-l,--logit-bias", logit_biases_, "ID(+|-)F",
                "Add to the logit of a token; 15043-inf: never this token; may be given more than once");
    app.add_option("--samplers", samplers_, "Samplers in their order, separated by semicolons")
        ->check(not_empty)
        ->capture_default_str()
        ->type_name("NAMES");
    auto* grammar =
        app.add_option("--grammar", grammar_, "A grammar in GBNF that the text keeps to")->type_name("TEXT");
    auto* grammar_file = app.add_option("--grammar-file", grammar_file_, "The same, from a file")->type_name("FILE");
    auto* schema =
        app.add_option("-j,--json-schema", schema_,
                       "A JSON schema that the text, which is JSON then, is valid under: a file, or the schema itself "
                       "where it starts with '{'")
            ->type_name("FILE|JSON");
    auto* schema_file = app.add_option("--json-schema-file", schema_file_, "The same, from a file")->type_name("FILE");
    for (CLI::Option* one : {grammar, grammar_file, schema, schema_file}) {
        one->check(not_empty);
        for (CLI::Option* other : {grammar, grammar_file, schema, schema_file})
            if (one != other) one->excludes(other);
    }
    app.add_option("-s,--seed", seed_, "Of the draws: the same seed gives the same text; default: a random one")
        ->check(is_seed)
        ->type_name("N");
}

bool SamplingOptions::forget_constraint(std::string_view name) {
    if (name != "grammar" && name != "grammar-file" && name != "json-schema" && name != "json-schema-file")
        return false;
    for (std::string* one : {&grammar_, &grammar_file_, &schema_, &schema_file_}) one->clear();
    return true;
}

bool SamplingOptions::forget(std::string_view name) {
    if (forget_constraint(name)) return true;
    for (const auto& [list_name, list] :
         {std::pair("logit-bias", &logit_biases_), std::pair("dry-sequence-breaker", &dry_breakers_)})
        if (name == list_name) {
            list->clear();
            return true;
        }
    return false;
}

sampling::SamplerParams SamplingOptions::params() const {
    sampling::SamplerParams p = params_;
    p.samplers = sampling::parse_samplers(samplers_);
    for (const std::string& text : logit_biases_) p.logit_bias.push_back(sampling::parse_logit_bias(text));
    if (!dry_breakers_.empty()) p.dry.breakers.clear();
    for (const std::string& text : dry_breakers_)
        if (text != "none") p.dry.breakers.push_back(unescape(text));
    const bool in_place = schema_.starts_with('{');
    const std::string schema_file = in_place ? "" : schema_ + schema_file_;  // one of them at most is given
    p.grammar = grammar_file_.empty() ? grammar_ : some(read_whole_file(grammar_file_), grammar_file_);
    p.json_schema = in_place ? schema_ : schema_file.empty() ? "" : some(read_whole_file(schema_file), schema_file);
    p.seed = seed_ ? *seed_ : uint64_t(std::random_device()()) << 32 | std::random_device()();
    sampling::check(p);
    return p;
}

}  // namespace minfer::cli
