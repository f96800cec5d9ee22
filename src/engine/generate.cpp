#include "engine/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "engine/stop_strings.h"
#include "sampling/make_sampler.h"

namespace minfer::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double rate(size_t n, double seconds) { return seconds > 0 ? double(n) / seconds : 0.0; }

class Generator {
  public:
    Generator(Engine& engine, SequenceId sequence, const GenerationOptions& options, const TextSink& text,
              const std::function<bool()>& interrupted)
        : engine_(engine),
          tokenizer_(engine.tokenizer()),
          sequence_(sequence),
          options_(options),
          text_(text),
          interrupted_(interrupted),
          chain_(sampling::make_sampler(options.sampling, engine.sampler_vocabulary())),
          decoder_(tokenizer_, false),
          stop_(options.stop) {}

    Generation run(std::span<const TokenId> prompt) {
        check(prompt);
        for (const TokenId id : prompt) chain_.accept_prompt(id);
        result_.n_prompt = prompt.size();
        const Clock::time_point start = Clock::now();
        context_.assign(prompt.begin(), prompt.end());
        bool going = prefill(options_.n_cached, true);
        result_.prompt_seconds = seconds_since(start);
        const Clock::time_point prefilled = Clock::now();
        while (going) going = take(next_) && step(next_);
        if (result_.reason != StopReason::StopString) {
            const StopStrings::Step last = stop_.push(decoder_.flush());
            give(last.text);
            if (!last.stopped) give(stop_.flush());
        }
        result_.generation_seconds = seconds_since(prefilled);
        return std::move(result_);
    }

  private:
    void check(std::span<const TokenId> prompt) const {
        if (prompt.empty()) throw ShapeError("the prompt is empty: it has no tokens");
        for (const TokenId id : prompt)
            if (id < 0 || size_t(id) >= engine_.n_vocab())
                throw ShapeError(
                    fmt::format("token id {} is outside the vocabulary: expected 0 to {}", id, engine_.n_vocab() - 1));
        const size_t n_free = size_t(engine_.sequences().n_free());
        if (options_.n_cached >= prompt.size())
            throw ShapeError(fmt::format("{} cached tokens of a prompt of {}: the last must be computed",
                                         options_.n_cached, prompt.size()));
        if (prompt.size() - options_.n_cached > n_free)
            throw ShapeError(
                fmt::format("the prompt of {} tokens does not fit the context of {} tokens, {} of them "
                            "free; --n-ctx makes it larger",
                            prompt.size(), engine_.n_ctx(), n_free));
    }

    bool end(StopReason reason) {
        result_.reason = reason;
        return false;
    }

    // Runs the context's tokens from `first` on. In pieces, so that an interruption need not wait for all of them.
    bool prefill(size_t first, bool wants_logits) {
        Batch batch;
        for (size_t at = first; at < context_.size(); at += batch.size()) {
            if (interrupted_()) return end(StopReason::Interrupted);
            batch.clear();
            for (size_t i = at; i < std::min(at + engine_.n_batch(), context_.size()); ++i)
                batch.push_back({context_[i], sequence_, false});
            batch.back().wants_logits = wants_logits && at + batch.size() == context_.size();
            engine_.run(batch, [&](const Engine::Logits& logits) { next_ = chain_.sample(logits.values); });
            result_.n_computed += batch.size();
        }
        return true;
    }

    // Puts a shorter prompt before what has been generated; the last of that has yet to be run.
    bool make_room() {
        if (!options_.make_room) return end(StopReason::ContextFull);
        std::optional<std::vector<TokenId>> shorter = options_.make_room(result_.tokens.size());
        if (!shorter) return end(StopReason::ContextFull);
        shorter->insert(shorter->end(), result_.tokens.begin(), result_.tokens.end() - 1);
        if (shorter->size() >= context_.size()) return end(StopReason::ContextFull);
        const size_t n_common = size_t(std::ranges::mismatch(*shorter, context_).in1 - shorter->begin());
        engine_.sequences().truncate(sequence_, int32_t(n_common));
        context_ = std::move(*shorter);
        return prefill(n_common, false);
    }

    // Makes a token part of the text. Gives false where it ends the generation.
    bool take(TokenId id) {
        result_.tokens.push_back(id);
        chain_.accept(id);
        if (!options_.ignore_eos && tokenizer_.is_end_of_generation(id)) return end(StopReason::EndOfText);
        const StopStrings::Step out = stop_.push(decoder_.push(id));
        give(out.text);
        if (out.stopped) return end(StopReason::StopString);
        if (options_.n_predict != 0 && result_.tokens.size() >= options_.n_predict) return end(StopReason::Length);
        return engine_.sequences().n_free() > 0 || make_room();
    }

    // Runs the last token through the model and chooses the next.
    bool step(TokenId id) {
        if (interrupted_()) return end(StopReason::Interrupted);
        context_.push_back(id);
        batch_ = {{id, sequence_, true}};
        engine_.run(batch_, [&](const Engine::Logits& logits) { next_ = chain_.sample(logits.values); });
        return true;
    }

    void give(const std::string& text) {
        if (!text.empty()) text_(text);
    }

    Engine& engine_;
    const tokenizer::Tokenizer& tokenizer_;
    SequenceId sequence_;
    const GenerationOptions& options_;
    const TextSink& text_;
    const std::function<bool()>& interrupted_;
    sampling::Chain chain_;
    tokenizer::StreamDecoder decoder_;
    StopStrings stop_;
    Batch batch_;
    std::vector<TokenId> context_;  // what the sequence holds, or is about to
    TokenId next_ = 0;
    Generation result_;
};

}  // namespace

double Generation::prompt_rate() const { return rate(n_computed, prompt_seconds); }

// The first token costs no pass of its own: its logits are the prompt's.
double Generation::generation_rate() const { return rate(tokens.empty() ? 0 : tokens.size() - 1, generation_seconds); }

Generation generate(Engine& engine, SequenceId sequence, std::span<const TokenId> prompt,
                    const GenerationOptions& options, const TextSink& text, const std::function<bool()>& interrupted) {
    return Generator(engine, sequence, options, text, interrupted).run(prompt);
}

}  // namespace minfer::engine
