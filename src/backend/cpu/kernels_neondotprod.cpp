// The kernels with NEON and dot products of bytes. Compiled with those instructions: nothing here but the table leaves
// the file.
#include <arm_neon.h>

#include "backend/cpu/compact.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels_list.h"
#include "backend/cpu/panel.h"
#include "base/exp_constants.h"

namespace minfer::cpu {
namespace {

// clang-format off: the vectors first, then what is made of them.
#include "backend/cpu/vec_neon.h"
#include "backend/cpu/vec_neondotprod.h"
#include "backend/cpu/weight_blocks.inl"
#include "backend/cpu/matmul_quantized.inl"
#include "backend/cpu/panel_block.inl"
#include "backend/cpu/panel_signed.inl"
#include "backend/cpu/panel_neon.inl"
#include "backend/cpu/panel_sdot.inl"
#include "backend/cpu/kernels.inl"
// clang-format on

}  // namespace

extern constinit const Kernels kNeonDotprodKernels =
    MINFER_KERNELS("neondotprod", (CpuFeatures{.neon = true, .neon_dotprod = true}));

}  // namespace minfer::cpu
