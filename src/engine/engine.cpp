#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "backend/cpu/backend.h"
#include "backend/cpu/kernels.h"
#include "base/cpu_features.h"
#include "base/error.h"
#include "base/held_signals.h"

namespace minfer::engine {
namespace {

// A position is an int32, and so is a count of cells.
constexpr size_t kLargestContext = size_t(1) << 24;

void check(const EngineOptions& o) {
    if (o.n_batch < 1 || o.n_batch > kLargestContext)
        throw UsageError(fmt::format("batch size: found {}, expected 1 to {}", o.n_batch, kLargestContext));
    if (o.n_ctx > kLargestContext)
        throw UsageError(fmt::format("context size: found {}, expected at most {}", o.n_ctx, kLargestContext));
    if (o.n_sequence < 1 || o.n_sequence > kLargestContext)
        throw UsageError(fmt::format("sequences: found {}, expected 1 to {}", o.n_sequence, kLargestContext));
}

}  // namespace

Engine::Engine(const std::string& path, const EngineOptions& options)
    : options_(options), file_(gguf::Gguf::open(path)), model_(model::load(file_)) {
    engine::check(options);
    const size_t n_ctx =
        options.n_ctx ? options.n_ctx : std::min(kDefaultContext, model_->hyperparameters().n_ctx_train);
    threads_ = std::make_unique<ThreadPool>(options.n_threads);
    if (options.texts && threads_->size() > 1) {
        const HeldSignals held;
        try {
            tokenizer_to_come_ =
                std::async(std::launch::async, [this] { return tokenizer::Tokenizer::from_gguf(file_); });
        } catch (const std::system_error&) {
            // No thread to be had: it is made when it is asked for.
        }
    }
    const cpu::Kernels& kernels = cpu::choose_kernels(usable_cpu_features());
    kernels_name_ = kernels.name;
    cpu::RepackOptions repack;
    repack.enabled = options.repack;
    repack.repacked = [this](std::span<const std::byte> rows, size_t n_bytes) { repacked(rows, n_bytes); };
    auto cpu = std::make_unique<cpu::CpuBackend>(kernels, *threads_, std::move(repack));
    cpu_ = cpu.get();
    backends_.push_back(std::move(cpu));
    sequences_.emplace(int32_t(n_ctx), int32_t(options.n_sequence));
    std::vector<backend::Backend*> by_priority;
    for (const auto& backend : backends_) by_priority.push_back(backend.get());
    const kv::Layout layout =
        model_->kv_layout(n_ctx, options.cell_type ? *options.cell_type : kv::cell_type_from_environment());
    scheduler_ = std::make_unique<runtime::Scheduler>(
        by_priority, model_->weights(), layout,
        [this](const graph::GraphParams& params) { return model_->build_graph(params); },
        runtime::Scheduler::Options{.fusion = options.fusion});
    // A decode step is planned now: what no backend runs is refused before the first batch, cells have their memory,
    // and weights that are integers are repacked, for its graph multiplies by every matrix.
    scheduler_->plan(decode_params());
    options_.on_loading = {};  // floats are repacked later, which is no loading
}

Engine::~Engine() = default;

void Engine::repacked(std::span<const std::byte> rows, size_t n_bytes) {
    file_.release(rows);
    n_bytes_loaded_ += rows.size();
    if (options_.on_loading) options_.on_loading(n_bytes_loaded_, n_bytes);
}

void Engine::finish_repacking() {
    while (cpu_->repack_more()) {
    }
}

const tokenizer::Tokenizer& Engine::tokenizer() {
    if (!tokenizer_)
        tokenizer_.emplace(tokenizer_to_come_.valid() ? tokenizer_to_come_.get()
                                                      : tokenizer::Tokenizer::from_gguf(file_));
    return *tokenizer_;
}

const sampling::SamplerVocabulary& Engine::sampler_vocabulary() {
    if (!sampler_vocabulary_) sampler_vocabulary_.emplace(tokenizer());
    return *sampler_vocabulary_;
}

void Engine::check(const Batch& batch) const {
    if (batch.empty()) throw ShapeError("no tokens to run");
    for (const BatchToken& t : batch) {
        if (t.token < 0 || size_t(t.token) >= n_vocab())
            throw ShapeError(
                fmt::format("token id {} is outside the vocabulary: expected 0 to {}", t.token, n_vocab() - 1));
        if (t.sequence < 0 || t.sequence >= sequences_->n_sequence())
            throw ShapeError(
                fmt::format("found sequence {}, expected 0 to {}", t.sequence, sequences_->n_sequence() - 1));
    }
    if (batch.size() > size_t(sequences_->n_free()))
        throw ShapeError(
            fmt::format("the context is full: {} of its {} tokens are taken, and {} more came; --n-ctx "
                        "makes it larger",
                        sequences_->n_cell() - sequences_->n_free(), sequences_->n_cell(), batch.size()));
}

size_t Engine::tokens_of_a_pass(std::span<const BatchToken> tokens) const {
    size_t n = 0;
    size_t n_output_rows = 0;
    for (; n < tokens.size() && n < options_.n_batch; ++n) {
        if (tokens[n].wants_logits && n_output_rows++ == kMaxOutputRows) break;
    }
    return n;
}

void Engine::run(const Batch& batch, const LogitsSink& sink) {
    check(batch);
    std::vector<int32_t> lengths;
    for (SequenceId s = 0; s < sequences_->n_sequence(); ++s) lengths.push_back(sequences_->length(s));
    try {
        std::span<const BatchToken> rest = batch;
        while (!rest.empty()) {
            const size_t n = tokens_of_a_pass(rest);
            run_pass(rest.first(n), batch.size() - rest.size(), sink);
            rest = rest.subspan(n);
        }
    } catch (...) {
        for (SequenceId s = 0; s < sequences_->n_sequence(); ++s) sequences_->truncate(s, lengths[size_t(s)]);
        throw;
    }
}

void Engine::run_pass(std::span<const BatchToken> tokens, size_t first, const LogitsSink& sink) {
    inputs_.assign(tokens, *sequences_);
    const std::span<const int32_t> output_rows = inputs_.output_rows();
    scheduler_->run(
        {.n_token = tokens.size(), .n_output_rows = output_rows.size(), .weights_version = model_->weights().version()},
        inputs_.inputs());
    if (output_rows.empty()) return;
    const std::span<const float> values = scheduler_->output(0);
    rows_.clear();
    for (size_t i = 0; i < output_rows.size(); ++i) {
        const size_t token = size_t(output_rows[i]);
        const std::span<const float> row = values.subspan(i * n_vocab(), n_vocab());
        if (std::ranges::any_of(row, [](float x) { return std::isnan(x); }))
            throw Error(
                fmt::format("{}: the logits of the token at position {} of sequence {} (id {}) are NaN: the "
                            "weights hold values that are not finite, or too large",
                            file_.path(), inputs_.position(token), tokens[token].sequence, tokens[token].token));
        rows_.push_back(first + token);
    }
    sink({rows_, values});
}

graph::GraphParams Engine::decode_params() const {
    return {.n_token = 1, .n_output_rows = 1, .weights_version = model_->weights().version()};
}

std::string Engine::decode_graph_dot() { return scheduler_->to_dot(decode_params()); }

}  // namespace minfer::engine
