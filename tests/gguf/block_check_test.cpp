// The checker against ggml_validate_row_data of ggml's own library: the same verdict on blocks of any bits.
#include "gguf/block_check.h"

#include <dlfcn.h>

#include <random>

#include "support/support.h"

namespace minfer::gguf {
namespace {

bool is_clean(const BlockFindings& f) { return f.n_nan == 0 && f.n_infinite == 0; }

TEST(BlockCheck, AgreesWithGgml) {
    const auto library =
        test::oracles_dir() / "npm/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/libggml-base.so";
    MINFER_SKIP_WITHOUT(library);
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto validate = reinterpret_cast<bool (*)(int, const void*, size_t)>(dlsym(handle, "ggml_validate_row_data"));
    ASSERT_NE(validate, nullptr);
    std::freopen("/dev/null", "w", stderr);  // ggml says each fault
    std::mt19937 random(3);
    for (const TensorType type : all_tensor_types()) {
        // Left out: q8_1, which only ever holds activations and which ggml refuses, and f64, of which ggml takes a
        // value past float's range for an infinity.
        if (type == TensorType::Q8_1 || type == TensorType::F64) continue;
        int n_faulty = 0;
        for (int round = 0; round < 4000; ++round) {
            // Bits of all ones are common, so that exponents are full often enough.
            std::vector<uint32_t> words(type_size(type) + 4, 0);
            for (uint32_t& w : words)
                for (int b = 0; b < 32; b += 8) w |= uint32_t(random() % 4 == 0 ? 0x7f : random() % 256) << b;
            // Whole rows that ggml accepts are a multiple of the block; floats come in eights for its vector code.
            const size_t n_blocks = is_float(type) ? 8 : 1;
            std::vector<std::byte> row(n_blocks * type_size(type));
            for (size_t i = 0; i < row.size(); ++i)
                row[i] = std::byte(uint8_t(words[i % words.size()] >> (8 * (i / words.size()))));
            BlockChecker checker(type);
            checker.check(row);
            const bool clean = validate(int(type), row.data(), row.size());
            ASSERT_EQ(is_clean(checker.findings()), clean) << type_name(type) << " round " << round;
            n_faulty += !clean;
        }
        const bool has_numbers = type != TensorType::I8 && type != TensorType::I16 && type != TensorType::I32 &&
                                 type != TensorType::I64 && type != TensorType::NVFP4;
        EXPECT_EQ(n_faulty > 0, has_numbers) << type_name(type);
    }
    dlclose(handle);
}

TEST(BlockCheck, CountsAndPlaces) {
    const std::vector<uint16_t> halves = {0x3c00, 0x7c00, 0x7e00, 0xfc00, 0xfc01, 0x7bff};
    BlockChecker checker(TensorType::F16);
    checker.check(std::as_bytes(std::span(halves)));
    checker.check(std::as_bytes(std::span(halves)));
    EXPECT_EQ(checker.findings().n_nan, 4u);
    EXPECT_EQ(checker.findings().n_infinite, 4u);
    EXPECT_EQ(checker.findings().first_nan, 2u);
    EXPECT_EQ(checker.findings().first_infinite, 1u);
    std::vector<uint8_t> blocks(18 * 5);
    blocks[18 * 3 + 1] = 0x7c;
    BlockChecker q4(TensorType::Q4_0);
    q4.check(std::as_bytes(std::span(blocks)).first(36));
    q4.check(std::as_bytes(std::span(blocks)).subspan(36));
    EXPECT_EQ(q4.findings().n_nan, 0u);
    EXPECT_EQ(q4.findings().n_infinite, 1u);
    EXPECT_EQ(q4.findings().first_infinite, 3u);
}

}  // namespace
}  // namespace minfer::gguf
