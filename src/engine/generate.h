// The generation loop: prompt in, text out, a token at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "sampling/params.h"

namespace minfer::engine {

struct GenerationOptions {
    size_t n_predict = 0;  // tokens at most; 0: as many as the context holds
    sampling::SamplerParams sampling;
    std::vector<std::string> stop = {};  // text that ends the generation where it comes; it is not given out
    bool ignore_eos = false;             // go on after tokens that end a text
    // Tokens of the prompt, from its start, that the sequence holds already: not all of them, for the logits of the
    // last are wanted. They count for penalties as any others.
    size_t n_cached = 0;
    // Asked when the context is full, with the number of tokens generated so far: what shall stand before these from
    // now on, in place of the prompt. It is computed anew from where it differs, and the generation goes on. Where this
    // is empty, or gives nothing, or no fewer tokens than before, the generation ends.
    std::function<std::optional<std::vector<TokenId>>(size_t n_generated)> make_room = {};
};

enum class StopReason { EndOfText, StopString, Length, ContextFull, Interrupted };

struct Generation {
    std::vector<TokenId> tokens;  // generated, the one that ended the text included
    StopReason reason = StopReason::Length;
    size_t n_prompt = 0;
    size_t n_computed = 0;  // tokens of the prompt that went through the model, those of shorter ones in its place too
    double prompt_seconds = 0;      // until the logits after the prompt were there
    double generation_seconds = 0;  // from then to the end

    // Tokens a second, of what went through the model; 0 where nothing did.
    double prompt_rate() const;
    double generation_rate() const;
};

// Where text goes as soon as its characters are whole: well-formed UTF-8, special tokens left out.
using TextSink = std::function<void(std::string_view)>;

// Appends the prompt, less n_cached tokens, and then what the model makes of it to the sequence. `interrupted` is asked
// between forward passes and ends the generation cleanly. Throws ShapeError for an empty prompt, one that leaves no
// room in the context, and ids outside the vocabulary; otherwise as Engine::run.
Generation generate(Engine& engine, SequenceId sequence, std::span<const TokenId> prompt,
                    const GenerationOptions& options, const TextSink& text, const std::function<bool()>& interrupted);

}  // namespace minfer::engine
