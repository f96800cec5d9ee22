#include "engine/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "engine/stop_strings.h"

namespace minfer::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

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
          chain_(options.sampling),
          decoder_(tokenizer_, false),
          stop_(options.stop) {}

    Generation run(std::span<const TokenId> prompt) {
        check(prompt);
        for (const TokenId id : prompt) chain_.accept(id);
        result_.n_prompt = prompt.size();
        const Clock::time_point start = Clock::now();
        bool going = prefill(prompt);
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
        const size_t n_free = size_t(engine_.sequences().n_free());
        if (prompt.size() > n_free)
            throw ShapeError(
                fmt::format("the prompt of {} tokens does not fit the context of {} tokens, {} of them "
                            "free; --n-ctx makes it larger",
                            prompt.size(), engine_.n_ctx(), n_free));
    }

    bool end(StopReason reason) {
        result_.reason = reason;
        return false;
    }

    // In pieces, so that an interruption need not wait for the whole prompt.
    bool prefill(std::span<const TokenId> prompt) {
        Batch batch;
        for (size_t at = 0; at < prompt.size(); at += engine_.n_batch()) {
            if (interrupted_()) return end(StopReason::Interrupted);
            batch.clear();
            for (const TokenId id : prompt.subspan(at, std::min(engine_.n_batch(), prompt.size() - at)))
                batch.push_back({id, sequence_, false});
            batch.back().wants_logits = at + batch.size() == prompt.size();
            engine_.run(batch, [&](const Engine::Logits& logits) { next_ = chain_.sample(logits.values); });
        }
        return true;
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
        if (engine_.sequences().n_free() == 0) return end(StopReason::ContextFull);
        return true;
    }

    // Runs the last token through the model and chooses the next.
    bool step(TokenId id) {
        if (interrupted_()) return end(StopReason::Interrupted);
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
    TokenId next_ = 0;
    Generation result_;
};

}  // namespace

Generation generate(Engine& engine, SequenceId sequence, std::span<const TokenId> prompt,
                    const GenerationOptions& options, const TextSink& text, const std::function<bool()>& interrupted) {
    return Generator(engine, sequence, options, text, interrupted).run(prompt);
}

}  // namespace minfer::engine
