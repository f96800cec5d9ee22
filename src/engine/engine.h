// A loaded model at work: the file, the weights, the backends and the cache behind one object.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "base/threads.h"
#include "engine/batch.h"
#include "gguf/reader.h"
#include "kv/sequences.h"
#include "model/model.h"
#include "runtime/scheduler.h"
#include "sampling/sampler_vocabulary.h"
#include "tokenizer/tokenizer.h"

namespace minfer::cpu {
class CpuBackend;
}

namespace minfer::engine {

struct EngineOptions {
    size_t n_ctx = 0;  // cells, for the tokens of all sequences together; 0: kDefaultContext, or the model's if less
    size_t n_batch = 512;   // tokens of one forward pass at most
    size_t n_sequence = 1;  // sequences that can be held at a time
    int n_threads = 0;      // 0: every CPU that this process may run on
    // How cells keep their numbers; nothing: kv::cell_type_from_environment().
    std::optional<kv::CellType> cell_type = {};
    runtime::FusionOptions fusion = runtime::FusionOptions::from_environment();
    // Weights are copied from the file into the layout that the kernels read fastest, and the file's pages let go;
    // those that are floats not now but over the first steps of few tokens. Without, they are read from the mapped
    // file, which other processes may share. The same bits either way.
    bool repack = true;
    // Texts are to come: where there are several threads, one more makes the tokenizer beside the repacking, rather
    // than the caller's when it is first asked for.
    bool texts = false;
    // Told of the bytes of weights done so far, and of all that are repacked at load; not at all where none are. Called
    // from any thread, one call at a time.
    std::function<void(size_t done, size_t total)> on_loading = {};
};

constexpr size_t kDefaultContext = 4096;

// Rows of logits that one forward pass gives at most: a batch that wants more is cut, so that a large vocabulary does
// not make the activations outgrow the weights. How a batch is cut changes no bit.
constexpr size_t kMaxOutputRows = 64;

class Engine {
  public:
    // Maps the file and makes everything ready. Throws what gguf::Gguf::open and model::load throw, UsageError for
    // options that make no sense, and UnsupportedError where no backend runs the model with cells of that type.
    Engine(const std::string& path, const EngineOptions& options);
    ~Engine();

    const gguf::Gguf& file() const { return file_; }
    const model::Model& model() const { return *model_; }
    size_t n_vocab() const { return model_->hyperparameters().n_vocab; }
    size_t n_ctx() const { return size_t(sequences_->n_cell()); }
    size_t n_batch() const { return options_.n_batch; }
    ThreadPool& threads() { return *threads_; }
    runtime::Scheduler& scheduler() { return *scheduler_; }

    // Built when first asked for, or before (EngineOptions::texts): not every job needs text. Throws what
    // tokenizer::Tokenizer throws.
    const tokenizer::Tokenizer& tokenizer();

    // For make_sampler(); built when first asked for, with the tokenizer.
    const sampling::SamplerVocabulary& sampler_vocabulary();

    // The books of the cache. Truncating a sequence here forgets its last tokens.
    kv::Sequences& sequences() { return *sequences_; }

    // The logits of some tokens of a batch: `rows` are indices into the batch, ascending; `values` is
    // [rows.size()][n_vocab], valid during the call.
    struct Logits {
        std::span<const size_t> rows;
        std::span<const float> values;
    };
    using LogitsSink = std::function<void(const Logits&)>;

    // Runs the tokens through the model, in forward passes of at most n_batch tokens and kMaxOutputRows rows, and hands
    // the logits of those that want them to `sink`. The logits of a token depend on the tokens before it in its
    // sequence and on nothing else: not on the batch, its cuts, or the threads. Throws ShapeError for an empty batch,
    // an id outside the vocabulary, a sequence that there is not, and a context that is full; Error where a logit is
    // NaN, naming the token. The sequences are then as they were before the call.
    void run(const Batch& batch, const LogitsSink& sink);

    // How many of these tokens, from the first on, run() puts into one forward pass.
    size_t tokens_of_a_pass(std::span<const BatchToken> tokens) const;

    std::string_view kernels_name() const { return kernels_name_; }  // the CPU's: "avx512"

    // Repacks now what would wait for steps of few tokens, so that none of those that are timed is held up.
    void finish_repacking();

    // Moves what the cells hold to the lowest ones; no sequence changes.
    void compact();

    // Takes the positions [first, first + n) out of a sequence; those after them move up, their keys turned back by n
    // positions. What they hold of the tokens taken out stays, so the logits from here on are those of no text: whoever
    // needs them exact truncates and runs the rest anew. Cells that another sequence holds too are copied first.
    // Throws ShapeError for positions that there are not, and where no cells are free for copies; UnsupportedError,
    // naming the type, for cells other than f32, whose keys would be rounded again each time.
    void shift(SequenceId sequence, int32_t first, int32_t n);

    // The graph of a decode step, as Graphviz text.
    std::string decode_graph_dot();

  private:
    void repacked(std::span<const std::byte> rows, size_t n_bytes);
    void check(const Batch& batch) const;
    graph::GraphParams decode_params() const;
    void run_pass(std::span<const BatchToken> tokens, size_t first, const LogitsSink& sink);

    EngineOptions options_;
    gguf::Gguf file_;
    std::unique_ptr<model::Model> model_;
    std::optional<tokenizer::Tokenizer> tokenizer_;
    std::future<tokenizer::Tokenizer> tokenizer_to_come_;
    std::optional<sampling::SamplerVocabulary> sampler_vocabulary_;
    std::unique_ptr<ThreadPool> threads_;
    std::string_view kernels_name_;
    std::vector<std::unique_ptr<backend::Backend>> backends_;
    cpu::CpuBackend* cpu_ = nullptr;  // one of them
    std::optional<kv::Sequences> sequences_;
    std::unique_ptr<runtime::Scheduler> scheduler_;
    size_t n_bytes_loaded_ = 0;
    BatchInputs inputs_;
    std::vector<size_t> rows_;
};

}  // namespace minfer::engine
