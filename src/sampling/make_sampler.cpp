#include "sampling/make_sampler.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace minfer::sampling {
namespace {

// Null where the sampler is off.
std::unique_ptr<Sampler> sampler(SamplerKind kind, const SamplerParams& p, const tokenizer::Tokenizer& tokenizer) {
    const bool truncates = !p.greedy && p.mirostat == 0;
    switch (kind) {
        case SamplerKind::Penalties: {
            const bool off = p.repeat_penalty == 1 && p.frequency_penalty == 0 && p.presence_penalty == 0;
            if (off || p.repeat_last_n == 0) return nullptr;
            return penalties(p.repeat_last_n, p.repeat_penalty, p.frequency_penalty, p.presence_penalty);
        }
        case SamplerKind::Dry:
            return p.dry.multiplier > 0 && p.dry.last_n > 0 ? dry(p.dry, tokenizer) : nullptr;
        case SamplerKind::TopNSigma:
            return truncates && p.top_n_sigma > 0 ? top_n_sigma(p.top_n_sigma) : nullptr;
        case SamplerKind::TopK:
            return truncates && p.top_k > 0 ? top_k(p.top_k) : nullptr;
        case SamplerKind::Typical:
            return truncates && p.typical_p < 1 ? typical(p.typical_p) : nullptr;
        case SamplerKind::TopP:
            return truncates && p.top_p < 1 ? top_p(p.top_p) : nullptr;
        case SamplerKind::MinP:
            return truncates && p.min_p > 0 ? min_p(p.min_p) : nullptr;
        case SamplerKind::Xtc:
            return truncates && p.xtc_probability > 0 ? xtc(p.xtc_probability, p.xtc_threshold, p.seed) : nullptr;
        case SamplerKind::Temperature:
            if (p.greedy) return nullptr;
            if (p.dynatemp_range > 0) return dynamic_temperature(p.temperature, p.dynatemp_range, p.dynatemp_exponent);
            return p.temperature != 1 ? temperature(p.temperature) : nullptr;
    }
    return nullptr;
}

}  // namespace

Chain make_sampler(const SamplerParams& p, const SamplerVocabulary& vocabulary) {
    check(p);
    const size_t n_vocab = vocabulary.tokenizer().n_vocab();
    for (const LogitBias& b : p.logit_bias)
        if (size_t(b.token) >= n_vocab)
            throw UsageError(fmt::format("logit bias: found token {}, expected 0 to {}", b.token, n_vocab - 1));
    std::vector<std::unique_ptr<Sampler>> samplers;
    if (!p.logit_bias.empty()) samplers.push_back(logit_bias(p.logit_bias));
    for (const SamplerKind kind : p.samplers)
        if (std::unique_ptr<Sampler> made = sampler(kind, p, vocabulary.tokenizer()))
            samplers.push_back(std::move(made));
    if (p.greedy)
        samplers.push_back(temperature(0));
    else if (p.mirostat == 2)
        samplers.push_back(mirostat(p.mirostat_entropy, p.mirostat_rate));
    std::unique_ptr<grammar::Constraint> constraint;
    if (std::shared_ptr<grammar::TokenMasks> masks = vocabulary.masks(p))
        constraint = std::make_unique<grammar::Constraint>(std::move(masks), vocabulary.tokenizer());
    return Chain(std::move(samplers), p.seed, std::move(constraint));
}

}  // namespace minfer::sampling
