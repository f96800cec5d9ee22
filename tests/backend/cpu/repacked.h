// Weights repacked by the definition.
#pragma once

#include "backend/cpu/compact.h"
#include "backend/cpu/compact_reference.h"
#include "each_kernels.h"

namespace minfer::cpu::test {

// Weights with the compact panels of their whole groups of 16 rows, which end at a guard page.
class Repacked {
  public:
    explicit Repacked(const Weights& w) : weights_(w), panels_(w.n_out / kPanelRows * compact_bytes(w.type, w.n_in)) {
        const size_t bytes = compact_bytes(w.type, w.n_in);
        for (size_t p = 0; p < w.n_out / kPanelRows; ++p)
            repack_reference(w.type, w.data + p * kPanelRows * w.row_bytes, w.row_bytes, w.n_in,
                             panels_.data() + p * bytes);
        weights_.panels = panels_.data();
    }
    const Weights& weights() const { return weights_; }

  private:
    Weights weights_;
    Guarded<std::byte> panels_;
};

}  // namespace minfer::cpu::test
