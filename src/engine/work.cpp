#include "engine/work.h"

#include "gguf/types.h"

namespace minfer::engine {

using graph::Node;
using graph::NodeId;
using graph::Op;

Work& Work::operator+=(const Work& other) {
    weight_bytes += other.weight_bytes;
    kv_bytes += other.kv_bytes;
    integer_multiply_adds += other.integer_multiply_adds;
    float_multiply_adds += other.float_multiply_adds;
    return *this;
}

Work work_of(const graph::Graph& graph, const graph::WeightTable& weights, const kv::Layout& layout, SeenCells seen) {
    Work work;
    const auto multiply = [&](NodeId weight, size_t n_token) {
        const graph::Weight& w = weights[graph[weight].as<graph::WeightAttributes>().id];
        work.weight_bytes += w.data.size();
        const bool is_float =
            w.type == gguf::TensorType::F32 || w.type == gguf::TensorType::F16 || w.type == gguf::TensorType::BF16;
        (is_float ? work.float_multiply_adds : work.integer_multiply_adds) += w.shape.n_values() * n_token;
    };
    const uint64_t cell_bytes = layout.k_row_bytes() + layout.v_row_bytes();
    for (const Node& node : graph.nodes()) {
        switch (node.op) {
            case Op::MatMul:
                multiply(node.inputs[0], node.shape.rows);
                break;
            case Op::MatMulGroup:
            case Op::MatMulSwiGlu:
                for (size_t i = 1; i < node.inputs.size(); ++i)
                    multiply(node.inputs[i], graph[node.inputs[0]].shape.rows);
                break;
            case Op::GetRows: {
                const graph::Weight& w = weights[graph[node.inputs[0]].as<graph::WeightAttributes>().id];
                work.weight_bytes += w.data.size() / w.shape.rows * node.shape.rows;
                break;
            }
            case Op::RmsNorm:
            case Op::AddBias:
            case Op::BiasRope:
                work.weight_bytes += weights[graph[node.inputs[1]].as<graph::WeightAttributes>().id].data.size();
                break;
            case Op::StoreKv:
                work.kv_bytes += graph[node.inputs[0]].shape.rows * cell_bytes;
                break;
            case Op::Attention: {
                const auto& a = node.as<graph::AttentionAttributes>();
                work.kv_bytes += seen.n_cell * cell_bytes;
                work.float_multiply_adds += seen.n_key * a.n_head * a.head_dim * 2;  // q times k, p times v
                break;
            }
            default:  // the rest reads activations, which are in the caches
                break;
        }
    }
    return work;
}

}  // namespace minfer::engine
