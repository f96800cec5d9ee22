// A matmul as one thread works on it: some rows of the weights times some tokens.
#pragma once

#include <cstddef>

#include "backend/cpu/kernels.h"
#include "backend/cpu/weights.h"

namespace minfer::cpu {

// From this many tokens on, compact panels are unpacked first; fewer are multiplied by them as they are, eight at a
// time.
inline constexpr size_t kUnpackTokens = 17;

struct Range {
    size_t begin = 0, end = 0;
    size_t size() const { return end - begin; }
};

class Product {
  public:
    Product() = default;
    Product(const Kernels& kernels, const Weights& weights, size_t n_token);

    const Weights& weights() const { return weights_; }
    // Whether n_token are many enough for rows to be unpacked first.
    bool unpacks() const { return unpacks_; }
    // What unpacked rows take, a multiple of 64 bytes; 0 where they are not unpacked.
    size_t unpacked_bytes(size_t n_row) const;

    // Rows start at a multiple of kPanelRows and end at one or at the last row. `to` is 64-aligned. Nothing is done
    // where rows are not unpacked.
    void unpack(Range rows, std::byte* to) const;
    // out[(t - tokens.begin) * out_stride + r - rows.begin], from what unpack() made of the same rows. x is of all
    // tokens; tokens.begin is a multiple of kTokenGroup.
    void multiply(Range rows, Range tokens, const Activations& x, const std::byte* unpacked, float* out,
                  size_t out_stride) const;

  private:
    struct RowGroup;
    RowGroup row_group(size_t row) const;
    const std::byte* compact_panel(size_t row) const;
    size_t panel_bytes() const;
    void multiply_rows(Range rows, Range tokens, const Activations& x, float* out, size_t out_stride) const;
    void multiply_panels(Range rows, Range tokens, const Activations& x, const std::byte* unpacked, float* out,
                         size_t out_stride) const;

    const MatmulKernels* kernels_ = nullptr;
    Weights weights_;
    bool unpacks_ = false;
};

}  // namespace minfer::cpu
