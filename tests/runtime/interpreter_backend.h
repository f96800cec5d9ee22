// A backend for tests: runs every operator in plain loops over F32 weights and F32 cells, and can be told what to
// refuse and to hide its memory from the host. Fresh memory holds NaNs, so a value that was never written shows.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace minfer::test {

struct InterpreterOptions {
    std::set<graph::Op> refused = {};
    std::set<backend::Fusion> refused_fusions = {};
    bool host_visible = true;
};

class InterpreterBackend : public backend::Backend {
  public:
    using Options = InterpreterOptions;

    explicit InterpreterBackend(std::string name, Options options = {});

    std::string_view name() const override { return name_; }
    bool supports_op(const graph::Graph& graph, graph::NodeId id, kv::CellType cells) const override;
    bool supports_fused(backend::Fusion fusion) const override;
    std::unique_ptr<backend::Buffer> allocate(size_t bytes, backend::Purpose purpose) override;
    void register_weights(const graph::WeightTable& table, std::span<const graph::WeightId> ids) override;
    std::unique_ptr<backend::Program> prepare(const graph::Graph& graph, std::span<const graph::NodeId> nodes,
                                              std::span<const size_t> offsets, const kv::Layout& layout) override;

    // The bytes of a registered weight; throws where it was not.
    std::span<const float> weight(graph::WeightId id) const;

    size_t n_registered = 0;
    size_t n_executed = 0;  // nodes, of all runs

  private:
    std::string name_;
    Options options_;
    std::vector<std::span<const std::byte>> weights_;  // by id
};

}  // namespace minfer::test
