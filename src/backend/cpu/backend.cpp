#include "backend/cpu/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "backend/cpu/kv_cells.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/panel.h"
#include "backend/cpu/program.h"
#include "base/error.h"
#include "base/pages.h"

namespace minfer::cpu {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::WeightId;

namespace {

class HostBuffer final : public backend::Buffer {
  public:
    explicit HostBuffer(Pages pages) : pages_(std::move(pages)) {}
    size_t size() const override { return pages_.size(); }
    std::byte* host() override { return pages_.data(); }
    void read(size_t offset, std::span<std::byte> out) override {
        std::memcpy(out.data(), pages_.data() + offset, out.size());
    }
    void write(size_t offset, std::span<const std::byte> bytes) override {
        std::memcpy(pages_.data() + offset, bytes.data(), bytes.size());
    }

  private:
    Pages pages_;
};

bool is_f32_weight(const Node& node) {
    return node.op == Op::Weight && node.as<graph::WeightAttributes>().type == gguf::TensorType::F32;
}

bool is_matrix(const Node& node) {
    return node.op == Op::Weight && supports_weights(node.as<graph::WeightAttributes>().type);
}

}  // namespace

RopeParams rope_params(const graph::RopeParams& params, std::span<const float> freq_factors) {
    RopeParams rope;
    rope.n_rot = params.n_rot;
    rope.freq_base = params.freq_base;
    rope.freq_factors = freq_factors;
    if (params.scaling != graph::RopeParams::Scaling::None) rope.freq_scale = 1.0 / params.factor;
    if (params.scaling == graph::RopeParams::Scaling::Yarn) {
        rope.ext_factor = params.ext_factor;
        rope.attn_factor = params.attn_factor;
        rope.beta_fast = params.beta_fast;
        rope.beta_slow = params.beta_slow;
        rope.n_ctx_orig = size_t(params.n_ctx_orig);
    }
    return rope;
}

CpuBackend::CpuBackend(const Kernels& kernels, ThreadPool& pool, RepackOptions repack)
    : kernels_(kernels), pool_(pool), repack_(std::move(repack)) {}

CpuBackend::~CpuBackend() = default;

bool CpuBackend::supports_op(const Graph& graph, NodeId id, kv::CellType cells) const {
    const Node& node = graph[id];
    const auto in = [&](size_t i) -> const Node& { return graph[node.inputs[i]]; };
    switch (node.op) {
        case Op::GetRows:
        case Op::MatMul:
            return is_matrix(in(0));
        case Op::MatMulSwiGlu:
            return is_matrix(in(1)) && is_matrix(in(2));
        case Op::MatMulGroup:
            return node.inputs.size() - 1 <= kMaxTargets && std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                                                        [&](NodeId w) { return is_matrix(graph[w]); });
        case Op::RmsNorm:
        case Op::AddBias:
            return is_f32_weight(in(1));
        case Op::RopeTable:
            return node.inputs.size() == 1 || is_f32_weight(in(1));
        case Op::Rope:
            return find_rope_table(graph, node.inputs[1]) != nullptr;
        case Op::BiasRope:
            return is_f32_weight(in(1)) && find_rope_table(graph, node.inputs[2]) != nullptr;
        case Op::StoreKv:
            return true;  // with its Attention, which knows the size of a head
        case Op::Attention:
            return supports_cells(cells, node.as<graph::AttentionAttributes>().head_dim);
        case Op::Add:
        case Op::Mul:
        case Op::Silu:
        case Op::SwiGlu:
        case Op::SelectRows:
            return true;
        case Op::Weight:
        case Op::Input:
        case Op::View:
        case Op::Copy:
            break;
    }
    return false;
}

std::unique_ptr<backend::Buffer> CpuBackend::allocate(size_t bytes, backend::Purpose purpose) {
    return std::make_unique<HostBuffer>(
        Pages(bytes, purpose == backend::Purpose::Arena ? PageSize::Huge : PageSize::Small));
}

