#include "runtime/interpreter_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

namespace minfer::test {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

class MemoryBuffer : public backend::Buffer {
  public:
    MemoryBuffer(size_t bytes, bool host_visible)
        : values_((bytes + 3) / 4, std::nanf("")), bytes_(bytes), host_visible_(host_visible) {}
    size_t size() const override { return bytes_; }
    std::byte* host() override { return host_visible_ ? data() : nullptr; }
    void read(size_t offset, std::span<std::byte> out) override {
        if (offset + out.size() > bytes_) throw std::out_of_range("read past a buffer");
        std::memcpy(out.data(), data() + offset, out.size());
    }
    void write(size_t offset, std::span<const std::byte> bytes) override {
        if (offset + bytes.size() > bytes_) throw std::out_of_range("write past a buffer");
        std::memcpy(data() + offset, bytes.data(), bytes.size());
    }
    std::byte* data() { return reinterpret_cast<std::byte*>(values_.data()); }

  private:
    std::vector<float> values_;
    size_t bytes_;
    bool host_visible_;
};

float silu(float x) { return x / (1.0f + std::exp(-x)); }

class Interpreter : public backend::Program {
  public:
    Interpreter(InterpreterBackend& backend, const Graph& graph, std::span<const NodeId> nodes,
                std::span<const size_t> offsets)
        : backend_(backend),
          graph_(graph),
          nodes_(nodes.begin(), nodes.end()),
          offsets_(offsets.begin(), offsets.end()) {}

    void execute(const backend::Memory& memory, const graph::Inputs& inputs) override {
        memory_ = &memory;
        inputs_ = &inputs;
        for (NodeId id : nodes_) {
            run(id, graph_[id]);
            ++backend_.n_executed;
        }
    }

  private:
    std::span<float> value(NodeId id) {
        auto& arena = static_cast<MemoryBuffer&>(memory_->arena);
        const size_t offset = offsets_[size_t(id)], n = graph_[id].shape.n_values();
        if (offset + n * sizeof(float) > arena.size()) throw std::out_of_range("value outside the arena");
        return {reinterpret_cast<float*>(arena.data() + offset), n};
    }
    std::span<const float> in(const Node& node, size_t i) {
        const Node& input = graph_[node.inputs[i]];
        return input.op == Op::Weight ? backend_.weight(input.as<graph::WeightAttributes>().id) : value(node.inputs[i]);
    }

    void run(NodeId id, const Node& node);
    void matmul(std::span<const float> w, std::span<const float> x, size_t n_in, std::span<float> out);
    void rope(std::span<const float> x, std::span<const float> table, size_t n_token, const graph::RopeAttributes& rope,
              std::span<float> out);
    void attention(const Node& node, std::span<const float> q, std::span<float> out);
    float* cells(size_t layer, bool keys) {
        const backend::KvRegion& region = memory_->layers[layer];
        auto& buffer = static_cast<MemoryBuffer&>(*region.buffer);
        return reinterpret_cast<float*>(buffer.data() + (keys ? region.k_offset : region.v_offset));
    }

