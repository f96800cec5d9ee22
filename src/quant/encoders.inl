// The encoders, once for every instruction set: a lane is a block (or super-block), so each block keeps the exact
// sequence of operations that its bytes depend on, and as many blocks as there are lanes advance together.
//
// encoders_SET.cpp includes this in an unnamed namespace after its lanes_SET.inl, which defines Floats, Ints and Mask
// (kLanes float, int32 and bool lanes) and the operations on them. Nothing here may emit a symbol that the linker could
// share with a file built for another instruction set: no function of a header, no template of the standard library.
//
// In memory lanes are neighbours: value i of all blocks at x + i * kLanes, byte i of all blocks at out + i * kLanes.

// clang-format off: each builds on the ones before it
#include "quant/search.inl"
#include "quant/lane_codec.inl"
#include "quant/encode_32.inl"
#include "quant/encode_256.inl"
// clang-format on

// Runs Codec over the job's blocks, kLanes at a time, into lane order and back.
template <class Codec>
void encode_blocks(const EncodeJob& job) {
    alignas(64) float x[Codec::kValues * kLanes];
    alignas(64) float importance[Codec::kWeighted ? Codec::kValues * kLanes : 1];
    alignas(64) float mean_square[kLanes] = {};
    alignas(64) uint8_t out[Codec::kBytes * kLanes];
    uint8_t nowhere[Codec::kBytes];
    for (int64_t first = 0; first < job.n_blocks; first += kLanes) {
        const int64_t left = job.n_blocks - first;
        const int n = left < kLanes ? int(left) : kLanes;
        const float *src[kLanes], *weights[kLanes];
        uint8_t* dst[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            const int64_t block = first + (lane < n ? lane : n - 1);  // idle lanes repeat the last block
            src[lane] = job.src + block * Codec::kValues;
            dst[lane] = lane < n ? job.dst + block * Codec::kBytes : nowhere;
            if constexpr (Codec::kWeighted) {
                const int64_t column = block % job.blocks_per_row;
                weights[lane] = job.importance + column * Codec::kValues;
                if constexpr (Codec::kRowMeanSquare) {
                    if (job.row_mean_square != nullptr)
                        mean_square[lane] = *job.row_mean_square;
                    else if (lane > 0 && column != 0)
                        mean_square[lane] = mean_square[lane - 1];
                    else
                        mean_square[lane] = row_mean_square<Codec::kArithmetic>(
                            job.src + (block - column) * Codec::kValues, job.blocks_per_row * Codec::kValues);
                }
            }
        }
        values_to_lanes(src, Codec::kValues, x);
        if constexpr (Codec::kWeighted) values_to_lanes(weights, Codec::kValues, importance);
        Codec::encode(x, importance, Floats::load(mean_square), out);
        bytes_from_lanes(out, Codec::kBytes, dst);
    }
}

template <template <Arithmetic, bool> class Codec, Arithmetic kArith>
bool encode_with(const EncodeJob& job) {
    if (job.importance != nullptr)
        encode_blocks<Codec<kArith, true>>(job);
    else
        encode_blocks<Codec<kArith, false>>(job);
    return true;
}

template <Arithmetic kArith>
bool encode_in(gguf::TensorType type, const EncodeJob& job) {
    switch (type) {
        case gguf::TensorType::Q4_0:
            return encode_with<Q4_0, kArith>(job);
        case gguf::TensorType::Q4_1:
            return encode_with<Q4_1, kArith>(job);
        case gguf::TensorType::Q5_0:
            return encode_with<Q5_0, kArith>(job);
        case gguf::TensorType::Q5_1:
            return encode_with<Q5_1, kArith>(job);
        case gguf::TensorType::Q8_0:
            encode_blocks<Q8_0<kArith>>(job);
            return true;
        case gguf::TensorType::Q2_K:
            return encode_with<Q2_K, kArith>(job);
        case gguf::TensorType::Q3_K:
            return encode_with<Q3_K, kArith>(job);
        case gguf::TensorType::Q4_K:
            return encode_with<Q4_K, kArith>(job);
        case gguf::TensorType::Q5_K:
            return encode_with<Q5_K, kArith>(job);
        case gguf::TensorType::Q6_K:
            return encode_with<Q6_K, kArith>(job);
        case gguf::TensorType::IQ4_NL:
            return encode_with<IQ4_NL, kArith>(job);
        case gguf::TensorType::IQ4_XS:
            return encode_with<IQ4_XS, kArith>(job);
        default:
            return false;
    }
}

bool encode_blocks_of(gguf::TensorType type, Arithmetic arithmetic, const EncodeJob& job) {
    switch (arithmetic) {
        case Arithmetic::x86_64:
            return encode_in<Arithmetic::x86_64>(type, job);
        case Arithmetic::aarch64_clang:
            return encode_in<Arithmetic::aarch64_clang>(type, job);
        case Arithmetic::aarch64_gcc:
            return encode_in<Arithmetic::aarch64_gcc>(type, job);
    }
    return false;
}

#include "quant/rows.inl"
