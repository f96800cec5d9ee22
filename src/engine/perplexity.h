// How well a model predicts a text. The chunking is llama.cpp's: pieces of 512 tokens, each from an empty context, in
// which the tokens of the second half are scored.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace minfer::engine {

constexpr size_t kPerplexityChunk = 512;

struct Perplexity {
    double nll = 0;              // mean negative log-likelihood a scored token, in nats
    double perplexity = 0;       // exp(nll)
    std::vector<double> chunks;  // the perplexity of all chunks up to each
    bool interrupted = false;    // and so of fewer chunks than were asked for
};

// Tokens that have logits to be scored by: positions 256 to 510 of a chunk predict 257 to 511. Where the model wants a
// BOS, it takes the place of each chunk's first token. Log-softmax in double with the exp and log of docs/numerics.md,
// summed in the text's order, so that the result has the same bits on any machine. At most `max_chunks`, 0 for all.
// `on_chunk` is told how many are done, of how many, and the running value. `interrupted`, where there is one, is asked
// before each chunk and ends the measurement cleanly. `engine` has room for a chunk; its sequence 0 is used and left
// empty. Throws ShapeError for a text of less than one chunk.
Perplexity perplexity(Engine& engine, std::span<const TokenId> tokens, size_t max_chunks,
                      const std::function<void(size_t done, size_t total, double value)>& on_chunk,
                      const std::function<bool()>& interrupted = {});

// ln softmax(logits)[token]; of one row of [n_vocab].
double log_softmax(std::span<const float> logits, TokenId token);

}  // namespace minfer::engine
