// One number an operator over fixed inputs: what holds between the sets of one machine must hold between compilers and
// machines too. A change of these numbers is a change of docs/numerics.md.
#include <map>
#include <numeric>

#include "backend/cpu/attention.h"
#include "backend/cpu/matmul.h"
#include "backend/cpu/rms_norm.h"
#include "backend/cpu/rope.h"
#include "backend/cpu/swiglu.h"
#include "random_weights.h"
#include "repacked.h"

namespace minfer::cpu::test {
namespace {

std::vector<float> values(size_t n, uint64_t seed, float magnitude) {
    std::vector<float> x(n);
    fill(x, seed, magnitude);
    return x;
}

TEST_P(EachKernels, HasTheRecordedBits) {
    ThreadPool pool(2);
    Scratch scratch;
    std::map<std::string, uint64_t> found;
    for (const gguf::TensorType type : kWeightTypesInOrder) {
        const RandomWeights w(type, 40, 768, 11);
        std::vector<float> out(7 * 40);
        matmul(kernels(), pool, w.weights(), values(7 * 768, 12, 3), out, scratch);
        found["matmul " + std::string(gguf::type_name(type))] = digest(out);
        matmul(kernels(), pool, Repacked(w.weights()).weights(), values(7 * 768, 12, 3), out, scratch);
        EXPECT_EQ(digest(out), found["matmul " + std::string(gguf::type_name(type))]) << "compact";
    }
    std::vector<float> out(3000);
    rms_norm(kernels(), pool, values(3000, 1, 5), values(1000, 2, 1), 1e-5f, out);
    found["rms_norm"] = digest(out);
    swiglu(kernels(), pool, values(3000, 3, 20), values(3000, 4, 2), out);
    found["swiglu"] = digest(out);
    RopeTable table({.n_rot = 60, .freq_base = 5e5, .freq_scale = 0.25, .ext_factor = 1, .n_ctx_orig = 8192});
    const std::vector<int32_t> positions = {5, 700, 90001};
    table.fill(positions);
    rope(kernels(), pool, values(3000, 5, 2), 10, 100, table, RopePairs::halves, out);
    found["rope halves"] = digest(out);
    rope(kernels(), pool, values(3000, 5, 2), 10, 100, table, RopePairs::interleaved, out);
    found["rope interleaved"] = digest(out);
    std::vector<int32_t> cells(400);
    std::iota(cells.begin(), cells.end(), 0);
    const std::vector<VisibleCells> visible = {{cells, 1}, {cells, 77}, {cells, 400}};
    const std::vector<float> k = values(400 * 200, 7, 3), v = values(400 * 200, 8, 1);
    attention(kernels(), pool, {10, 2, 100, 0.1f}, values(3000, 6, 2),
              {kv::CellType::F32, reinterpret_cast<const std::byte*>(k.data()),
               reinterpret_cast<const std::byte*>(v.data()), 400},
              visible, out, scratch);
    found["attention"] = digest(out);

    const std::map<std::string, uint64_t> recorded = {
        {"attention", 0x866d8d768ef64cf2u},        {"matmul bf16", 0x2fc2f24f2399f246u},
        {"matmul f16", 0x45edd9f2a954a86eu},       {"matmul f32", 0xa4e6ff9eb837e886u},
        {"matmul iq4_nl", 0xd2f7d54d1c62f969u},    {"matmul iq4_xs", 0x6f0365d0626c5a59u},
        {"matmul q2_K", 0x18d31f81ace7351au},      {"matmul q3_K", 0xb10a1dcfb4838737u},
        {"matmul q4_0", 0xe4af42a78d6066fcu},      {"matmul q4_1", 0xfb5e862009949974u},
        {"matmul q4_K", 0x3f0d7b0d5c0f1d52u},      {"matmul q5_0", 0x8861c1f9d9a127d9u},
        {"matmul q5_1", 0x5ad899cd5fd67ed8u},      {"matmul q5_K", 0x03377036ae3ef692u},
        {"matmul q6_K", 0x0893e2f6cb642274u},      {"matmul q8_0", 0xa91a8f30ae2808d6u},
        {"rms_norm", 0x15d7f5b1f5e3bb8cu},         {"rope halves", 0xc47c08b1b3675dfbu},
        {"rope interleaved", 0x6400ea22b9db9d08u}, {"swiglu", 0x9bad612c0c8b6490u},
    };
    EXPECT_EQ(found, recorded);
}

MINFER_EACH_KERNELS();

}  // namespace
}  // namespace minfer::cpu::test
