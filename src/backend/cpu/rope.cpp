#include "backend/cpu/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/rows_in_parallel.h"
#include "base/canonical_math.h"
#include "base/error.h"

namespace minfer::cpu {

namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

bool positive(double x) { return std::isfinite(x) && x > 0; }

// YaRN: the pair, as a real number, that turns `rotations` times over the original context.
double pair_of_rotations(const RopeParams& params, double rotations) {
    return double(params.n_rot) * canonical_log(double(params.n_ctx_orig) / (rotations * 2 * kPi)) /
           (2 * canonical_log(params.freq_base));
}

void check(const RopeParams& params) {
    const auto require = [](bool ok, const char* name, double found, const char* expected) {
        if (!ok) throw ShapeError(fmt::format("rope: {} is {}, expected {}", name, found, expected));
    };
    require(params.n_rot > 0 && params.n_rot % 2 == 0, "n_rot", double(params.n_rot), "an even number above 0");
    require(params.freq_factors.empty() || params.freq_factors.size() == params.n_rot / 2, "number of freq_factors",
            double(params.freq_factors.size()), "none or half of n_rot");
    require(positive(params.freq_base), "freq_base", params.freq_base, "a positive number");
    require(positive(params.freq_scale), "freq_scale", params.freq_scale, "a positive number");
    for (const float f : params.freq_factors) require(positive(f), "a freq_factor", f, "a positive number");
    if (params.ext_factor == 0) return;
    require(positive(params.ext_factor), "ext_factor", params.ext_factor, "a positive number");
    require(positive(params.attn_factor), "attn_factor", params.attn_factor, "a positive number");
    require(positive(params.beta_fast), "beta_fast", params.beta_fast, "a positive number");
    require(positive(params.beta_slow), "beta_slow", params.beta_slow, "a positive number");
    require(params.n_ctx_orig > 0, "n_ctx_orig", double(params.n_ctx_orig), "a positive number");
    require(params.freq_base > 1, "freq_base", params.freq_base, "a number above 1, with YaRN");
}

}  // namespace

RopeTable::RopeTable(const RopeParams& params) {
    check(params);
    const size_t n_pair = params.n_rot / 2;
    frequencies_.resize(n_pair);
    double low = 0, high = 0;
    if (params.ext_factor != 0) {
        low = std::max(0.0, std::floor(pair_of_rotations(params, params.beta_fast)));
        high = std::min(double(params.n_rot) - 1, std::ceil(pair_of_rotations(params, params.beta_slow)));
        magnitude_ = params.attn_factor;
        if (params.freq_scale < 1) magnitude_ *= 1 + 0.1 * canonical_log(1 / params.freq_scale);
    }
    for (size_t j = 0; j < n_pair; ++j) {
        double original = canonical_pow(params.freq_base, -2.0 * double(j) / double(params.n_rot));
        if (!params.freq_factors.empty()) original /= double(params.freq_factors[j]);
        const double interpolated = params.freq_scale * original;
        frequencies_[j] = interpolated;
        if (params.ext_factor != 0) {
            // 1 where a pair turns often enough to keep its frequency, 0 where it is interpolated.
            const double ramp = 1 - std::min(1.0, std::max(0.0, (double(j) - low) / std::max(0.001, high - low)));
            const double mix = ramp * params.ext_factor;
            frequencies_[j] = interpolated * (1 - mix) + original * mix;
        }
    }
}

void RopeTable::fill(std::span<const int32_t> positions) {
    if (std::ranges::equal(positions, positions_)) return;
    for (const int32_t p : positions)
        if (p < 0) throw ShapeError(fmt::format("rope: position {}, expected 0 or above", p));
    const size_t n_pair = frequencies_.size();
    positions_.assign(positions.begin(), positions.end());
    if (cos_.size() < positions.size() * n_pair) {
        cos_.resize(positions.size() * n_pair);
        sin_.resize(positions.size() * n_pair);
    }
    for (size_t t = 0; t < positions.size(); ++t)
        for (size_t j = 0; j < n_pair; ++j) {
            const double angle = double(positions[t]) * frequencies_[j];
            cos_[t * n_pair + j] = float(canonical_cos(angle) * magnitude_);
            sin_[t * n_pair + j] = float(canonical_sin(angle) * magnitude_);
        }
}

namespace {

void turn(const char* name, const Kernels& kernels, ThreadPool& pool, std::span<const float> x, const float* bias,
          size_t n_bias, size_t n_head, size_t head_dim, const RopeTable& table, RopePairs pairs,
          std::span<float> out) {
    const size_t n_token = table.n_token(), n_rot = table.n_rot();
    if (x.size() != n_token * n_head * head_dim || out.size() != x.size() || n_rot > head_dim ||
        (bias && n_bias != n_head * head_dim))
        throw ShapeError(
            fmt::format("{}: x of {}, bias of {} and out of {} values; a table of {} tokens and {} values a "
                        "head, for {} heads of {}",
                        name, x.size(), n_bias, out.size(), n_token, n_rot, n_head, head_dim));
    const auto kernel = pairs == RopePairs::interleaved ? kernels.rope_interleaved : kernels.rope_halves;
    rows_in_parallel(pool, n_token, n_head * head_dim, [&](size_t t) {
        const float* cos = table.cos().data() + t * (n_rot / 2);
        const float* sin = table.sin().data() + t * (n_rot / 2);
        for (size_t h = 0; h < n_head; ++h) {
            const size_t at = (t * n_head + h) * head_dim;
            kernel(x.data() + at, bias ? bias + h * head_dim : nullptr, cos, sin, out.data() + at, n_rot, head_dim);
        }
    });
}

}  // namespace

void rope(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, size_t n_head, size_t head_dim,
          const RopeTable& table, RopePairs pairs, std::span<float> out) {
    turn("rope", kernels, pool, x, nullptr, 0, n_head, head_dim, table, pairs, out);
}

void bias_rope(const Kernels& kernels, ThreadPool& pool, std::span<const float> x, std::span<const float> bias,
               size_t n_head, size_t head_dim, const RopeTable& table, RopePairs pairs, std::span<float> out) {
    static const float kNone = 0;  // an empty bias is an error to be named, not the absence of one
    turn("bias_rope", kernels, pool, x, bias.empty() ? &kNone : bias.data(), bias.size(), n_head, head_dim, table,
         pairs, out);
}

}  // namespace minfer::cpu
