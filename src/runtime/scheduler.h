// Runs forward passes: builds and plans a graph when its parameters are new, keeps the memory, executes.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "graph/inputs.h"
#include "graph/weight_table.h"
#include "kv/layout.h"
#include "runtime/fuse.h"
#include "runtime/plan.h"

namespace minfer::runtime {

class Scheduler {
  public:
    // A model's build_graph: pure, a function of the parameters alone.
    using BuildGraph = std::function<graph::Graph(const graph::GraphParams&)>;

    struct Options {
        FusionOptions fusion = FusionOptions::from_environment();
        // Plans kept for their parameters to come again; the one unused for longest goes first. A plan is some hundred
        // kilobytes; a server's batches come in about as many sizes as it has sequences, and prefill in a few.
        size_t max_plans = 32;
    };

    struct Statistics {
        size_t n_build = 0;         // graphs built and planned
        size_t n_run = 0;           // forward passes
        size_t n_copy = 0;          // values copied between backends, of all passes
        size_t n_arena_growth = 0;  // times that an arena was made or made larger
        size_t kv_bytes = 0;        // of the KV regions
        size_t arena_bytes = 0;     // of all backends' arenas
    };

    // `backends` in order of priority; they and `weights` outlive the scheduler. The KV regions are made with the first
    // graph and live as long as the scheduler.
    Scheduler(std::vector<backend::Backend*> backends, const graph::WeightTable& weights, const kv::Layout& layout,
              BuildGraph build, Options options);
    Scheduler(std::vector<backend::Backend*> backends, const graph::WeightTable& weights, const kv::Layout& layout,
              BuildGraph build);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // One forward pass. params.weights_version is the caller's, from WeightTable::version(). Throws ShapeError where
    // the inputs do not fit; then nothing has run. With parameters seen before it allocates nothing on the CPU, once
    // floats are repacked.
    void run(const graph::GraphParams& params, const graph::Inputs& inputs);

    // Output i of the last run, [rows][dim]. Valid until the next run.
    std::span<const float> output(size_t i) const;

    // What cells of one layer hold, row after row in the order of `cells`: [cells.size()][k_row_bytes or v_row_bytes]
    // of the layout. The layer has its memory from the first plan on that stores to it. Throw ShapeError for sizes that
    // do not fit and a cell that there is not, Error for a layer without memory.
    enum class KvPart { Keys, Values };
    size_t row_bytes(KvPart part) const;
    void read_cells(size_t layer, KvPart part, std::span<const int32_t> cells, std::span<std::byte> out) const;
    void write_cells(size_t layer, KvPart part, std::span<const int32_t> cells, std::span<const std::byte> rows);
    // Of all layers, one move after the other.
    void copy_cells(std::span<const kv::CellMove> moves);

    // The plan for these parameters, made now if it is not kept; for --dump-graph.
    const Plan& plan(const graph::GraphParams& params);
    std::string to_dot(const graph::GraphParams& params);

    const kv::Layout& layout() const { return layout_; }
    const Statistics& statistics() const { return statistics_; }

  private:
    struct Entry {
        graph::GraphParams params;
        Plan plan;
    };

    Plan& find_or_make(const graph::GraphParams& params);
    void reserve(const Plan& plan);
    void place_layers(const Plan& plan);
    void copy(const Plan& plan, const Run& run);
    const backend::KvRegion& region(size_t layer) const;
    // Where the rows of a part lie: row i is `bytes` long and starts at `offset` + i * `bytes`.
    struct CellRows {
        backend::Buffer* buffer;
        size_t offset, bytes;
    };
    CellRows cell_rows(size_t layer, KvPart part, std::span<const int32_t> cells, size_t found_bytes) const;

    std::vector<backend::Backend*> backends_;
    const graph::WeightTable& weights_;
    kv::Layout layout_;
    BuildGraph build_;
    Options options_;
    Statistics statistics_;

    std::list<Entry> plans_;  // the last used first
    const Plan* last_ = nullptr;
    std::vector<std::unique_ptr<backend::Buffer>> arenas_;  // by backend; null where unused
    std::vector<std::vector<backend::KvRegion>> regions_;   // by backend and layer
    std::vector<std::unique_ptr<backend::Buffer>> kv_buffers_;
    std::vector<std::vector<bool>> registered_;  // by backend and weight
    std::vector<std::byte> staging_;             // of copies where the host sees neither side
    std::vector<std::vector<float>> outputs_;    // of outputs that the host does not see
};

}  // namespace minfer::runtime
