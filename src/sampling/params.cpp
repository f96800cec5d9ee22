#include "sampling/params.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace minfer::sampling {
namespace {

struct Named {
    SamplerKind kind;
    std::string_view name;
};

constexpr std::array kNames = {
    Named{SamplerKind::Penalties, "penalties"},
    Named{SamplerKind::Dry, "dry"},
    Named{SamplerKind::TopNSigma, "top_n_sigma"},
    Named{SamplerKind::TopK, "top_k"},
    Named{SamplerKind::Typical, "typ_p"},
    Named{SamplerKind::TopP, "top_p"},
    Named{SamplerKind::MinP, "min_p"},
    Named{SamplerKind::Xtc, "xtc"},
    Named{SamplerKind::Temperature, "temperature"},
};

template <class T>
void require(bool holds, std::string_view name, T found, std::string_view expected) {
    if (!holds) throw UsageError(fmt::format("{}: found {}, expected {}", name, found, expected));
}

bool within(float x, float low, float high) { return x >= low && x <= high; }  // false for NaN

}  // namespace

std::vector<SamplerKind> default_samplers() {
    std::vector<SamplerKind> kinds;
    for (const Named& named : kNames) kinds.push_back(named.kind);
    return kinds;
}

std::string sampler_names(const std::vector<SamplerKind>& kinds) {
    std::string text;
    for (const SamplerKind kind : kinds) {
        if (!text.empty()) text += ';';
        text += std::ranges::find(kNames, kind, &Named::kind)->name;
    }
    return text;
}

std::vector<SamplerKind> parse_samplers(std::string_view text) {
    std::vector<SamplerKind> kinds;
    while (!text.empty()) {
        const size_t end = std::min(text.find(';'), text.size());
        const std::string_view name = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto named = std::ranges::find(kNames, name, &Named::name);
        if (named == kNames.end())
            throw UsageError(
                fmt::format("samplers: found '{}', expected names of {}", name, sampler_names(default_samplers())));
        if (std::ranges::find(kinds, named->kind) != kinds.end())
            throw UsageError(fmt::format("samplers: found '{}' twice", name));
        kinds.push_back(named->kind);
    }
    return kinds;
}

LogitBias parse_logit_bias(std::string_view text) {
    LogitBias out;
    const char* const end = text.data() + text.size();
    const auto id = std::from_chars(text.data(), end, out.token);
    const bool has_sign = id.ec == std::errc() && id.ptr != end && (*id.ptr == '+' || *id.ptr == '-');
    // The sign stays for a negative number only: from_chars takes no plus.
    const char* const number = has_sign && *id.ptr == '+' ? id.ptr + 1 : id.ptr;
    const auto bias =
        has_sign ? std::from_chars(number, end, out.bias) : std::from_chars_result{number, std::errc::invalid_argument};
    if (bias.ec != std::errc() || bias.ptr != end || *number == '+' || (number != id.ptr && *number == '-'))
        throw UsageError(fmt::format("logit bias: found '{}', expected ID+BIAS or ID-BIAS", text));
    return out;
}

void check(const SamplerParams& p) {
    constexpr float kHuge = 1e6f;
    require(within(p.temperature, 0, kHuge), "temperature", p.temperature, "0 to 1000000");
    require(within(p.dynatemp_range, 0, kHuge), "dynamic temperature range", p.dynatemp_range, "0 (off) to 1000000");
    require(within(p.dynatemp_exponent, 0, kHuge), "dynamic temperature exponent", p.dynatemp_exponent, "0 to 1000000");
    require(p.top_k >= 0, "top-k", p.top_k, "0 (off) or more");
    require(p.top_p > 0 && p.top_p <= 1, "top-p", p.top_p, "more than 0, at most 1 (off)");
    require(within(p.min_p, 0, 1), "min-p", p.min_p, "0 (off) to 1");
    require(p.typical_p > 0 && p.typical_p <= 1, "typical", p.typical_p, "more than 0, at most 1 (off)");
    require(p.top_n_sigma == -1 || within(p.top_n_sigma, 0, kHuge), "top-n-sigma", p.top_n_sigma,
            "-1 or 0 (off), or up to 1000000");
    require(within(p.xtc_probability, 0, 1), "xtc probability", p.xtc_probability, "0 (off) to 1");
    require(within(p.xtc_threshold, 0, 1), "xtc threshold", p.xtc_threshold, "0 to 1; above 0.5 is off");
    require(p.repeat_penalty > 0 && p.repeat_penalty <= kHuge, "repeat penalty", p.repeat_penalty,
            "more than 0, at most 1000000; 1 is off");
    require(within(p.frequency_penalty, -100, 100), "frequency penalty", p.frequency_penalty, "-100 to 100; 0 is off");
    require(within(p.presence_penalty, -100, 100), "presence penalty", p.presence_penalty, "-100 to 100; 0 is off");
    constexpr int kLongest = 1 << 24;
    require(p.repeat_last_n >= 0 && p.repeat_last_n <= kLongest, "repeat window", p.repeat_last_n,
            "0 (off) to 16777216");
    require(within(p.dry.multiplier, 0, kHuge), "dry multiplier", p.dry.multiplier, "0 (off) to 1000000");
    require(within(p.dry.base, 1, kHuge), "dry base", p.dry.base, "1 to 1000000");
    require(p.dry.allowed_length >= 0, "dry allowed length", p.dry.allowed_length, "0 or more");
    require(p.dry.last_n >= 0 && p.dry.last_n <= kLongest, "dry window", p.dry.last_n, "0 (off) to 16777216");
    for (const std::string& breaker : p.dry.breakers)
        if (breaker.empty()) throw UsageError("dry sequence breaker: found an empty one, expected text");
    require(p.mirostat == 0 || p.mirostat == 2, "mirostat", p.mirostat, "0 (off) or 2");
    require(within(p.mirostat_rate, 0, kHuge), "mirostat learning rate", p.mirostat_rate, "0 to 1000000");
    require(within(p.mirostat_entropy, 0, kHuge), "mirostat entropy", p.mirostat_entropy, "0 to 1000000");
    for (const LogitBias& b : p.logit_bias) {
        require(b.token >= 0, "logit bias: token", b.token, "an id of the vocabulary");
        require(std::isfinite(b.bias) || b.bias == -INFINITY, "logit bias", b.bias, "a number, or -inf");
    }
    if (!p.grammar.empty() && !p.json_schema.empty())
        throw UsageError("found a grammar and a JSON schema, expected one of them at most");
}

}  // namespace minfer::sampling
