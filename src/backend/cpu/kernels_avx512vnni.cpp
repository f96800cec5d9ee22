// The kernels with AVX-512 F, BW, DQ, VL and VNNI. Compiled with those instructions: nothing here but the table leaves
// the file.
#include "backend/cpu/compact.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels_list.h"
#include "backend/cpu/panel.h"
#include "backend/cpu/x86_intrinsics.h"
#include "base/exp_constants.h"

namespace minfer::cpu {
namespace {

// clang-format off: the vectors first, then what is made of them.
#include "backend/cpu/vec_avx512.h"
#include "backend/cpu/vec_avx512vnni.h"
#include "backend/cpu/weight_blocks.inl"
#include "backend/cpu/matmul_quantized.inl"
#include "backend/cpu/panel_block.inl"
#include "backend/cpu/panel_signed.inl"
#include "backend/cpu/panel_vnni.inl"
#include "backend/cpu/kernels.inl"
// clang-format on

}  // namespace

extern constinit const Kernels kAvx512VnniKernels = MINFER_KERNELS("avx512vnni", (CpuFeatures{.fma = true,
                                                                                              .f16c = true,
                                                                                              .avx512f = true,
                                                                                              .avx512bw = true,
                                                                                              .avx512dq = true,
                                                                                              .avx512vl = true,
                                                                                              .avx512vnni = true}));

}  // namespace minfer::cpu
