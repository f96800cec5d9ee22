// The kernels with AVX2, FMA, F16C and AVX-VNNI. Compiled with those instructions: nothing here but the table leaves
// the file.
#include <immintrin.h>

#include "backend/cpu/compact.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels_list.h"
#include "backend/cpu/panel.h"
#include "base/exp_constants.h"

namespace minfer::cpu {
namespace {

// clang-format off: the vectors first, then what is made of them.
#include "backend/cpu/vec_avx2.h"
#include "backend/cpu/vec_avxvnni.h"
#include "backend/cpu/weight_blocks.inl"
#include "backend/cpu/matmul_quantized.inl"
#include "backend/cpu/panel_block.inl"
#include "backend/cpu/panel_signed.inl"
#include "backend/cpu/panel_vnni.inl"
#include "backend/cpu/kernels.inl"
// clang-format on

}  // namespace

extern constinit const Kernels kAvxVnniKernels =
    MINFER_KERNELS("avxvnni", (CpuFeatures{.avx2 = true, .fma = true, .f16c = true, .avx_vnni = true}));

}  // namespace minfer::cpu