void CpuBackend::register_weights(const graph::WeightTable& table, std::span<const WeightId> ids) {
    weights_.resize(std::max(weights_.size(), table.size()));
    for (WeightId id : ids) {
        const graph::Weight& weight = table[id];
        const std::byte* data = weight.data.data();
        const bool is_vector = weight.type == gguf::TensorType::F32 && weight.shape.rows == 1;
        if (is_vector && reinterpret_cast<uintptr_t>(data) % alignof(float) != 0) {
            realigned_.push_back(std::make_unique<float[]>(weight.shape.dim));
            std::memcpy(realigned_.back().get(), data, weight.data.size());
            data = reinterpret_cast<const std::byte*>(realigned_.back().get());
        }
        weights_[size_t(id)] = {weight.type, weight.shape.dim, weight.shape.rows,
                                weight.data.size() / weight.shape.rows, data};
    }
}

std::unique_ptr<backend::Program> CpuBackend::prepare(const Graph& graph, std::span<const NodeId> nodes,
                                                      std::span<const size_t> offsets, const kv::Layout& layout) {
    if (repack_.enabled) repack_matrices(graph, nodes);
    return std::make_unique<CpuProgram>(*this, graph, nodes, offsets, layout);
}

void CpuBackend::repack_matrices(const Graph& graph, std::span<const NodeId> nodes) {
    std::vector<Weights*> now;
    for (NodeId id : nodes) {
        const Node& node = graph[id];
        if (node.op != Op::MatMul && node.op != Op::MatMulGroup && node.op != Op::MatMulSwiGlu) continue;
        for (NodeId input : node.inputs) {
            if (graph[input].op != Op::Weight) continue;
            const WeightId weight_id = graph[input].as<graph::WeightAttributes>().id;
            weight(weight_id);  // throws where it is not registered
            Weights* w = &weights_[size_t(weight_id)];
            if (w->panels || w->n_out < kPanelRows) continue;
            if (panel_layout(w->type).block != 0) {
                if (std::ranges::count(now, w) == 0) now.push_back(w);
            } else if (std::ranges::count(waiting_, weight_id) == 0) {
                waiting_.insert(waiting_.begin(), weight_id);
            }
        }
    }
    repack_now(now);
}

void CpuBackend::repack_now(std::span<Weights* const> matrices) {
    if (matrices.empty()) return;
    panels_.emplace_back();  // before there is anything in it, for this may throw too
    panels_.back() = repack(kernels_, pool_, matrices, repack_.repacked);
}

bool CpuBackend::repack_more() {
    std::vector<Weights*> matrices;
    for (size_t bytes = 0; !waiting_.empty() && bytes < repack_.bytes_a_step; waiting_.pop_back()) {
        matrices.push_back(&weights_[size_t(waiting_.back())]);
        bytes += matrices.back()->n_out * matrices.back()->row_bytes;
    }
    try {
        repack_now(matrices);
    } catch (const std::bad_alloc&) {
        repack_.enabled = false;
        waiting_.clear();
    }
    return !waiting_.empty();
}

const Weights& CpuBackend::weight(WeightId id) const {
    if (size_t(id) >= weights_.size() || !weights_[size_t(id)].data)
        throw Error(fmt::format("cpu: weight {} is not registered", int32_t(id)));
    return weights_[size_t(id)];
}

std::span<const float> CpuBackend::vector(WeightId id) const {
    const Weights& w = weight(id);
    return {reinterpret_cast<const float*>(w.data), w.n_in};
}

RopeTable& CpuBackend::rope_table(const Graph& graph, const Node& node) {
    const auto& params = node.as<graph::RopeParams>();
    const WeightId factors =
        node.inputs.size() < 2 ? graph::kNoWeight : graph[node.inputs[1]].as<graph::WeightAttributes>().id;
    const auto known = std::ranges::find_if(
        tables_, [&](const KnownTable& t) { return t.params == params && t.freq_factors == factors; });
    if (known != tables_.end()) return *known->table;
    const std::span<const float> values = factors == graph::kNoWeight ? std::span<const float>() : vector(factors);
    tables_.push_back({params, factors, std::make_unique<RopeTable>(rope_params(params, values))});
    return *tables_.back().table;
}

}  // namespace minfer::cpu
