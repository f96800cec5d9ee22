#include "engine/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tokenizer/utf8.h"

namespace minfer::engine {

namespace {

size_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
    return size_t(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

Conversation::Conversation(Engine& engine, SequenceId sequence, Encode encode)
    : engine_(engine), sequence_(sequence), encode_(std::move(encode)) {}

// Leaves turns out, oldest first, until prompt and reply take three quarters of the context at most, or only the last
// turn is left. Gives false, changing nothing, where that makes no room.
bool Conversation::drop_turns(size_t n_generated, std::vector<TokenId>& prompt, const Listener& listener) {
    const size_t n_ctx = engine_.n_ctx(), before = transcript_.n_dropped;
    std::vector<TokenId> shorter;
    do {
        if (transcript_.n_dropped + 1 >= transcript_.turns.size()) break;
        ++transcript_.n_dropped;
        shorter = encode_(transcript_.messages_before_reply());
    } while (shorter.size() + n_generated > n_ctx / 4 * 3);
    if (transcript_.n_dropped == before || shorter.size() + n_generated >= n_ctx) {
        transcript_.n_dropped = before;
        return false;
    }
    prompt = std::move(shorter);
    if (listener.dropped) listener.dropped(transcript_.n_dropped - before);
    return true;
}

Generation Conversation::reply(GenerationOptions options, const Listener& listener) {
    std::vector<TokenId> prompt = encode_(transcript_.messages_before_reply());
    const bool full = prompt.size() >= engine_.n_ctx() && !drop_turns(0, prompt, listener);
    if (full && prompt.size() > engine_.n_ctx())
        throw ShapeError(
            fmt::format("the prompt of {} tokens does not fit the context of {} tokens; --n-ctx makes it "
                        "larger",
                        prompt.size(), engine_.n_ctx()));
    if (listener.started) listener.started(prompt);

    // The last token is computed in any case: its logits are wanted.
    const size_t n_kept = std::min(common_prefix(held_, prompt), prompt.empty() ? 0 : prompt.size() - 1);
    engine_.sequences().truncate(sequence_, int32_t(n_kept));
    held_.resize(n_kept);
    options.n_cached = n_kept;
    options.sampling.seed += n_drawn_;
    std::vector<TokenId> current = prompt;
    options.make_room = [&](size_t n_generated) -> std::optional<std::vector<TokenId>> {
        if (!drop_turns(n_generated, current, listener)) return std::nullopt;
        return current;
    };
    std::string text;
    const TextSink sink = [&](std::string_view piece) {
        text += piece;
        if (listener.text) listener.text(piece);
    };
    Generation generation;
    try {
        generation = generate(engine_, sequence_, prompt, options, sink, listener.interrupted);
    } catch (...) {
        // What the sequence holds by now is some of the prompt, or of a shorter one: no more is known than its start.
        engine_.sequences().truncate(sequence_, 0);
        held_.clear();
        throw;
    }
    held_ = std::move(current);
    held_.insert(held_.end(), generation.tokens.begin(), generation.tokens.end());
    held_.resize(size_t(engine_.sequences().length(sequence_)));
    ++n_drawn_;
    transcript_.turns.back().reply = std::move(text);
    return generation;
}

Generation Conversation::ask(const std::string& user, const GenerationOptions& options, const Listener& listener) {
    const size_t n_dropped = transcript_.n_dropped;
    transcript_.turns.push_back({tokenizer::replace_each_invalid_byte(user), {}});
    const auto take_back = [&] {
        transcript_.turns.pop_back();
        transcript_.n_dropped = n_dropped;
    };
    try {
        Generation generation = reply(options, listener);
        if (generation.tokens.empty()) take_back();
        return generation;
    } catch (...) {
        take_back();
        throw;
    }
}

Generation Conversation::regenerate(const GenerationOptions& options, const Listener& listener) {
    if (transcript_.turns.empty()) throw Error("there is no reply to make anew");
    const chat::Turn last = transcript_.turns.back();
    const size_t n_dropped = transcript_.n_dropped;
    const auto put_back = [&] {
        transcript_.turns.back() = last;
        transcript_.n_dropped = n_dropped;
    };
    try {
        Generation generation = reply(options, listener);
        if (generation.tokens.empty()) put_back();
        return generation;
    } catch (...) {
        put_back();
        throw;
    }
}

void Conversation::undo() {
    if (transcript_.turns.empty()) throw Error("there is no turn to take back");
    transcript_.turns.pop_back();
    // A turn that was dropped comes back when it is the last.
    transcript_.n_dropped = std::min(transcript_.n_dropped, std::max<size_t>(transcript_.turns.size(), 1) - 1);
}

void Conversation::set_system(const std::optional<std::string>& system) {
    transcript_.system.reset();
    if (system) transcript_.system = tokenizer::replace_each_invalid_byte(*system);
}

void Conversation::clear() {
    transcript_.turns.clear();
    transcript_.n_dropped = 0;
}

void Conversation::set_transcript(chat::Transcript transcript, size_t n_drawn) {
    transcript_ = std::move(transcript);
    n_drawn_ = n_drawn;
}

}  // namespace minfer::engine
