#include "sampling/chain.h"

#include <utility>

#include "base/error.h"
#include "sampling/softmax.h"

namespace minfer::sampling {

Chain::Chain(std::vector<std::unique_ptr<Sampler>> samplers, uint64_t seed,
             std::unique_ptr<grammar::Constraint> constraint)
    : samplers_(std::move(samplers)), constraint_(std::move(constraint)), random_(seed) {}

int32_t Chain::sample(std::span<const float> logits) {
    if (constraint_)
        candidates_.assign(logits, constraint_->allowed());
    else
        candidates_.assign(logits);
    if (candidates_.items.empty()) throw Error("grammar: no token of the vocabulary goes on from here");
    for (const std::unique_ptr<Sampler>& sampler : samplers_) sampler->apply(candidates_);
    return draw();
}

int32_t Chain::draw() {
    const std::vector<Candidate>& items = candidates_.items;
    size_t drawn = 0;
    double probability = 1;
    if (items.size() > 1) {
        const double total = softmax_weights(candidates_, weights_);
        const double point = random_.unit() * total;
        double sum = 0;
        for (size_t i = 0; i < items.size(); ++i) {
            sum += weights_[i];
            if (weights_[i] > 0) drawn = i;  // rounding may leave the point just past the sum: the last with any weight
            if (point < sum) break;
        }
        probability = weights_[drawn] / total;
    }
    for (const std::unique_ptr<Sampler>& sampler : samplers_) sampler->drawn(probability);
    return items[drawn].id;
}

void Chain::accept_prompt(int32_t token) {
    for (const std::unique_ptr<Sampler>& sampler : samplers_) sampler->accept(token);
}

void Chain::accept(int32_t token) {
    if (constraint_) constraint_->accept(token);
    for (const std::unique_ptr<Sampler>& sampler : samplers_) sampler->accept(token);
}

void Chain::restart_grammar() {
    if (constraint_) constraint_->restart();
}

}  // namespace minfer::sampling
