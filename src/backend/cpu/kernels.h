// The sets of row and tile functions that operators are made of. Each set is the same source compiled for one
// instruction set, except the scalar one, which is the definition the others are tested against, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backend/cpu/attention.h"
#include "backend/cpu/kv_cells.h"
#include "backend/cpu/quantize_activations.h"
#include "backend/cpu/weights.h"
#include "base/cpu_features.h"

namespace minfer::cpu {

// Rows of W that one matmul kernel takes at a time: a lane of a vector is an output row.
inline constexpr size_t kPanelRows = 16;

// Tokens that lie together where a set arranges activations in its own way.
inline constexpr size_t kTokenGroup = 16;

// The x of a matmul. x [n_token][n_in], and for weights that are integers what quantize_row makes of it:
// q [n_token][n_in], d [n_token][n_in / block], sums16 [n_token][n_in / 16], sums32 [n_token][n_in / 32].
struct Activations {
    const float* x = nullptr;
    const int8_t* q = nullptr;
    const float* d = nullptr;
    const int16_t* sums16 = nullptr;
    const int16_t* sums32 = nullptr;
    size_t n_in = 0;
    size_t block = 0;  // 32, 256, or 0 where only x is used
    // What Kernels::arrange made of the above, for `panel`: groups of kTokenGroup tokens, arranged_bytes each.
    const std::byte* arranged = nullptr;
    size_t arranged_bytes = 0;
};

// Matmul of one weight type. Three shapes that give the same bits: from rows as the file holds them, from compact
// panels (compact.h), and from unpacked ones (panel.h).
struct MatmulKernels {
    // One token, rows: out[0 .. 15] = the 16 rows that start at `rows` and lie `row_bytes` apart, times token `token`.
    // May prefetch, but not read, past them.
    void (*rows)(const std::byte* rows, size_t row_bytes, const Activations& x, size_t token, float* out) = nullptr;
    // The 16 rows as a compact panel of compact_bytes(), at any alignment. Reads nothing past the rows.
    void (*repack)(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* compact) = nullptr;
    // Few tokens, n_token from `token` on: out[t * out_stride + r] for t < n_token, r < 16. May prefetch past the
    // panel.
    void (*compact)(const std::byte* compact, const Activations& x, size_t token, size_t n_token, float* out,
                    size_t out_stride) = nullptr;
    // Many tokens: unpacks the 16 rows, or a compact panel of them, into `panel` (64-aligned; panel_block_bytes for
    // each block of the type, or each value of a float type; its content is the set's own affair) ...
    void (*pack)(const std::byte* rows, size_t row_bytes, size_t n_in, std::byte* panel) = nullptr;
    void (*unpack)(const std::byte* compact, size_t n_in, std::byte* panel) = nullptr;
    // ... and multiplies n_token tokens from `token` on by n_panel panels that lie panel_bytes apart:
    // out[t * out_stride + 16 p + r] for t < n_token, p < n_panel, r < 16. These three are null in a set that has no
    // use for unpacked panels.
    void (*panel)(const std::byte* panels, size_t panel_bytes, size_t n_panel, const Activations& x, size_t token,
                  size_t n_token, float* out, size_t out_stride) = nullptr;
    size_t panel_block_bytes = 0;
};

inline constexpr size_t kWeightTypes = 15;
// The place of a type in Kernels::matmul. Throws UnsupportedError for a type that supports_weights() refuses.
size_t weight_index(gguf::TensorType type);

// How a set wants the integers of many tokens to lie: what a group of kTokenGroup tokens takes (a multiple of 64
// bytes), and token `token` of a group put there. Null where `panel` uses them as quantize_row leaves them.
using ArrangedBytes = size_t (*)(size_t n_in, size_t block);
using Arrange = void (*)(const QuantizedRow& row, size_t n_in, size_t block, size_t token, std::byte* group);

struct Kernels {
    std::string_view name;
    CpuFeatures needs;

    void (*rms_norm_row)(const float* x, const float* weight, float eps, float* out, size_t dim);
    void (*add_row)(const float* a, const float* b, float* out, size_t n);
    void (*mul_row)(const float* a, const float* b, float* out, size_t n);
    void (*silu_row)(const float* x, float* out, size_t n);
    void (*swiglu_row)(const float* gate, const float* up, float* out, size_t n);
    void (*rope_interleaved)(const float* x, const float* bias, const float* cos, const float* sin, float* out,
                             size_t n_rot, size_t head_dim);
    void (*rope_halves)(const float* x, const float* bias, const float* cos, const float* sin, float* out, size_t n_rot,
                        size_t head_dim);
    void (*quantize_row)(const float* x, size_t n_in, size_t block, const QuantizedRow& out);
    ArrangedBytes arranged_bytes;
    Arrange arrange;
    // attention.h. `across` may be null; attention_across is, in a set that has no use for it.
    void (*attention_tile)(const TileQuery* queries, size_t n_query, const float* const* k, const float* const* v,
                           const float* across, size_t head_dim, float scale);
    void (*attention_across)(const float* const* k, size_t n_key, size_t head_dim, float* across);
    void (*attention_merge)(TileResult* total, float* out, TileResult next, const float* next_out, size_t head_dim);
    void (*attention_finish)(float sum, float* out, size_t head_dim);
    void (*encode_f16_row)(const float* x, std::byte* out, size_t n);
    void (*decode_f16_row)(const std::byte* row, float* out, size_t n);
    void (*decode_q8_0_row)(const std::byte* row, float* out, size_t n);
    MatmulKernels matmul[kWeightTypes];
};

// Every set of this build, best first; the last is "scalar", which needs nothing.
std::span<const Kernels* const> all_kernels();
const Kernels& scalar_kernels();

// What is needed and `features` lack, in words ("avx512bw, avx512vl"); empty where nothing is.
std::string missing_features(const CpuFeatures& needs, const CpuFeatures& features);
std::string missing_features(const Kernels& kernels, const CpuFeatures& features);

// The best set that `features` can run, or the one named `forced`. Throws UsageError for a name that is not in the
// list, UnsupportedError for a set that this CPU (or the environment: usable_cpu_features()) rules out.
const Kernels& choose_kernels(const CpuFeatures& features, std::string_view forced = {});

}  // namespace minfer::cpu
