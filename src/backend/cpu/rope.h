// Rotary position embedding (Su et al. 2021): pair j of a head is turned by position * frequency[j].
// Frequencies and angles are double, and each cosine and sine is rounded once to float; docs/numerics.md, "RoPE".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/threads.h"

namespace minfer::cpu {

// Which two values of a head are pair j.
enum class RopePairs {
    interleaved,  // 2j and 2j + 1: llama as GGUF stores it
    halves,       // j and j + n_rot / 2: qwen2, qwen3 ("neox")
};

struct RopeParams {
    size_t n_rot = 0;  // values of a head that turn, even; those after them are copied
    double freq_base = 10000;
    // Position interpolation: every angle is multiplied by it. 1 / factor of linear scaling and of YaRN; else 1.
    double freq_scale = 1;
    // [n_rot / 2] or empty: each frequency is divided by its factor (llama3's scaling, tensor rope_freqs.weight).
    std::span<const float> freq_factors = {};
    // YaRN (Peng et al. 2023). With ext_factor 0 there is none, and the other four are not read.
    double ext_factor = 0;   // 1 for YaRN: how much of the ramp between interpolated and original angles applies
    double attn_factor = 1;  // the file's own factor; cosine and sine are multiplied by it and by
                             // 1 + 0.1 ln(1 / freq_scale) where freq_scale < 1
    double beta_fast = 32, beta_slow = 1;
    size_t n_ctx_orig = 0;  // the context length the model was first trained with
};

// Cosines and sines of the positions of one batch. Keeps what it computed: filling it with the same positions again, as
// every layer of a graph does, costs a comparison.
class RopeTable {
  public:
    // Copies what it needs of `params`. Throws ShapeError if n_rot is odd or 0, freq_factors is of another length than
    // n_rot / 2, or a parameter is not a positive finite number where it must be.
    explicit RopeTable(const RopeParams& params);

    // positions [n_token], each >= 0. Allocates only where n_token exceeds all before.
    void fill(std::span<const int32_t> positions);

    size_t n_rot() const { return 2 * frequencies_.size(); }
    size_t n_token() const { return positions_.size(); }
    std::span<const double> frequencies() const { return frequencies_; }  // [n_rot / 2]
    std::span<const float> cos() const {
        return {cos_.data(), n_token() * frequencies_.size()};
    }  // [n_token][n_rot / 2]
    std::span<const float> sin() const {
        return {sin_.data(), n_token() * frequencies_.size()};
    }  // [n_token][n_rot / 2]

  private:
    std::vector<double> frequencies_;  // radians a position, scaling included
    double magnitude_ = 1;             // YaRN's attention factor
    std::vector<int32_t> positions_;
    std::vector<float> cos_, sin_;
};

// x, out [n_token][n_head][head_dim]; out is x itself or apart from it. Token t turns by table's row t.
// Throws ShapeError if the table's n_token does not divide x into tokens of n_head * head_dim, n_rot exceeds head_dim,
// or out is not of x's size.
void rope(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, size_t n_head, size_t head_dim,
          const RopeTable& table, RopePairs pairs, std::span<float> out);

// rope(add_bias(x, bias)), bit for bit; bias [n_head * head_dim].
void bias_rope(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<const float> bias,
               size_t n_head, size_t head_dim, const RopeTable& table, RopePairs pairs, std::span<float> out);

// One head; cos, sin [n_rot / 2]; bias [head_dim] or null.
void rope_interleaved_reference(const float* x, const float* bias, const float* cos, const float* sin, float* out,
                                size_t n_rot, size_t head_dim);
void rope_halves_reference(const float* x, const float* bias, const float* cos, const float* sin, float* out,
                           size_t n_rot, size_t head_dim);

}  // namespace minfer::cpu
