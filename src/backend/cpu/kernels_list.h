// The tables of the sets, each defined in the file compiled for it.
#pragma once

#include "backend/cpu/kernels.h"

namespace minfer::cpu {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvxVnniKernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAmxKernels;
extern const Kernels kAvx512VnniKernels;
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
extern const Kernels kNeonDotprodKernels;
extern const Kernels kNeonI8mmKernels;
#endif

}  // namespace minfer::cpu
