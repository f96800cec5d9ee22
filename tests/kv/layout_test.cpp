// Sizes of cells, against GGUF's block sizes.
#include "kv/layout.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace minfer::kv {
namespace {

TEST(Layout, BytesOfCells) {
    Layout layout{2, 10, 3, 64, 32, CellType::F32};
    EXPECT_EQ(layout.k_row_bytes(), 3u * 64 * 4);
    EXPECT_EQ(layout.total_bytes(), 2u * 10 * 3 * (64 + 32) * 4);
    layout.type = CellType::F16;
    EXPECT_EQ(layout.v_row_bytes(), 3u * 32 * 2);
    layout.type = CellType::Q8_0;
    EXPECT_EQ(layout.k_row_bytes(), 6u * 34);
    EXPECT_EQ(layout.v_row_bytes(), 3u * 34);
    layout.head_dim_v = 16;
    EXPECT_THROW(layout.v_row_bytes(), ShapeError);
}

TEST(Layout, TheEnvironmentNamesAType) {
    ASSERT_EQ(unsetenv("MINFER_CACHE_TYPE"), 0);
    EXPECT_EQ(cell_type_from_environment(), CellType::F32);
    for (const CellType type : {CellType::F32, CellType::F16, CellType::Q8_0}) {
        setenv("MINFER_CACHE_TYPE", std::string(type_name(type)).c_str(), 1);
        EXPECT_EQ(cell_type_from_environment(), type);
    }
    for (const char* wrong : {" ", "F16", "q4_0"}) {
        setenv("MINFER_CACHE_TYPE", wrong, 1);
        EXPECT_THROW(cell_type_from_environment(), UsageError) << wrong;
    }
    unsetenv("MINFER_CACHE_TYPE");
}

TEST(Layout, NamesOfCellTypes) {
    EXPECT_EQ(cell_type_from_name("q8_0"), CellType::Q8_0);
    EXPECT_EQ(cell_type_from_name(type_name(CellType::F16)), CellType::F16);
    EXPECT_EQ(cell_type_from_name("q4_0"), std::nullopt);
}

}  // namespace
}  // namespace minfer::kv
