#include "backend/cpu/scratch.h"

namespace minfer::cpu {

std::span<std::byte> Scratch::take(size_t n) {
    if (n > capacity()) {
        bytes_ = Pages();  // before the larger one is there, so that both never are
        bytes_ = Pages(aligned(n));
    }
    return {bytes_.data(), n};
}

}  // namespace minfer::cpu
