#include "backend/cpu/program.h"

#include <algorithm>
#include <array>

#include "backend/cpu/add.h"
#include "backend/cpu/backend.h"
#include "backend/cpu/get_rows.h"
#include "backend/cpu/kv_cells.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/product.h"
#include "backend/cpu/rms_norm.h"
#include "backend/cpu/swiglu.h"

namespace minfer::cpu {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

std::span<std::byte> region(const backend::Memory& memory, size_t layer, bool keys) {
    const backend::KvRegion& at = memory.layers[layer];
    const kv::Layout& layout = memory.layout;
    const size_t bytes = layout.n_cells * (keys ? layout.k_row_bytes() : layout.v_row_bytes());
    return {at.buffer->host() + (keys ? at.k_offset : at.v_offset), bytes};
}

}  // namespace

const Node* find_rope_table(const Graph& graph, NodeId table) {
    while (graph[table].op == Op::Copy) table = graph[table].inputs[0];
    return graph[table].op == Op::RopeTable ? &graph[table] : nullptr;
}

std::span<float> CpuProgram::Context::values(const Operand& operand) const {
    return {reinterpret_cast<float*>(arena + operand.offset), operand.n_values};
}

CpuProgram::CpuProgram(CpuBackend& backend, const Graph& graph, std::span<const NodeId> nodes,
                       std::span<const size_t> offsets, const kv::Layout&)
    : backend_(backend) {
    const auto operand = [&](NodeId id) -> Operand {
        const Node& node = graph[id];
        if (node.op == Op::Weight) return {0, 0, node.as<graph::WeightAttributes>().id};
        if (node.dtype != graph::DType::F32) return {};
        return {offsets[size_t(id)], node.shape.n_values(), graph::kNoWeight};
    };
    for (NodeId id : nodes) {
        const Node& node = graph[id];
        Step step{node.op, node.attributes, {}, operand(id), nullptr};
        for (NodeId input : node.inputs) step.in.push_back(operand(input));
        if (node.op == Op::RopeTable)
            step.table = &backend.rope_table(graph, node);
        else if (node.op == Op::Rope || node.op == Op::BiasRope)
            step.table = &backend.rope_table(graph, *find_rope_table(graph, node.inputs.back()));
        else if (node.op == Op::Attention)
            visible_.resize(node.shape.rows);
        steps_.push_back(std::move(step));
    }
}

void CpuProgram::execute(const backend::Memory& memory, const graph::Inputs& inputs) {
    if (inputs.token_ids.size() < kUnpackTokens) backend_.repack_more();
    const Context context{memory.arena.host(), memory, inputs};
    for (const Step& step : steps_) run(step, context);
}

void CpuProgram::run(const Step& step, const Context& context) {
    const Kernels& kernels = backend_.kernels();
    ThreadPool& pool = backend_.pool();
    const auto in = [&](size_t i) { return context.values(step.in[i]); };
    const auto weight = [&](size_t i) -> const Weights& { return backend_.weight(step.in[i].weight); };
    const auto vector = [&](size_t i) { return backend_.vector(step.in[i].weight); };
    const std::span<float> out = context.values(step.out);
    switch (step.op) {
        case Op::GetRows:
            return get_rows(pool, weight(0), context.inputs.token_ids, out);
        case Op::RmsNorm:
            return rms_norm(kernels, pool, in(0), vector(1), std::get<graph::RmsNormAttributes>(step.attributes).eps,
                            out);
        case Op::MatMul:
            return matmul(kernels, pool, weight(0), in(1), out, backend_.scratch());
        case Op::MatMulGroup:
            return matmul_group(step, context);
        case Op::AddBias:
            return add_bias(kernels, pool, in(0), vector(1), out);
        case Op::Add:
            return add(kernels, pool, in(0), in(1), out);
        case Op::Mul:
            return mul(kernels, pool, in(0), in(1), out);
        case Op::Silu:
            return silu(kernels, pool, in(0), out);
        case Op::SwiGlu:
            return swiglu(kernels, pool, in(0), in(1), out);
        case Op::MatMulSwiGlu:
            return matmul_swiglu(kernels, pool, weight(1), weight(2), in(0), out, backend_.scratch());
        case Op::RopeTable:
            return rope_table(step, context);
        case Op::Rope:
        case Op::BiasRope:
            return rope_heads(step, context);
        case Op::StoreKv:
            return store(step, context);
        case Op::Attention:
            return attend(step, context);
        case Op::SelectRows: {
            const std::span<const int32_t> rows = context.inputs.output_rows;
            const size_t dim = out.size() / rows.size();
            for (size_t t = 0; t < rows.size(); ++t)
                std::ranges::copy(in(0).subspan(size_t(rows[t]) * dim, dim), out.begin() + int64_t(t * dim));
            return;
        }
        case Op::Weight:
        case Op::Input:
        case Op::View:
        case Op::Copy:
            return;  // never given to prepare()
    }
}

