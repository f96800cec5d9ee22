#include "backend/cpu/matmul.h"

#include <limits>

#include "backend/cpu/matmul_reference.h"
#include "backend/cpu/swiglu.h"
#include "base/error.h"
#include "random_weights.h"
#include "repacked.h"

namespace minfer::cpu::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

size_t block_of(gguf::TensorType type) { return gguf::block_size(type); }

// Row lengths: one block, a few, and for plain floats around the four columns that kernels take at a time.
std::vector<size_t> lengths(gguf::TensorType type) {
    if (block_of(type) == 1) return {1, 2, 3, 4, 5, 16, 31, 250, 259};
    return {block_of(type), 3 * block_of(type), 5 * block_of(type)};
}

std::vector<float> activations(size_t n_token, size_t n_in, uint64_t seed, float magnitude = 1) {
    std::vector<float> x(n_token * n_in);
    fill(x, seed, magnitude);
    return x;
}

// From the rows as they are, and from compact panels, which must give the same.
std::vector<float> run(const Kernels& kernels, int n_threads, const Weights& w, const std::vector<float>& x) {
    const Guarded<float> guarded{std::span<const float>(x)};
    const Guarded<float> out(x.size() / w.n_in * w.n_out), from_panels(out.size());
    ThreadPool pool(n_threads);
    Scratch scratch;
    matmul(kernels, pool, w, guarded.span(), out.span(), scratch);
    const Repacked compact(w);
    matmul(kernels, pool, compact.weights(), guarded.span(), from_panels.span(), scratch);
    EXPECT_EQ(bits(from_panels.span()), bits(out.span()))
        << "compact panels, " << gguf::type_name(w.type) << " " << w.n_out << " x " << w.n_in;
    return {out.begin(), out.end()};
}

// dot_reference for every output, with activations quantized by quantize_row_reference.
std::vector<float> expected(const Weights& w, const std::vector<float>& x) {
    const size_t block = block_of(w.type), n_token = x.size() / w.n_in;
    std::vector<int8_t> q(x.size());
    std::vector<float> d(x.size() / block), out(n_token * w.n_out);
    std::vector<int16_t> sums16(x.size() / 16 + 1), sums32(x.size() / 32 + 1);
    const Activations a{x.data(), q.data(), d.data(), sums16.data(), sums32.data(), w.n_in, block};
    for (size_t t = 0; t < n_token; ++t) {
        if (block > 1)
            quantize_row_reference(x.data() + t * w.n_in, w.n_in, block,
                                   {.q = q.data() + t * w.n_in,
                                    .d = d.data() + t * (w.n_in / block),
                                    .sums16 = sums16.data() + t * (w.n_in / 16),
                                    .sums32 = sums32.data() + t * (w.n_in / 32)});
        for (size_t r = 0; r < w.n_out; ++r)
            out[t * w.n_out + r] = dot_reference(w.type, w.data + r * w.row_bytes, a, t);
    }
    return out;
}

// Numbers of tokens around those that kernels take at once: 4, 6, 12 and 16. Rows: less than a panel, some panels and a
// part of one, an odd number of panels.
TEST_P(EachKernels, MatmulHasTheBitsOfTheReference) {
    const auto check = [&](gguf::TensorType type, size_t n_in, size_t n_out, size_t n_token) {
        const RandomWeights w(type, n_out, n_in, n_in + n_out);
        const std::vector<float> x = activations(n_token, n_in, n_token);
        EXPECT_EQ(bits(run(kernels(), 1, w.weights(), x)), bits(expected(w.weights(), x)))
            << gguf::type_name(type) << " " << n_out << " x " << n_in << ", tokens " << n_token;
    };
    for (const gguf::TensorType type : kWeightTypesInOrder)
        for (const size_t n_in : lengths(type)) {
            for (const size_t n_out : {1, 5, 16, 17, 33, 80})
                for (const size_t n_token : {1, 3, 4, 9}) check(type, n_in, n_out, n_token);
            for (const size_t n_token : {6, 8, 13, 16, 33, 49}) check(type, n_in, 35, n_token);
        }
}

