// The chain that a user's parameters ask for. The only place that knows how they go together.
#pragma once

#include "sampling/chain.h"
#include "sampling/params.h"
#include "sampling/sampler_vocabulary.h"

namespace minfer::sampling {

// The grammar first, which drops tokens; then bias, then the samplers of `params.samplers` that are not off, then the
// draw. Greedy leaves penalties and DRY of them, Mirostat those and the temperature. Throws what check() throws, and
// UsageError for a bias of a token outside the vocabulary. Borrows the vocabulary.
Chain make_sampler(const SamplerParams& params, const SamplerVocabulary& vocabulary);

}  // namespace minfer::sampling
