// Numbers, names and sizes of the tensor types, against ggml's own library.
#include "gguf/types.h"

#include <dlfcn.h>

#include "base/error.h"
#include "support/support.h"

namespace minfer::gguf {
namespace {

TEST(Types, NamesAndSizesAreThoseOfGgml) {
    const auto library =
        test::oracles_dir() / "npm/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/libggml-base.so";
    MINFER_SKIP_WITHOUT(library);
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto name = reinterpret_cast<const char* (*)(int)>(dlsym(handle, "ggml_type_name"));
    const auto size = reinterpret_cast<size_t (*)(int)>(dlsym(handle, "ggml_type_size"));
    const auto block = reinterpret_cast<int64_t (*)(int)>(dlsym(handle, "ggml_blck_size"));
    ASSERT_TRUE(name && size && block);
    for (uint32_t number = 0; number < 43; ++number) {
        const auto type = tensor_type(number);
        ASSERT_EQ(type.has_value(), block(int(number)) != 0) << number;
        if (!type) continue;
        EXPECT_EQ(type_name(*type), name(int(number)));
        EXPECT_EQ(type_size(*type), size(int(number))) << type_name(*type);
        EXPECT_EQ(block_size(*type), block(int(number))) << type_name(*type);
    }
    dlclose(handle);
}

TEST(Types, NamesAreFoundInAnyCase) {
    for (const TensorType type : all_tensor_types()) EXPECT_EQ(type_from_name(type_name(type)), type);
    EXPECT_EQ(type_from_name("Q4_k"), TensorType::Q4_K);
    EXPECT_EQ(type_from_name("BF16"), TensorType::BF16);
    EXPECT_EQ(type_from_name("q4"), std::nullopt);
    EXPECT_EQ(type_from_name(""), std::nullopt);
}

TEST(Types, RowBytes) {
    EXPECT_EQ(row_bytes(TensorType::F32, 3), 12u);
    EXPECT_EQ(row_bytes(TensorType::Q4_0, 64), 36u);
    EXPECT_EQ(row_bytes(TensorType::Q6_K, 512), 420u);
    EXPECT_THROW(row_bytes(TensorType::Q4_0, 33), ShapeError);
    EXPECT_THROW(row_bytes(TensorType::F64, uint64_t(1) << 61), ShapeError);
    EXPECT_THROW(row_bytes(TensorType(31), 32), UnsupportedError);
}

}  // namespace
}  // namespace minfer::gguf
