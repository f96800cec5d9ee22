#include "engine/perplexity.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/canonical_math.h"
#include "base/error.h"

namespace minfer::engine {
namespace {

constexpr size_t kFirstScored = kPerplexityChunk / 2;            // the first position whose logits count
constexpr size_t kScored = kPerplexityChunk - 1 - kFirstScored;  // the last one has nothing to predict

// The sum of the negative log-likelihoods of one chunk.
double chunk_nll(Engine& engine, std::span<const TokenId> tokens, std::optional<TokenId> bos) {
    Batch batch;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const bool scored = i >= kFirstScored && i < kFirstScored + kScored;
        batch.push_back({i == 0 && bos ? *bos : tokens[i], 0, scored});
    }
    std::vector<double> nll(kScored);
    engine.sequences().remove(0);
    engine.run(batch, [&](const Engine::Logits& logits) {
        const size_t n_vocab = engine.n_vocab();
        WorkQueue queue(logits.rows.size(), 1);
        engine.threads().parallel([&](int, int) {
            while (const WorkQueue::Piece piece = queue.next())
                for (size_t i = piece.begin; i < piece.end; ++i)
                    nll[logits.rows[i] - kFirstScored] =
                        -log_softmax(logits.values.subspan(i * n_vocab, n_vocab), tokens[logits.rows[i] + 1]);
        });
    });
    engine.sequences().remove(0);
    double sum = 0;
    for (const double x : nll) sum += x;
    return sum;
}

}  // namespace

double log_softmax(std::span<const float> logits, TokenId token) {
    const float best = *std::ranges::max_element(logits);
    double sum = 0;
    for (const float x : logits) sum += canonical_exp(double(x) - double(best));
    return double(logits[size_t(token)]) - double(best) - canonical_log(sum);
}

Perplexity perplexity(Engine& engine, std::span<const TokenId> tokens, size_t max_chunks,
                      const std::function<void(size_t done, size_t total, double value)>& on_chunk,
                      const std::function<bool()>& interrupted) {
    size_t n_chunk = tokens.size() / kPerplexityChunk;
    if (n_chunk == 0)
        throw ShapeError(fmt::format("the text has {} tokens; perplexity needs at least the {} of one chunk",
                                     tokens.size(), kPerplexityChunk));
    if (max_chunks != 0) n_chunk = std::min(n_chunk, max_chunks);
    std::optional<TokenId> bos;
    if (engine.tokenizer().adds_bos()) bos = engine.tokenizer().bos();
    Perplexity result;
    double sum = 0;
    for (size_t i = 0; i < n_chunk; ++i) {
        if (interrupted && interrupted()) {
            result.interrupted = true;
            break;
        }
        sum += chunk_nll(engine, tokens.subspan(i * kPerplexityChunk, kPerplexityChunk), bos);
        result.nll = sum / double((i + 1) * kScored);
        result.perplexity = canonical_exp(result.nll);
        result.chunks.push_back(result.perplexity);
        on_chunk(i + 1, n_chunk, result.perplexity);
    }
    return result;
}

}  // namespace minfer::engine