    InterpreterBackend& backend_;
    Graph graph_;
    std::vector<NodeId> nodes_;
    std::vector<size_t> offsets_;
    const backend::Memory* memory_ = nullptr;
    const graph::Inputs* inputs_ = nullptr;
};

void Interpreter::matmul(std::span<const float> w, std::span<const float> x, size_t n_in, std::span<float> out) {
    const size_t n_out = w.size() / n_in;
    for (size_t t = 0; t < x.size() / n_in; ++t)
        for (size_t o = 0; o < n_out; ++o) {
            float sum = 0;
            for (size_t i = 0; i < n_in; ++i) sum = std::fma(w[o * n_in + i], x[t * n_in + i], sum);
            out[t * n_out + o] = sum;
        }
}

void Interpreter::rope(std::span<const float> x, std::span<const float> table, size_t n_token,
                       const graph::RopeAttributes& rope, std::span<float> out) {
    const size_t n_rot = table.size() / n_token, dim = x.size() / n_token, half = n_rot / 2;
    for (size_t t = 0; t < n_token; ++t)
        for (size_t head = 0; head < dim; head += rope.head_dim) {
            const float *from = &x[t * dim + head], *row = &table[t * n_rot];
            float* to = &out[t * dim + head];
            for (size_t i = 0; i < half; ++i) {
                const bool halves = rope.layout == graph::RopeLayout::Half;
                const size_t a = halves ? i : 2 * i, b = halves ? i + half : 2 * i + 1;
                const float xa = from[a], xb = from[b], c = row[i], s = row[half + i];
                to[a] = xa * c - xb * s;
                to[b] = xa * s + xb * c;
            }
            for (size_t i = n_rot; i < rope.head_dim; ++i) to[i] = from[i];
        }
}

void Interpreter::attention(const Node& node, std::span<const float> q, std::span<float> out) {
    const auto& a = node.as<graph::AttentionAttributes>();
    const float *keys = cells(a.layer, true), *values = cells(a.layer, false);
    for (size_t t = 0; t < node.shape.rows; ++t) {
        const std::span<const int32_t> visible = inputs_->attention_map.visible(t);
        for (size_t h = 0; h < a.n_head; ++h) {
            const size_t head_kv = h / (a.n_head / a.n_head_kv);
            const auto row = [&](const float* base, int32_t cell) {
                return base + (size_t(cell) * a.n_head_kv + head_kv) * a.head_dim;
            };
            const float* query = &q[(t * a.n_head + h) * a.head_dim];
            float* result = &out[(t * a.n_head + h) * a.head_dim];
            std::vector<double> scores;
            for (int32_t cell : visible) {
                double score = 0;
                for (size_t i = 0; i < a.head_dim; ++i) score += double(query[i]) * double(row(keys, cell)[i]);
                scores.push_back(score * double(a.scale));
            }
            const double most = *std::ranges::max_element(scores);
            double sum = 0;
            for (double& score : scores) sum += score = std::exp(score - most);
            for (size_t i = 0; i < a.head_dim; ++i) {
                double mean = 0;
                for (size_t k = 0; k < visible.size(); ++k) mean += scores[k] * double(row(values, visible[k])[i]);
                result[i] = float(mean / sum);
            }
        }
    }
}

void Interpreter::run(NodeId id, const Node& node) {
    const std::span<float> out = node.dtype == graph::DType::F32 ? value(id) : std::span<float>();
    const size_t dim = node.shape.dim;
    switch (node.op) {
        case Op::GetRows:
        case Op::SelectRows: {
            const bool select = node.op == Op::SelectRows;
            const std::span<const int32_t> rows = select ? inputs_->output_rows : inputs_->token_ids;
            for (size_t t = 0; t < rows.size(); ++t)
                std::ranges::copy(in(node, 0).subspan(size_t(rows[t]) * dim, dim), &out[t * dim]);
            return;
        }
        case Op::RmsNorm: {
            const std::span<const float> x = in(node, 0), w = in(node, 1);
            for (size_t r = 0; r < x.size(); r += w.size()) {
                double sum = 0;
                for (size_t i = 0; i < w.size(); ++i) sum += double(x[r + i]) * double(x[r + i]);
                const double eps = double(node.as<graph::RmsNormAttributes>().eps);
                const float scale = float(1.0 / std::sqrt(sum / double(w.size()) + eps));
                for (size_t i = 0; i < w.size(); ++i) out[r + i] = x[r + i] * scale * w[i];
            }
            return;
        }
        case Op::MatMul:
            return matmul(in(node, 0), in(node, 1), graph_[node.inputs[0]].shape.dim, out);
        case Op::MatMulGroup: {
            size_t offset = 0;
            for (size_t i = 1; i < node.inputs.size(); ++i) {
                const graph::Shape w = graph_[node.inputs[i]].shape;
                const size_t n = graph_[node.inputs[0]].shape.rows * w.rows;
                matmul(in(node, i), in(node, 0), w.dim, out.subspan(offset, n));
                offset += n;
            }
            return;
        }
        case Op::MatMulSwiGlu: {
            std::vector<float> gate(out.size()), up(out.size());
            matmul(in(node, 1), in(node, 0), graph_[node.inputs[1]].shape.dim, gate);
            matmul(in(node, 2), in(node, 0), graph_[node.inputs[2]].shape.dim, up);
            for (size_t i = 0; i < out.size(); ++i) out[i] = silu(gate[i]) * up[i];
            return;
        }
        case Op::AddBias:
            for (size_t i = 0; i < out.size(); ++i) out[i] = in(node, 0)[i] + in(node, 1)[i % dim];
            return;
        case Op::Add:
            for (size_t i = 0; i < out.size(); ++i) out[i] = in(node, 0)[i] + in(node, 1)[i];
            return;
        case Op::Mul:
            for (size_t i = 0; i < out.size(); ++i) out[i] = in(node, 0)[i] * in(node, 1)[i];
            return;
        case Op::Silu:
            for (size_t i = 0; i < out.size(); ++i) out[i] = silu(in(node, 0)[i]);
            return;
        case Op::SwiGlu:
            for (size_t i = 0; i < out.size(); ++i) out[i] = silu(in(node, 0)[i]) * in(node, 1)[i];
            return;
        case Op::RopeTable: {
            const auto& rope = node.as<graph::RopeParams>();
            for (size_t t = 0; t < node.shape.rows; ++t)
                for (size_t i = 0; i < rope.n_rot / 2; ++i) {
                    const double frequency = std::pow(rope.freq_base, -2.0 * double(i) / double(rope.n_rot));
                    const double angle = double(inputs_->positions[t]) * frequency;
                    out[t * rope.n_rot + i] = float(std::cos(angle));
                    out[t * rope.n_rot + rope.n_rot / 2 + i] = float(std::sin(angle));
                }
            return;
        }
        case Op::Rope:
            return rope(in(node, 0), in(node, 1), node.shape.rows, node.as<graph::RopeAttributes>(), out);
        case Op::BiasRope: {
            std::vector<float> sum(out.size());
            for (size_t i = 0; i < out.size(); ++i) sum[i] = in(node, 0)[i] + in(node, 1)[i % dim];
            return rope(sum, in(node, 2), node.shape.rows, node.as<graph::RopeAttributes>(), out);
        }
        case Op::StoreKv: {
            const size_t layer = node.as<graph::StoreKvAttributes>().layer;
            for (size_t part : {size_t(0), size_t(1)}) {
                const size_t n = graph_[node.inputs[part]].shape.dim;
                for (size_t t = 0; t < inputs_->kv_cells.size(); ++t)
                    std::ranges::copy(in(node, part).subspan(t * n, n),
                                      cells(layer, part == 0) + size_t(inputs_->kv_cells[t]) * n);
            }
            return;
        }
        case Op::Attention:
            return attention(node, in(node, 0), out);
        case Op::Weight:
        case Op::Input:
        case Op::View:
        case Op::Copy:
            break;
    }
    throw std::logic_error("a node that no backend executes");
}

}  // namespace

