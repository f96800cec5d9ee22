#include "backend/cpu/scratch.h"

namespace minfer::cpu {

std::span<std::byte> Scratch::take(size_t n) {
    if (n > capacity_) {
        bytes_.reset();  // before the larger one is there, so that both never are
        capacity_ = 0;
        const size_t rounded = (n + kAlignment - 1) / kAlignment * kAlignment;
        bytes_.reset(static_cast<std::byte*>(::operator new[](rounded, std::align_val_t(kAlignment))));
        capacity_ = rounded;
    }
    return {bytes_.get(), n};
}

}  // namespace minfer::cpu
