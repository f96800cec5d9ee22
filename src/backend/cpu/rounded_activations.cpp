#include "backend/cpu/rounded_activations.h"

#include <cstring>

#include "backend/cpu/panel.h"
#include "backend/cpu/rows_in_parallel.h"
#include "backend/cpu/scratch.h"

namespace minfer::cpu {

RoundedActivations::RoundedActivations(const Kernels& kernels, std::span<const float> x, size_t n_in)
    : kernels_(kernels), x_(x), n_in_(n_in), n_token_(x.size() / n_in) {}

void RoundedActivations::want(gguf::TensorType type, bool arranged) {
    size_t at = 0;
    for (Integers& of : integers_) {
        if (of.block == panel_layout(type).block) {
            of.wanted = true;
            if (arranged && kernels_.arrange) of.arranged_bytes = kernels_.arranged_bytes(n_in_, of.block);
        }
        place(of, at);
        at = of.end;
    }
}

void RoundedActivations::place(Integers& of, size_t at) const {
    of.q = of.end = at;
    if (!of.wanted) return;
    of.d = of.q + Scratch::aligned(n_token_ * n_in_);
    of.sums16 = of.d + Scratch::aligned(n_token_ * (n_in_ / of.block) * sizeof(float));
    of.sums32 = of.sums16 + (of.block == 256 ? Scratch::aligned(n_token_ * (n_in_ / 16) * sizeof(int16_t)) : 0);
    of.arranged = of.sums32 + Scratch::aligned(n_token_ * (n_in_ / 32) * sizeof(int16_t));
    of.end = of.arranged + (n_token_ + kTokenGroup - 1) / kTokenGroup * of.arranged_bytes;
}

size_t RoundedActivations::bytes() const { return integers_.back().end; }

QuantizedRow RoundedActivations::row(const Integers& of, size_t token) const {
    return {
        .q = reinterpret_cast<int8_t*>(memory_ + of.q) + token * n_in_,
        .d = reinterpret_cast<float*>(memory_ + of.d) + token * (n_in_ / of.block),
        .sums16 = of.block == 256 ? reinterpret_cast<int16_t*>(memory_ + of.sums16) + token * (n_in_ / 16) : nullptr,
        .sums32 = reinterpret_cast<int16_t*>(memory_ + of.sums32) + token * (n_in_ / 32)};
}

void RoundedActivations::round_token(size_t token) const {
    for (const Integers& of : integers_) {
        if (!of.wanted) continue;
        const QuantizedRow to = row(of, token);
        kernels_.quantize_row(x_.data() + token * n_in_, n_in_, of.block, to);
        if (of.arranged_bytes)
            kernels_.arrange(to, n_in_, of.block, token % kTokenGroup,
                             memory_ + of.arranged + token / kTokenGroup * of.arranged_bytes);
    }
}

void RoundedActivations::round(ThreadPool& pool, std::byte* memory) {
    memory_ = memory;
    // The places of tokens that the last group lacks are multiplied too, and the results thrown away.
    for (const Integers& of : integers_)
        if (of.wanted && of.arranged_bytes && n_token_ % kTokenGroup != 0)
            std::memset(memory + of.arranged + n_token_ / kTokenGroup * of.arranged_bytes, 0, of.arranged_bytes);
    if (bytes() != 0) rows_in_parallel(pool, n_token_, n_in_, [&](size_t token) { round_token(token); });
}

Activations RoundedActivations::of(gguf::TensorType type) const {
    Activations x = {.x = x_.data(), .n_in = n_in_, .block = panel_layout(type).block};
    for (const Integers& of : integers_) {
        if (of.block != x.block) continue;
        const QuantizedRow first = row(of, 0);
        x.q = first.q, x.d = first.d, x.sums16 = first.sums16, x.sums32 = first.sums32;
        x.arranged = memory_ + of.arranged;
        x.arranged_bytes = of.arranged_bytes;
    }
    return x;
}

}  // namespace minfer::cpu
