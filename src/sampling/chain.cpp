#include "sampling/chain.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/error.h"
#include "sampling/softmax.h"

namespace minfer::sampling {
namespace {

void require(bool holds, std::string_view name, double found, std::string_view expected) {
    if (!holds) throw UsageError(fmt::format("{}: found {}, expected {}", name, found, expected));
}

void check(const Params& p) {
    require(p.temperature >= 0 && p.temperature <= 1e6f, "temperature", p.temperature, "0 to 1000000");
    require(p.top_k >= 0, "top-k", p.top_k, "0 (off) or more");
    require(p.top_p > 0 && p.top_p <= 1, "top-p", p.top_p, "more than 0, at most 1 (off)");
    require(p.min_p >= 0 && p.min_p <= 1, "min-p", p.min_p, "0 (off) to 1");
    require(p.repeat_penalty > 0 && p.repeat_penalty <= 1e6f, "repeat penalty", p.repeat_penalty,
            "more than 0, at most 1000000; 1 is off");
    require(p.repeat_last_n >= 0, "repeat window", p.repeat_last_n, "0 (off) or more");
}

std::vector<std::unique_ptr<Sampler>> samplers_of(const Params& p) {
    check(p);
    std::vector<std::unique_ptr<Sampler>> out;
    if (p.repeat_penalty != 1.0f && p.repeat_last_n > 0)
        out.push_back(repeat_penalty(p.repeat_penalty, p.repeat_last_n));
    if (p.greedy || p.temperature == 0.0f) {
        out.push_back(temperature(0.0f));
        return out;
    }
    if (p.top_k > 0) out.push_back(top_k(p.top_k));
    if (p.top_p < 1.0f) out.push_back(top_p(p.top_p));
    if (p.min_p > 0.0f) out.push_back(min_p(p.min_p));
    out.push_back(temperature(p.temperature));
    return out;
}

}  // namespace

Chain::Chain(const Params& params) : Chain(samplers_of(params), params.seed) {}

Chain::Chain(std::vector<std::unique_ptr<Sampler>> samplers, uint64_t seed)
    : samplers_(std::move(samplers)), random_(seed) {}

int32_t Chain::sample(std::span<const float> logits) {
    candidates_.assign(logits);
    for (const std::unique_ptr<Sampler>& sampler : samplers_) sampler->apply(candidates_);
    const std::vector<Candidate>& items = candidates_.items;
    if (items.size() == 1) return items[0].id;
    const double point = random_.unit() * softmax_weights(candidates_, weights_);
    double sum = 0;
    size_t last = 0;  // the last candidate that has any weight: rounding may leave the point just past the sum
    for (size_t i = 0; i < items.size(); ++i) {
        sum += weights_[i];
        if (point < sum) return items[i].id;
        if (weights_[i] > 0) last = i;
    }
    return items[last].id;
}

void Chain::accept(int32_t token) {
    for (const std::unique_ptr<Sampler>& sampler : samplers_) sampler->accept(token);
}

}  // namespace minfer::sampling
