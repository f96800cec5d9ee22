// A run of nodes on the CPU: one call of an operator of this folder each.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/attention.h"
#include "backend/cpu/rope.h"
#include "backend/cpu/weights.h"

namespace minfer::cpu {

class CpuBackend;

// The RopeTable node that a table comes from, perhaps by a Copy; null where it is none.
const graph::Node* find_rope_table(const graph::Graph& graph, graph::NodeId table);

class CpuProgram final : public backend::Program {
  public:
    CpuProgram(CpuBackend& backend, const graph::Graph& graph, std::span<const graph::NodeId> nodes,
               std::span<const size_t> offsets, const kv::Layout& layout);
    void execute(const backend::Memory& memory, const graph::Inputs& inputs) override;

  private:
    // Where an activation lies, or which weight it is.
    struct Operand {
        size_t offset = 0;    // in bytes, in the arena
        size_t n_values = 0;  // 0 for inputs of the batch and Effects
        graph::WeightId weight = graph::kNoWeight;
    };
    struct Step {
        graph::Op op;
        graph::Attributes attributes;
        std::vector<Operand> in;
        Operand out;
        RopeTable* table = nullptr;  // of RopeTable, Rope, BiasRope
    };
    // What one execution works with.
    struct Context {
        std::byte* arena;
        const backend::Memory& memory;
        const graph::Inputs& inputs;

        std::span<float> values(const Operand& operand) const;
    };

    void run(const Step& step, const Context& context);
    void matmul_group(const Step& step, const Context& context);
    void rope_table(const Step& step, const Context& context);
    void rope_heads(const Step& step, const Context& context);
    void store(const Step& step, const Context& context);
    void attend(const Step& step, const Context& context);

    CpuBackend& backend_;
    std::vector<Step> steps_;
    std::vector<VisibleCells> visible_;  // [n_token], filled by each execution
};

}  // namespace minfer::cpu