InterpreterBackend::InterpreterBackend(std::string name, Options options)
    : name_(std::move(name)), options_(std::move(options)) {}

bool InterpreterBackend::supports_op(const Graph& graph, NodeId id, kv::CellType cells) const {
    const Op op = graph[id].op;
    if (graph::is_leaf(op) || op == Op::View || op == Op::Copy)
        throw std::logic_error("asked about a node that needs no kernel");
    if ((op == Op::StoreKv || op == Op::Attention) && cells != kv::CellType::F32) return false;
    return !options_.refused.contains(op);
}

bool InterpreterBackend::supports_fused(backend::Fusion fusion) const {
    return !options_.refused_fusions.contains(fusion);
}

std::unique_ptr<backend::Buffer> InterpreterBackend::allocate(size_t bytes, backend::Purpose) {
    return std::make_unique<MemoryBuffer>(bytes, options_.host_visible);
}

void InterpreterBackend::register_weights(const graph::WeightTable& table, std::span<const graph::WeightId> ids) {
    weights_.resize(table.size());
    for (graph::WeightId id : ids) {
        if (!weights_[size_t(id)].empty()) throw std::logic_error("weight registered twice: " + table[id].name);
        weights_[size_t(id)] = table[id].data;
        ++n_registered;
    }
}

std::unique_ptr<backend::Program> InterpreterBackend::prepare(const Graph& graph, std::span<const NodeId> nodes,
                                                              std::span<const size_t> offsets, const kv::Layout&) {
    return std::make_unique<Interpreter>(*this, graph, nodes, offsets);
}

std::span<const float> InterpreterBackend::weight(graph::WeightId id) const {
    const std::span<const std::byte> bytes = weights_.at(size_t(id));
    if (bytes.empty()) throw std::logic_error("weight not registered");
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace minfer::test
