// The CPU as a backend: nodes of a graph mapped to the operators of this folder.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/repacked_weights.h"
#include "backend/cpu/rope.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/weights.h"
#include "base/threads.h"

namespace minfer::cpu {

// The parameters of a RopeTable node; `freq_factors` [n_rot / 2] or empty, borrowed.
RopeParams rope_params(const graph::RopeParams& params, std::span<const float> freq_factors);

// Whether matrices that are multiplied by are repacked (compact.h): integers when the first program that does so is
// prepared; floats, which are many bytes and serve a prompt as well as they are, at the first runs of few tokens.
struct RepackOptions {
    bool enabled = false;
    Repacked repacked = {};
    // Of floats, before a run: whole matrices, until they are so many bytes. To copy them takes a run of a model of a
    // gigabyte half as long again.
    size_t bytes_a_step = size_t(128) << 20;
};

// Runs every operator, over the weight types of supports_weights() and the cells of supports_cells(). Weights stay
// where they are mapped, but for what is repacked; embedding rows and the last n_out % 16 rows of a matrix are read
// from there in any case. Not for two threads at once: its programs share scratch memory and the pool.
class CpuBackend final : public backend::Backend {
  public:
    // Both are borrowed for this object's life. Any kernels and any pool give the same bits.
    CpuBackend(const Kernels& kernels, ThreadPool& pool, RepackOptions repack = {});
    ~CpuBackend() override;

    std::string_view name() const override { return "cpu"; }
    bool supports_op(const graph::Graph& graph, graph::NodeId id, kv::CellType cells) const override;
    bool supports_fused(backend::Fusion) const override { return true; }
    std::unique_ptr<backend::Buffer> allocate(size_t bytes, backend::Purpose purpose) override;
    void register_weights(const graph::WeightTable& table, std::span<const graph::WeightId> ids) override;
    std::unique_ptr<backend::Program> prepare(const graph::Graph& graph, std::span<const graph::NodeId> nodes,
                                              std::span<const size_t> offsets, const kv::Layout& layout) override;

    const Kernels& kernels() const { return kernels_; }
    ThreadPool& pool() { return pool_; }
    Scratch& scratch() { return scratch_; }
    // A registered weight. Throws Error, naming its number, where it is not.
    const Weights& weight(graph::WeightId id) const;
    // A registered weight [1][n] in F32, as floats.
    std::span<const float> vector(graph::WeightId id) const;
    // Repacks the next RepackOptions::bytes_a_step of the floats that wait for it, with the pool, and gives whether
    // more do; weight() has their panels from then on. Programs of few tokens call it before they start. Where there is
    // no memory for it, nothing waits any more: rows as the file has them give the same bits.
    bool repack_more();
    // The table of that RopeTable node, one for all nodes and graphs with its parameters.
    RopeTable& rope_table(const graph::Graph& graph, const graph::Node& node);

  private:
    void repack_matrices(const graph::Graph& graph, std::span<const graph::NodeId> nodes);
    void repack_now(std::span<Weights* const> matrices);

    struct KnownTable {
        graph::RopeParams params;
        graph::WeightId freq_factors;  // kNoWeight without
        std::unique_ptr<RopeTable> table;
    };

    const Kernels& kernels_;
    ThreadPool& pool_;
    Scratch scratch_;
    RepackOptions repack_;
    std::vector<Weights> weights_;                     // by id; data null where not registered
    std::vector<graph::WeightId> waiting_;             // to be repacked, the first last
    std::vector<Pages> panels_;                        // of weights_
    std::vector<std::unique_ptr<float[]>> realigned_;  // copies of vectors that a file holds off a float's alignment
    std::vector<KnownTable> tables_;
};

}  // namespace minfer::cpu
