// <immintrin.h>, without the warnings that GCC 12 gives for its own AVX-512 header where the file that includes it is
// compiled: it reads a deliberately undefined register (GCC bug 105593).
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
