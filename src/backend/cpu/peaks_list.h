// The loops of peaks.h, each a function for instructions that the rest of the program may not use: the compiler is told
// so function by function, and none of them calls anything inline of the standard library's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::cpu {

// What a loop computed counts as used, so that it is not optimized away.
void keep(const void* result);

#if defined(__x86_64__)
uint64_t run_amx_int8(size_t n);
uint64_t run_avx512_vnni(size_t n);
uint64_t run_avx_vnni(size_t n);
uint64_t run_avx512bw(size_t n);
uint64_t run_avx2(size_t n);
uint64_t run_avx512f(size_t n);
uint64_t run_fma(size_t n);
#elif defined(__aarch64__)
uint64_t run_neon_i8mm(size_t n);
uint64_t run_neon_dotprod(size_t n);
uint64_t run_neon(size_t n);
#endif

}  // namespace minfer::cpu