void CpuProgram::matmul_group(const Step& step, const Context& context) {
    std::array<MatmulTarget, kMaxTargets> targets;
    const size_t n_target = step.in.size() - 1;
    const std::span<float> out = context.values(step.out);
    size_t n_out = 0;
    for (size_t i = 0; i < n_target; ++i) n_out += (targets[i].weights = backend_.weight(step.in[i + 1].weight)).n_out;
    const size_t n_token = out.size() / n_out;
    size_t offset = 0;
    for (size_t i = 0; i < n_target; ++i) {
        targets[i].out = out.subspan(offset, n_token * targets[i].weights.n_out);
        offset += targets[i].out.size();
    }
    matmul_shared(backend_.kernels(), backend_.pool(), std::span(targets).first(n_target), context.values(step.in[0]),
                  backend_.scratch());
}

// Rope reads the RopeTable object; the values are for backends that get a Copy.
void CpuProgram::rope_table(const Step& step, const Context& context) {
    step.table->fill(context.inputs.positions);
    const std::span<float> out = context.values(step.out);
    const size_t half = step.table->n_rot() / 2;
    for (size_t t = 0; t < context.inputs.positions.size(); ++t) {
        std::ranges::copy(step.table->cos().subspan(t * half, half), out.begin() + int64_t(2 * t * half));
        std::ranges::copy(step.table->sin().subspan(t * half, half), out.begin() + int64_t((2 * t + 1) * half));
    }
}

void CpuProgram::rope_heads(const Step& step, const Context& context) {
    const auto& rope = std::get<graph::RopeAttributes>(step.attributes);
    const std::span<const int32_t> positions = context.inputs.positions;
    step.table->fill(positions);  // again, at the price of a comparison: another backend may have run the RopeTable
    const RopePairs pairs = rope.layout == graph::RopeLayout::Half ? RopePairs::halves : RopePairs::interleaved;
    const std::span<const float> x = context.values(step.in[0]);
    const std::span<float> out = context.values(step.out);
    const size_t n_head = x.size() / positions.size() / rope.head_dim;
    if (step.op == Op::Rope)
        cpu::rope(backend_.kernels(), backend_.pool(), x, n_head, rope.head_dim, *step.table, pairs, out);
    else
        bias_rope(backend_.kernels(), backend_.pool(), x, backend_.vector(step.in[1].weight), n_head, rope.head_dim,
                  *step.table, pairs, out);
}

void CpuProgram::store(const Step& step, const Context& context) {
    const size_t layer = std::get<graph::StoreKvAttributes>(step.attributes).layer;
    const std::span<const int32_t> cells = context.inputs.kv_cells;
    const kv::Layout& layout = context.memory.layout;
    for (const bool keys : {true, false})
        store_kv(backend_.kernels(), backend_.pool(), layout.type, context.values(step.in[keys ? 0 : 1]), cells,
                 region(context.memory, layer, keys), layout.n_cells);
}

void CpuProgram::attend(const Step& step, const Context& context) {
    const auto& a = std::get<graph::AttentionAttributes>(step.attributes);
    const kv::AttentionMap& map = context.inputs.attention_map;
    // A list from its start to the end of all lists: tokens of one sequence share it, and attention() sees that they
    // do.
    for (size_t t = 0; t < visible_.size(); ++t)
        visible_[t] = {map.cells.subspan(size_t(map.offsets[t])), size_t(map.n_visible[t])};
    const KvCells cells{context.memory.layout.type, region(context.memory, a.layer, true).data(),
                        region(context.memory, a.layer, false).data(), context.memory.layout.n_cells};
    attention(backend_.kernels(), backend_.pool(), {a.n_head, a.n_head_kv, a.head_dim, a.scale},
              context.values(step.in[0]), cells, visible_, context.values(step.out), backend_.scratch());
}

}  // namespace minfer::cpu