// Integers of the largest magnitude of every sign: where a kernel's 16-bit sums would saturate, they do here.
TEST_P(EachKernels, MatmulOfTheLargestIntegers) {
    for (const gguf::TensorType type : kWeightTypesInOrder) {
        if (block_of(type) == 1) continue;
        for (const uint8_t byte : {0x00, 0xff, 0x80, 0x7f, 0xf0, 0x0f, 0x3f, 0x81}) {
            const size_t n_in = 2 * block_of(type), bytes = gguf::row_bytes(type, n_in);
            std::vector<std::byte> rows(16 * bytes, std::byte(byte));
            for (size_t at = 0; at < rows.size(); at += gguf::type_size(type)) {
                // 0x3c3c is a half near 1, wherever the type keeps its scales; the rest of the block stays extreme.
                const auto put = [&](size_t i) { rows[at + i] = rows[at + i + 1] = std::byte(0x3c); };
                if (type == gguf::TensorType::Q2_K)
                    put(80), put(82);
                else if (type == gguf::TensorType::Q3_K)
                    put(108);
                else if (type == gguf::TensorType::Q6_K)
                    put(208);
                else
                    put(0);
                if (type == gguf::TensorType::Q4_1 || type == gguf::TensorType::Q5_1 ||
                    type == gguf::TensorType::Q4_K || type == gguf::TensorType::Q5_K)
                    put(2);
            }
            const Weights w{type, n_in, 16, bytes, rows.data()};
            for (const int sign : {-1, 0, 1}) {
                std::vector<float> x(4 * n_in);
                for (size_t i = 0; i < x.size(); ++i) x[i] = float(sign ? sign : i % 2 ? 1 : -1);
                EXPECT_EQ(bits(run(kernels(), 1, w, x)), bits(expected(w, x)))
                    << gguf::type_name(type) << " " << int(byte) << " " << sign;
                x.resize(n_in);
                EXPECT_EQ(bits(run(kernels(), 1, w, x)), bits(expected(w, x)))
                    << gguf::type_name(type) << " " << int(byte) << " " << sign << ", one token";
            }
        }
    }
}

TEST_P(EachKernels, MatmulOfExtremeActivations) {
    for (const gguf::TensorType type : kWeightTypesInOrder)
        for (const float value :
             {kInfinity, -kInfinity, kNaN, 0x1p-149f, 0x1p-126f, 0x1p-101f, 0x1p-100f, 3e38f, -0.0f})
            for (const size_t n_token : {1, 5}) {
                const size_t n_in = 2 * block_of(type);
                const RandomWeights w(type, 17, n_in, 7);
                std::vector<float> x(n_token * n_in, 0.0f);
                x[0] = value;
                x[x.size() - 1] = -value;
                EXPECT_EQ(bits(run(kernels(), 1, w.weights(), x)), bits(expected(w.weights(), x)))
                    << gguf::type_name(type) << " " << value << ", tokens " << n_token;
            }
}

// Scales that are subnormal, infinite or not a number.
TEST_P(EachKernels, MatmulOfExtremeScales) {
    for (const gguf::TensorType type : kWeightTypesInOrder)
        for (const float magnitude : {0x1p-20f, 60000.0f, 200000.0f, kNaN})
            for (const size_t n_token : {1, 5}) {
                const RandomWeights w(type, 16, 2 * block_of(type), 9, magnitude);
                const std::vector<float> x = activations(n_token, 2 * block_of(type), 3);
                EXPECT_EQ(bits(run(kernels(), 1, w.weights(), x)), bits(expected(w.weights(), x)))
                    << gguf::type_name(type) << " " << magnitude << ", tokens " << n_token;
            }
}

TEST_P(EachKernels, MatmulDoesNotDependOnThreadsOrBatch) {
    for (const gguf::TensorType type : kWeightTypesInOrder) {
        const size_t n_in = 2 * 256, n_token = 300, n_out = 77;
        const RandomWeights w(type, n_out, n_in, 21);
        const std::vector<float> x = activations(n_token, n_in, 22);
        const std::vector<uint32_t> one = bits(run(kernels(), 1, w.weights(), x));
        for (const int n_threads : {2, 3, 7})
            EXPECT_EQ(bits(run(kernels(), n_threads, w.weights(), x)), one)
                << gguf::type_name(type) << " " << n_threads;
        for (size_t t = 0; t + 6 <= n_token; t += 23)
            for (const size_t n : {1, 2, 4, 6}) {
                const std::vector<float> part(x.begin() + long(t * n_in), x.begin() + long((t + n) * n_in));
                const std::vector<uint32_t> alone = bits(run(kernels(), 1, w.weights(), part));
                EXPECT_TRUE(std::equal(alone.begin(), alone.end(), one.begin() + long(t * n_out)))
                    << gguf::type_name(type) << " token " << t << ", batch of " << n;
            }
    }
}

