// minfer logits: the logits that a model gives after each of some tokens.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "base/atomic_file.h"
#include "base/error.h"
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

// Positions with commas between them, ascending.
std::vector<size_t> parse_positions(const std::string& text) {
    std::vector<size_t> positions;
    for (size_t from = 0; from <= text.size();) {
        const size_t comma = std::min(text.find(',', from), text.size());
        size_t position = 0;
        const auto [rest, error] = std::from_chars(text.data() + from, text.data() + comma, position);
        if (error != std::errc() || rest != text.data() + comma)
            throw UsageError(fmt::format("--positions: found '{}', expected positions counted from 0, such as 0,7,31",
                                         text.substr(from, comma - from)));
        if (!positions.empty() && position <= positions.back())
            throw UsageError(fmt::format("--positions: found {} after {}, expected ascending positions", position,
                                         positions.back()));
        positions.push_back(position);
        from = comma + 1;
    }
    return positions;
}

// Marks the tokens whose logits are wanted: those at `positions`, or all where there are none.
engine::Batch make_batch(const std::vector<engine::TokenId>& ids, const std::vector<size_t>& positions) {
    engine::Batch batch;
    for (const engine::TokenId id : ids) batch.push_back({id, 0, positions.empty()});
    for (const size_t position : positions) {
        if (position >= ids.size())
            throw UsageError(fmt::format("--positions: found {}, expected at most {}, the last of the tokens", position,
                                         ids.size() - 1));
        batch[position].wants_logits = true;
    }
    return batch;
}

int run(const std::vector<std::string>& args) {
    CLI::App app("Writes the logits after each token as raw float32 rows, little-endian, n_tokens x n_vocab.",
                 "minfer logits");
    std::string model, tokens, out;
    std::optional<std::string> wanted;
    engine::EngineOptions options;
    app.add_option("MODEL", model, "A GGUF file or a cached name")->required();
    app.add_option("--tokens", tokens, "The ids of the tokens, with white space between them")
        ->required()
        ->type_name("FILE");
    app.add_option("--out", out, "Where the rows go")->required()->type_name("FILE.f32");
    app.add_option("--positions", wanted, "The tokens whose rows are wanted, counted from 0, ascending; default: all")
        ->type_name("0,7,31");
    add_engine_options(app, options);
    if (const std::optional<int> status = parse(app, args)) return *status;

    const std::vector<size_t> positions = wanted ? parse_positions(*wanted) : std::vector<size_t>();
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
