// Activations as 8-bit integers with a float32 scale a block, for weights that are integers too.
// docs/numerics.md, "Activations".
#pragma once

#include <cstddef>
#include <cstdint>

namespace minfer::cpu {

// A row of n_in values in blocks of 32 (for Q4_0 to Q8_0, IQ4_NL) or of 256 (for Q2_K to Q6_K, IQ4_XS).
// Value i is about q[i] * d[i / block]. The sums are what offsets and minimums of weights multiply. Borrowed.
struct QuantizedRow {
    int8_t* q;        // [n_in], -127 to 127
    float* d;         // [n_in / block]
    int16_t* sums16;  // [n_in / 16]: the sum of 16 q; with blocks of 32 it may be null, and is then not written
    int16_t* sums32;  // [n_in / 32]: the sum of 32 q
};

// block is 32 or 256 and divides n_in. A value that is not finite makes its block's d NaN and its q 0.
void quantize_row_reference(const float* x, size_t n_in, size_t block, const QuantizedRow& out);

}  // namespace minfer::cpu