TEST_P(EachKernels, MatmulSharedEqualsMatmulOfEach) {
    const size_t n_in = 512;
    const RandomWeights a(gguf::TensorType::Q4_K, 48, n_in, 1), b(gguf::TensorType::Q5_0, 16, n_in, 2),
        c(gguf::TensorType::F16, 5, n_in, 3), d(gguf::TensorType::Q6_K, 33, n_in, 4);
    for (const size_t n_token : {1, 2, 40}) {
        const std::vector<float> x = activations(n_token, n_in, 5);
        std::vector<float> out[4];
        std::vector<MatmulTarget> targets;
        const RandomWeights* all[] = {&a, &b, &c, &d};
        for (size_t i = 0; i < 4; ++i) {
            out[i].resize(n_token * all[i]->weights().n_out);
            targets.push_back({all[i]->weights(), out[i]});
        }
        ThreadPool pool(3);
        Scratch scratch;
        matmul_shared(kernels(), pool, targets, x, scratch);
        for (size_t i = 0; i < 4; ++i) EXPECT_EQ(bits(out[i]), bits(run(kernels(), 1, all[i]->weights(), x))) << i;
    }
}

// Of one type and of two; tokens around those that are taken at once, rows around panels.
TEST_P(EachKernels, MatmulSwiGluEqualsTheTwoMatmulsAndSwiGlu) {
    const auto check = [&](gguf::TensorType gate_type, gguf::TensorType up_type, size_t n_out, size_t n_token) {
        const size_t n_in = 256;
        const RandomWeights gate(gate_type, n_out, n_in, 1), up(up_type, n_out, n_in, 2);
        const std::vector<float> x = activations(n_token, n_in, n_token);
        ThreadPool pool(3);
        std::vector<float> expected(n_token * n_out);
        swiglu(kernels(), pool, run(kernels(), 1, gate.weights(), x), run(kernels(), 1, up.weights(), x), expected);
        const Repacked compact_gate(gate.weights()), compact_up(up.weights());
        Scratch scratch;
        for (const auto& [g, u] :
             {std::pair(gate.weights(), up.weights()), std::pair(compact_gate.weights(), compact_up.weights()),
              std::pair(compact_gate.weights(), up.weights())}) {
            const Guarded<float> out(expected.size());
            matmul_swiglu(kernels(), pool, g, u, Guarded<float>(std::span<const float>(x)).span(), out.span(), scratch);
            EXPECT_EQ(bits(out.span()), bits(expected)) << gguf::type_name(gate_type) << " " << gguf::type_name(up_type)
                                                        << " " << n_out << " rows, tokens " << n_token;
        }
    };
    for (const size_t n_out : {1, 16, 45})
        for (const size_t n_token : {1, 3, 17, 95, 96, 97, 210})
            check(gguf::TensorType::Q4_0, gguf::TensorType::Q4_0, n_out, n_token);
    for (const size_t n_token : {1, 40}) {
        check(gguf::TensorType::Q4_K, gguf::TensorType::Q8_0, 40, n_token);
        check(gguf::TensorType::F16, gguf::TensorType::Q6_K, 40, n_token);
    }
    for (const size_t n_token : {1, 600}) check(gguf::TensorType::Q5_K, gguf::TensorType::Q5_K, 700, n_token);
}

TEST_P(EachKernels, MatmulAllocatesOnlyForALargerCall) {
    const RandomWeights w(gguf::TensorType::Q4_0, 64, 64, 1);
    const std::vector<float> x = activations(8, 64, 1);
    std::vector<float> out(8 * 64);
    ThreadPool pool(2);
    Scratch scratch;
    matmul(kernels(), pool, w.weights(), x, out, scratch);
    const size_t capacity = scratch.capacity();
    const std::byte* const place = scratch.take(capacity).data();
    matmul(kernels(), pool, w.weights(), std::span(x).first(64), std::span(out).first(64), scratch);
    EXPECT_EQ(scratch.capacity(), capacity);
    EXPECT_EQ(scratch.take(capacity).data(), place);
}

