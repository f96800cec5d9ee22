// json_schema_texts MODEL SEED < SCHEMAS > TEXTS: for each schema, a line of JSON, one text drawn at temperature 1 from
// random logits over the model's vocabulary, as a line of JSON: {"text": ..., "tokens": n, "ended": true}, or
// {"error": ...}. On standard error: the tokens masked, and how many a second.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "gguf/reader.h"
#include "sampling/make_sampler.h"
#include "sampling/random.h"

namespace {

namespace sampling = minfer::sampling;
using Clock = std::chrono::steady_clock;

constexpr int kMostTokens = 3000;
constexpr size_t kRandomLogits = 1 << 20;

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return fmt::print(stderr, "usage: json_schema_texts MODEL SEED < SCHEMAS\n"), 2;
    const auto tokenizer = minfer::tokenizer::Tokenizer::from_gguf(minfer::gguf::Gguf::open(argv[1]));
    const sampling::SamplerVocabulary vocabulary(tokenizer);
    sampling::Random random(std::stoull(argv[2]));

    // About normal, with what ends strings, arrays and objects more likely, as models have it: texts should end.
    std::vector<float> pool(kRandomLogits);
    for (float& x : pool) x = float(random.unit() + random.unit() + random.unit() + random.unit() - 2) * 3;
    std::vector<float> bonus(tokenizer.n_vocab());
    for (int32_t id = 0; id < int32_t(bonus.size()); ++id) {
        const std::string_view piece = tokenizer.piece(id);
        if (piece.find_first_of(".@-\"") != std::string_view::npos || std::string_view("null").starts_with(piece))
            bonus[size_t(id)] = 3;
        if (piece.find_first_of("]}") != std::string_view::npos) bonus[size_t(id)] = 6;
        if (piece.find_first_of("[{") != std::string_view::npos) bonus[size_t(id)] = -3;  // recursion must not run away
        if (tokenizer.is_end_of_generation(id)) bonus[size_t(id)] = 8;
    }
    std::vector<float> logits(bonus.size());

    size_t n_masked = 0;
    double mask_seconds = 0, compile_seconds = 0, worst = 0;
    for (std::string schema; std::getline(std::cin, schema);) {
        nlohmann::json line;
        try {
            sampling::SamplerParams params = {
                .temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = random.next()};
            params.json_schema = schema;
            Clock::time_point start = Clock::now();
            const std::shared_ptr<sampling::grammar::TokenMasks> masks = vocabulary.masks(params);
            compile_seconds += std::chrono::duration<double>(Clock::now() - start).count();
            sampling::grammar::Constraint constraint(masks, tokenizer);
            sampling::Chain chain = sampling::make_sampler(params, vocabulary);
            std::vector<int32_t> tokens;
            bool ended = false;
            while (!ended && tokens.size() < kMostTokens) {
                start = Clock::now();
                constraint.allowed();
                const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
                mask_seconds += seconds;
                worst = std::max(worst, seconds);
                ++n_masked;
                const size_t offset = random.next() % (pool.size() - logits.size());
                const float urge = 1 + float(tokens.size()) / 100;
                for (size_t i = 0; i < logits.size(); ++i) logits[i] = pool[offset + i] + urge * bonus[i];
                const int32_t token = chain.sample(logits);
                chain.accept(token);
                start = Clock::now();
                constraint.accept(token);
                mask_seconds += std::chrono::duration<double>(Clock::now() - start).count();
                ended = tokenizer.is_end_of_generation(token);
                if (!ended) tokens.push_back(token);
            }
            line = {{"text", tokenizer.decode(tokens, true)}, {"tokens", tokens.size()}, {"ended", ended}};
        } catch (const minfer::Error& e) {
            line = {{"error", e.what()}};
        }
        std::cout << line.dump() << "\n";
    }
    fmt::print(stderr, "{} masks, {:.0f} a second, the slowest {:.2f} ms; schemas compiled in {:.3f} s\n", n_masked,
               double(n_masked) / mask_seconds, worst * 1000, compile_seconds);
    return 0;
}
