// The kernels with AVX-512 F, BW, DQ and VL. Compiled with those instructions: nothing here but the table leaves the
// file.
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
#include "backend/cpu/vec_word_dots.h"
#include "backend/cpu/weight_blocks.inl"
#include "backend/cpu/matmul_quantized.inl"
#include "backend/cpu/panel_block.inl"
#include "backend/cpu/panel_words.inl"
#include "backend/cpu/kernels.inl"
// clang-format on

}  // namespace

extern constinit const Kernels kAvx512Kernels = MINFER_KERNELS(
    "avx512",
    (CpuFeatures{.fma = true, .f16c = true, .avx512f = true, .avx512bw = true, .avx512dq = true, .avx512vl = true}));

}  // namespace minfer::cpu