// The definition itself, against the product of what the integers stand for, in double.
TEST(Matmul, ReferenceIsNearTheExactProduct) {
    for (const gguf::TensorType type : kWeightTypesInOrder) {
        const size_t block = block_of(type), n_in = block == 1 ? 500 : 1280, n_out = 9;
        const RandomWeights w(type, n_out, n_in, 31);
        const std::vector<float> weights = w.decoded(), x = activations(2, n_in, 32);
        const std::vector<float> got = expected(w.weights(), x);
        for (size_t t = 0; t < 2; ++t)
            for (size_t r = 0; r < n_out; ++r) {
                double exact = 0, magnitude = 0, activation_error = 0;
                for (size_t i = 0; i < n_in; ++i) {
                    const double p = double(weights[r * n_in + i]) * double(x[t * n_in + i]);
                    exact += p;
                    magnitude += std::fabs(p);
                    if (block > 1) {
                        float amax = 0;
                        const float* from = &x[t * n_in + i / block * block];
                        for (size_t j = 0; j < block; ++j) amax = std::max(amax, std::fabs(from[j]));
                        activation_error += std::fabs(double(weights[r * n_in + i])) * double(amax) / 254;
                    }
                }
                // Rounding an activation moves it by half a step at most; each fma by half an ulp of what is summed.
                const double bound = activation_error * 1.001 + magnitude * 4e-6;
                EXPECT_LE(std::fabs(double(got[t * n_out + r]) - exact), bound) << gguf::type_name(type);
            }
    }
}

// As above with the activations' rounding taken out, so that the bound is that of float arithmetic alone.
TEST(Matmul, ReferenceIsExactUpToFloatRounding) {
    for (const gguf::TensorType type : kWeightTypesInOrder) {
        const size_t block = block_of(type), n_in = block == 1 ? 500 : 1280, n_out = 9;
        const RandomWeights w(type, n_out, n_in, 41);
        // Integers up to 127, with 127 in every block: they are their own rounding, with d = 1.
        Random random(42);
        std::vector<float> x(n_in);
        for (size_t i = 0; i < n_in; ++i) x[i] = i % 32 == 0 ? 127.0f : float(int(random.below(255)) - 127);
        const std::vector<float> weights = w.decoded(), got = expected(w.weights(), x);
        for (size_t r = 0; r < n_out; ++r) {
            double exact = 0, magnitude = 0;
            for (size_t i = 0; i < n_in; ++i) {
                const double p = double(weights[r * n_in + i]) * double(x[i]);
                exact += p;
                magnitude += std::fabs(p);
            }
            EXPECT_LE(std::fabs(double(got[r]) - exact), magnitude * 2e-6) << gguf::type_name(type);
        }
    }
}

TEST(Matmul, RefusesSizesThatDoNotFit) {
    const RandomWeights w(gguf::TensorType::Q4_0, 16, 64, 1);
    std::vector<float> x(64), out(16);
    ThreadPool pool(1);
    Scratch scratch;
    const Kernels& k = scalar_kernels();
    EXPECT_THROW(matmul(k, pool, w.weights(), std::span(x).first(63), out, scratch), ShapeError);
    EXPECT_THROW(matmul(k, pool, w.weights(), x, std::span(out).first(15), scratch), ShapeError);
    Weights odd = w.weights();
    odd.n_in = 63;
    EXPECT_THROW(matmul(k, pool, odd, std::span(x).first(63), out, scratch), ShapeError);
    Weights q1 = w.weights();
    q1.type = gguf::TensorType::Q8_1;
    EXPECT_THROW(matmul(k, pool, q1, x, out, scratch), UnsupportedError);
    matmul(k, pool, w.weights(), {}, {}, scratch);  // no tokens, no work
    const RandomWeights wider(gguf::TensorType::Q4_0, 17, 64, 1);
    EXPECT_THROW(matmul_swiglu(k, pool, w.weights(), wider.weights(), x, out, scratch), ShapeError);
    matmul_swiglu(k, pool, w.weights(), w.weights(), {}, {}, scratch);
}

MINFER_EACH_KERNELS();

}  // namespace
}  // namespace minfer::cpu::test
