// minfer logits: the logits that a model gives after each of some tokens.
#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/engine_options.h"
#include "cli/model_argument.h"
#include "cli/parse.h"
#include "cli/read_input.h"
#include "engine/engine.h"

namespace minfer::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they lie in memory");

std::vector<engine::TokenId> read_ids(const std::string& path) {
    const std::string text = read_whole_file(path);
    std::vector<engine::TokenId> ids;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    while (true) {
        while (at < end && is_space(*at)) ++at;
        if (at == end) return ids;
        engine::TokenId id = 0;
        const auto [rest, error] = std::from_chars(at, end, id);
        if (error != std::errc() || (rest < end && !is_space(*rest)))
            throw FormatError(path, fmt::format("word {}", ids.size() + 1),
                              fmt::format("'{}'", std::string(at, std::find_if(at, std::min(at + 32, end), is_space))),
                              "the id of a token");
        ids.push_back(id);
        at = rest;
    }
}

// Marks the tokens whose logits are wanted: those at `positions`, or all where there are none.
engine::Batch make_batch(const std::vector<engine::TokenId>& ids, const std::vector<size_t>& positions) {
    engine::Batch batch;
    for (const engine::TokenId id : ids) batch.push_back({id, 0, positions.empty()});
    for (size_t i = 0; i < positions.size(); ++i) {
        if (positions[i] >= ids.size())
            throw Error(fmt::format("--positions: found {}, expected at most {}, the last of the tokens", positions[i],
                                    ids.size() - 1));
        if (i > 0 && positions[i] <= positions[i - 1])
            throw UsageError(fmt::format("--positions: found {} after {}, expected ascending positions", positions[i],
                                         positions[i - 1]));
        batch[positions[i]].wants_logits = true;
    }
    return batch;
}

int run(const std::vector<std::string>& args) {
    CLI::App app("Writes the logits after each token as raw float32 rows, little-endian, n_tokens x n_vocab.",
                 "minfer logits");
    std::string model, tokens, out;
    std::vector<size_t> positions;
    engine::EngineOptions options;
    app.add_option("MODEL", model, "A GGUF file or a cached name")->required();
    app.add_option("--tokens", tokens, "The ids of the tokens, with white space between them")
        ->required()
        ->type_name("FILE");
    app.add_option("--out", out, "Where the rows go")->required()->type_name("FILE.f32");
    app.add_option("--positions", positions,
                   "The tokens whose rows are wanted, counted from 0, ascending; default: all")
        ->delimiter(',')
        ->type_name("0,7,31");
    add_engine_options(app, options);
    if (const std::optional<int> status = parse(app, args)) return *status;

    const std::vector<engine::TokenId> ids = read_ids(tokens);
    if (ids.empty()) throw Error(fmt::format("{}: no tokens in it", tokens));
    options.n_ctx = ids.size();
    const engine::Batch batch = make_batch(ids, positions);
    engine::Engine engine(model_file(model), options);
    AtomicFile file(out);
    engine.run(batch, [&](const engine::Engine::Logits& logits) { file.write(std::as_bytes(logits.values)); });
    file.commit();
    return 0;
}

}  // namespace

const Command kLogitsCommand = {"logits", "write a model's logits for given tokens", run};

}  // namespace minfer::cli
