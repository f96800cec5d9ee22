#include "graph/op.h"

namespace minfer::graph {

std::string_view op_name(Op op) {
    switch (op) {
        case Op::Weight:
            return "weight";
        case Op::Input:
            return "input";
        case Op::GetRows:
            return "get_rows";
        case Op::RmsNorm:
            return "rms_norm";
        case Op::MatMul:
            return "matmul";
        case Op::AddBias:
            return "add_bias";
        case Op::Add:
            return "add";
        case Op::Mul:
            return "mul";
        case Op::Silu:
            return "silu";
        case Op::RopeTable:
            return "rope_table";
        case Op::Rope:
            return "rope";
        case Op::StoreKv:
            return "store_kv";
        case Op::Attention:
            return "attention";
        case Op::SelectRows:
            return "select_rows";
        case Op::View:
            return "view";
        case Op::SwiGlu:
            return "swiglu";
        case Op::BiasRope:
            return "bias_rope";
        case Op::MatMulGroup:
            return "matmul_group";
        case Op::MatMulSwiGlu:
            return "matmul_swiglu";
        case Op::Copy:
            return "copy";
    }
    return "?";
}

bool is_leaf(Op op) { return op == Op::Weight || op == Op::Input; }

std::span<const size_t> in_place_inputs(Op op) {
    static constexpr size_t kFirst[] = {0};
    static constexpr size_t kFirstTwo[] = {0, 1};
    switch (op) {
        case Op::RmsNorm:
        case Op::AddBias:
        case Op::Silu:
        case Op::Rope:
        case Op::BiasRope:
            return kFirst;
        case Op::Add:
        case Op::Mul:
        case Op::SwiGlu:
            return kFirstTwo;
        default:
            return {};
    }
}

std::string_view input_name(InputKind kind) {
    switch (kind) {
        case InputKind::TokenIds:
            return "token_ids";
        case InputKind::Positions:
            return "positions";
        case InputKind::KvCells:
            return "kv_cells";
        case InputKind::CellMap:
            return "cell_map";
        case InputKind::OutputRows:
            return "output_rows";
    }
    return "?";
}

}  // namespace minfer::graph
