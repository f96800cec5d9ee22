#include "backend/backend.h"

namespace minfer::backend {

std::string_view fusion_name(Fusion fusion) {
    switch (fusion) {
        case Fusion::SwiGlu:
            return "swiglu";
        case Fusion::BiasRope:
            return "bias_rope";
        case Fusion::Qkv:
            return "qkv";
        case Fusion::GateUp:
            return "gate_up";
    }
    return "?";
}

}  // namespace minfer::backend
