#include "backend/cpu/compact.h"

#include "backend/cpu/compact_reference.h"
#include "random_weights.h"
#include "repacked.h"

namespace minfer::cpu::test {
namespace {

std::vector<size_t> lengths(gguf::TensorType type) {
    const size_t block = gguf::block_size(type);
    if (block == 1) return {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 259};
    return {block, 2 * block, 5 * block};
}

// Sixteen rows `row_bytes` apart that end, without what lies between them, at a guard page.
class Rows {
  public:
    Rows(gguf::TensorType type, size_t n_in, size_t between, uint64_t seed)
        : row_bytes_(gguf::row_bytes(type, n_in) + between), bytes_(16 * row_bytes_ - between) {
        Random random(seed);
        for (std::byte& b : bytes_) b = std::byte(random.next() >> 56);
    }
    const std::byte* data() const { return bytes_.data(); }
    size_t row_bytes() const { return row_bytes_; }

  private:
    size_t row_bytes_;
    Guarded<std::byte> bytes_;
};

std::vector<std::byte> reference_panel(gguf::TensorType type, const Rows& rows, size_t n_in) {
    std::vector<std::byte> panel(compact_bytes(type, n_in));
    repack_reference(type, rows.data(), rows.row_bytes(), n_in, panel.data());
    return panel;
}

TEST(Compact, APanelIsAsLargeAsItsRowsAndHoldsThemAll) {
    for (const gguf::TensorType type : kWeightTypesInOrder)
        for (const size_t n_in : lengths(type)) {
            EXPECT_EQ(compact_bytes(type, n_in), 16 * gguf::row_bytes(type, n_in)) << gguf::type_name(type);
            const Rows rows(type, n_in, 3, n_in);
            const std::vector<std::byte> panel = reference_panel(type, rows, n_in);
            const size_t block_bytes = gguf::type_size(type);
            std::vector<std::byte> block(block_bytes);
            for (size_t row = 0; row < 16; ++row)
                for (size_t b = 0; b < n_in / gguf::block_size(type); ++b) {
                    read_compact_block(type, panel.data(), b, row, block.data());
                    EXPECT_EQ(
                        std::memcmp(block.data(), rows.data() + row * rows.row_bytes() + b * block_bytes, block_bytes),
                        0)
                        << gguf::type_name(type) << " block " << b << " of row " << row;
                }
        }
}

// What compact.h says in words, for the two types at its ends: where one value of one row lies.
TEST(Compact, ValuesLieWhereTheHeaderSays) {
    const Rows q4(gguf::TensorType::Q4_0, 64, 0, 1);
    const std::vector<std::byte> a = reference_panel(gguf::TensorType::Q4_0, q4, 64);
    for (size_t row = 0; row < 16; ++row)
        for (size_t b = 0; b < 2; ++b) {
            const std::byte* block = q4.data() + row * q4.row_bytes() + b * 18;
            for (size_t i = 0; i < 16; ++i) EXPECT_EQ(a[b * 288 + i / 4 * 64 + row * 4 + i % 4], block[2 + i]);
            for (size_t i = 0; i < 2; ++i) EXPECT_EQ(a[b * 288 + 256 + row * 2 + i], block[i]);
        }
    // The fifth bit of value 4 k + j is bit k of byte j, the k permuted.
    const Rows q5(gguf::TensorType::Q5_1, 32, 0, 2);
    const std::vector<std::byte> b = reference_panel(gguf::TensorType::Q5_1, q5, 32);
    constexpr size_t kPlaces[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    for (size_t row = 0; row < 16; ++row)
        for (size_t i = 0; i < 32; ++i) {
            const std::byte in_file = q5.data()[row * 24 + 4 + i / 8] >> (i % 8);
            const std::byte in_panel = b[4 * 64 + row * 4 + i % 4] >> kPlaces[i / 4];
            EXPECT_EQ(in_panel & std::byte(1), in_file & std::byte(1)) << "value " << i << " of row " << row;
        }
}

TEST_P(EachKernels, RepackHasTheBytesOfTheReference) {
    for (const gguf::TensorType type : kWeightTypesInOrder)
        for (const size_t n_in : lengths(type))
            for (const size_t between : {0, 1, 50}) {
                const Rows rows(type, n_in, between, n_in + between);
                const Guarded<std::byte> panel(compact_bytes(type, n_in));
                kernels().matmul[weight_index(type)].repack(rows.data(), rows.row_bytes(), n_in, panel.data());
                EXPECT_EQ(std::vector(panel.begin(), panel.end()), reference_panel(type, rows, n_in))
                    << gguf::type_name(type) << " " << n_in;
            }
}

TEST_P(EachKernels, UnpackingGivesWhatPackingTheRowsGives) {
    for (const gguf::TensorType type : kWeightTypesInOrder) {
        const MatmulKernels& matmul = kernels().matmul[weight_index(type)];
        ASSERT_EQ(matmul.unpack == nullptr, matmul.pack == nullptr);
        if (!matmul.pack) continue;
        for (const size_t n_in : lengths(type)) {
            // Scales that are numbers: a NaN's payload is nobody's promise.
            const RandomWeights rows(type, 16, n_in, n_in);
            const Repacked compact(rows.weights());
            const size_t n_block = n_in / gguf::block_size(type);
            std::vector<std::byte> packed(n_block * matmul.panel_block_bytes + 64), unpacked(packed.size());
            const auto aligned = [](std::vector<std::byte>& v) {
                return v.data() + (64 - reinterpret_cast<uintptr_t>(v.data()) % 64) % 64;
            };
            matmul.pack(rows.weights().data, rows.weights().row_bytes, n_in, aligned(packed));
            matmul.unpack(compact.weights().panels, n_in, aligned(unpacked));
            EXPECT_EQ(std::memcmp(aligned(unpacked), aligned(packed), n_block * matmul.panel_block_bytes), 0)
                << gguf::type_name(type) << " " << n_in;
        }
    }
}

MINFER_EACH_KERNELS();

}  // namespace
}  // namespace minfer::cpu::test
