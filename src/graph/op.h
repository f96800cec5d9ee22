// The operators of a graph and their attributes.
//
// Shapes are [rows][dim], row-major; activations are [n_token][dim] in f32. What each operator takes and gives is
// beside its enumerator; how it rounds is in docs/numerics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/weight_table.h"

namespace minfer::graph {

enum class Op : uint8_t {
    // Leaves: nothing computes them.
    Weight,  // a model tensor [n_out][n_in], or [1][n]; WeightAttributes
    Input,   // data of the batch; InputKind

    GetRows,  // table weight [n_row][dim], ids [n][1] -> [n][dim], decoded to f32
    RmsNorm,  // x [n][dim], weight [1][k], k a divisor of dim -> [n][dim], each k values by themselves (k = dim: rows)
    MatMul,   // w weight [n_out][n_in], x [n][n_in] -> [n][n_out]
    AddBias,  // x [n][dim], bias weight [1][dim] -> [n][dim]
    Add,      // a, b of one shape
    Mul,      // a, b of one shape
    Silu,     // x -> x / (1 + exp(-x))
    RopeTable,   // positions [n][1] (, factors weight [1][n_rot / 2]) -> [n][n_rot], RopeParams:
                 // n_rot / 2 cosines, then n_rot / 2 sines
    Rope,        // x [n][n_head * head_dim], table [n][n_rot] -> as x; RopeLayout, head_dim
    StoreKv,     // k [n][n_head_kv * head_dim], v likewise, cells [n][1] -> an Effect: the layer's cells are written
    Attention,   // q [n][n_head * head_dim], StoreKv's effect, the cell map -> [n][n_head * head_dim]
    SelectRows,  // x [n][dim], rows [m][1] -> [m][dim]
    View,        // x -> its values from `offset` on, as another shape; no copy

    // Fused: made by runtime/fuse from chains of the above, with the same bits.
    SwiGlu,        // gate, up of one shape -> silu(gate) * up
    BiasRope,      // x, bias, table -> Rope(AddBias(x, bias), table)
    MatMulGroup,   // x [n][n_in], w_0 ... w_k [n_out_i][n_in] -> [1][n * sum n_out_i]: the parts one after the other,
                   // part i as [n][n_out_i]; Views take them out
    MatMulSwiGlu,  // x [n][n_in], gate, up [n_out][n_in] -> SwiGlu(MatMul(gate, x), MatMul(up, x)): [n][n_out]

    Copy,  // made by runtime/split: x, which another backend computed -> the same values on this node's backend
};

std::string_view op_name(Op op);  // "rms_norm", "matmul"
bool is_leaf(Op op);              // Weight, Input
// Which inputs the output may overwrite: every value of the output depends on the value of that input in its place, or
// in its own row or head, which the operator reads before it writes. Empty where none may be.
std::span<const size_t> in_place_inputs(Op op);

// The batch data, all int32. Positions, cells and ids are data: no graph depends on their values.
enum class InputKind : uint8_t {
    TokenIds,    // [n_token][1]
    Positions,   // [n_token][1], of each token in its sequence
    KvCells,     // [n_token][1], the cell that each token's key and value go to
    CellMap,     // [n_token][1], kv::AttentionMap: what each token sees; its length is not part of the shape
    OutputRows,  // [n_output_rows][1], the tokens whose logits are wanted, as rows of the batch
};
std::string_view input_name(InputKind kind);

struct WeightAttributes {
    WeightId id = kNoWeight;
    gguf::TensorType type = gguf::TensorType::F32;
    bool operator==(const WeightAttributes&) const = default;
};

struct RmsNormAttributes {
    float eps = 0;  // > 0, as the model file gives it
    bool operator==(const RmsNormAttributes&) const = default;
};

// The angles of RoPE: pair i of n_rot / 2 turns by position * freq_base^(-2i / n_rot), then scaled.
struct RopeParams {
    enum class Scaling : uint8_t {
        None,
        Linear,  // positions divided by `factor`
        Yarn,    // Peng et al. 2023: interpolated for slow pairs, untouched for fast ones, a ramp between
    };
    size_t n_rot = 0;  // values of a head that turn; even, at most head_dim
    double freq_base = 10000;
    Scaling scaling = Scaling::None;
    double factor = 1;       // of the context's length; Linear, Yarn
    double n_ctx_orig = 0;   // Yarn: the context that the model was trained with
    double ext_factor = 1;   // Yarn: weight of the extrapolated part
    double attn_factor = 1;  // Yarn: cosines and sines times this and times 1 + 0.1 ln(factor)
    double beta_fast = 32;   // Yarn: turns within n_ctx_orig above which a pair is left alone
    double beta_slow = 1;    // Yarn: turns below which a pair is wholly interpolated
    bool operator==(const RopeParams&) const = default;
};

// Which values of a head make pair i.
enum class RopeLayout : uint8_t {
    Interleaved,  // 2i and 2i + 1: llama in GGUF
    Half,         // i and i + n_rot / 2: qwen2, qwen3
};

struct RopeAttributes {
    RopeLayout layout = RopeLayout::Half;
    size_t head_dim = 0;
    bool operator==(const RopeAttributes&) const = default;
};

struct StoreKvAttributes {
    size_t layer = 0;
    bool operator==(const StoreKvAttributes&) const = default;
};

struct AttentionAttributes {
    size_t layer = 0;
    size_t n_head = 0;
    size_t n_head_kv = 0;  // divides n_head: query head h reads key head h / (n_head / n_head_kv)
    size_t head_dim = 0;   // of queries, keys and values
    float scale = 0;       // of a query times a key
    bool operator==(const AttentionAttributes&) const = default;
};

struct ViewAttributes {
    size_t offset = 0;  // in values, from the first of the input
    bool operator==(const ViewAttributes&) const = default;
};

using Attributes = std::variant<std::monostate, WeightAttributes, InputKind, RmsNormAttributes, RopeParams,
                                RopeAttributes, StoreKvAttributes, AttentionAttributes, ViewAttributes>;

}  // namespace minfer::graph
