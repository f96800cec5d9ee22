// What a user may ask of sampling. The defaults are llama.cpp's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minfer::sampling {

enum class SamplerKind : uint8_t { Penalties, Dry, TopNSigma, TopK, Typical, TopP, MinP, Xtc, Temperature };

// "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature": llama.cpp's names. Throws UsageError for another
// name, listing these, and for a name that comes twice. Empty text means no sampler: a draw among all tokens.
std::vector<SamplerKind> parse_samplers(std::string_view text);
std::string sampler_names(const std::vector<SamplerKind>& kinds);
std::vector<SamplerKind> default_samplers();

struct LogitBias {
    int32_t token = 0;
    float bias = 0;  // finite, or -infinity: never this token
};

// "15043+1.5", "15043-1", "15043-inf". Throws UsageError.
LogitBias parse_logit_bias(std::string_view text);

struct DryParams {
    float multiplier = 0.0f;  // >= 0; 0 is off
    float base = 1.75f;       // >= 1
    int allowed_length = 2;   // >= 0: repetitions up to this length cost nothing
    int last_n = 64;          // >= 0: how many tokens back repetitions are looked for; 0 is off
    // A repetition does not reach over a token that holds one of these, nor over tokens that spell one together.
    std::vector<std::string> breakers = {"\n", ":", "\"", "*"};
};

struct SamplerParams {
    bool greedy = false;             // the largest logit, after bias, grammar, penalties and DRY; nothing is drawn
    float temperature = 0.8f;        // >= 0; 0 keeps the best token
    float dynatemp_range = 0.0f;     // >= 0; 0 is off
    float dynatemp_exponent = 1.0f;  // >= 0
    int top_k = 40;                  // >= 0; 0 is off
    float top_p = 0.95f;             // in (0, 1]; 1 is off
    float min_p = 0.05f;             // in [0, 1]; 0 is off
    float typical_p = 1.0f;          // in (0, 1]; 1 is off
    float top_n_sigma = -1.0f;       // -1 or 0: off
    float xtc_probability = 0.0f;    // in [0, 1]; 0 is off
    float xtc_threshold = 0.1f;      // in [0, 1]; above 0.5 nothing is excluded
    float repeat_penalty = 1.0f;     // > 0; 1 is off
    float frequency_penalty = 0.0f;  // -100 to 100; 0 is off
    float presence_penalty = 0.0f;   // -100 to 100; 0 is off
    int repeat_last_n = 64;          // >= 0: how many tokens back the three penalties look
    DryParams dry = {};
    int mirostat = 0;               // 0 (off) or 2; then top_k, top_p, min_p, typ_p, top_n_sigma and xtc do not run
    float mirostat_rate = 0.1f;     // >= 0: eta
    float mirostat_entropy = 5.0f;  // >= 0, in bits: tau
    std::vector<LogitBias> logit_bias = {};
    std::vector<SamplerKind> samplers = default_samplers();
    std::string grammar = {};      // GBNF; empty: none
    std::string json_schema = {};  // JSON; empty: none. Not together with a grammar
    uint64_t seed = 0;
};

// Throws UsageError, naming the parameter, what was found and its range.
void check(const SamplerParams& params);

}  // namespace minfer::sampling
