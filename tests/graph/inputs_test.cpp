// What a batch's data must be before a backend sees it.
#include "graph/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace minfer::graph {
namespace {

using ::testing::HasSubstr;

struct Batch {
    std::vector<int32_t> ids = {5, 0, 9}, positions = {0, 1, 7}, cells = {3, 2, 1}, rows = {2};
    std::vector<int32_t> offsets = {0, 0, 2}, n_visible = {1, 2, 3}, seen = {3, 2, 1, 0, 1};

    Inputs inputs() const { return {ids, positions, cells, {offsets, n_visible, seen}, rows}; }
};

// The message with which the batch is refused; empty where it passes.
std::string refusal(const std::function<void(Batch&)>& change) {
    Batch batch;
    change(batch);
    try {
        check(batch.inputs(), {3, 1, 0}, {.n_vocab = 10, .n_cells = 4});
    } catch (const ShapeError& e) {
        return e.what();
    }
    return "";
}

TEST(Inputs, AWellFormedBatchPasses) {
    EXPECT_EQ(refusal([](Batch&) {}), "");
}

TEST(Inputs, SizesFollowTheParameters) {
    EXPECT_THAT(refusal([](Batch& b) { b.ids.pop_back(); }), HasSubstr("token_ids: found 2 values, expected 3"));
    EXPECT_THAT(refusal([](Batch& b) { b.positions.push_back(1); }), HasSubstr("positions: found 4"));
    EXPECT_THAT(refusal([](Batch& b) { b.cells.clear(); }), HasSubstr("kv_cells: found 0"));
    EXPECT_THAT(refusal([](Batch& b) { b.rows.clear(); }), HasSubstr("output_rows: found 0 values, expected 1"));
    EXPECT_THAT(refusal([](Batch& b) { b.offsets.pop_back(); }), HasSubstr("cell_map offsets: found 2"));
    EXPECT_THAT(refusal([](Batch& b) { b.n_visible.pop_back(); }), HasSubstr("cell_map n_visible: found 2"));
}

TEST(Inputs, ValuesAreInRange) {
    EXPECT_THAT(refusal([](Batch& b) { b.ids[1] = 10; }),
                HasSubstr("token_ids: value 1 is 10, expected 0 to below 10"));
    EXPECT_THAT(refusal([](Batch& b) { b.ids[2] = -1; }), HasSubstr("token_ids: value 2 is -1"));
    EXPECT_THAT(refusal([](Batch& b) { b.positions[0] = -5; }), HasSubstr("positions: value 0 is -5"));
    EXPECT_THAT(refusal([](Batch& b) { b.cells[0] = 4; }), HasSubstr("kv_cells: value 0 is 4, expected 0 to below 4"));
    EXPECT_THAT(refusal([](Batch& b) { b.rows[0] = 3; }), HasSubstr("output_rows: value 0 is 3"));
    EXPECT_THAT(refusal([](Batch& b) { b.seen[4] = 4; }), HasSubstr("cell_map cells: value 4 is 4"));
}

TEST(Inputs, TheMapStaysWithinItsList) {
    EXPECT_THAT(refusal([](Batch& b) { b.n_visible[1] = 0; }), HasSubstr("token 1 sees 0 cells"));
    EXPECT_THAT(refusal([](Batch& b) { b.offsets[0] = -1; }), HasSubstr("from -1 on"));
    EXPECT_THAT(refusal([](Batch& b) { b.n_visible[2] = 4; }), HasSubstr("within a list of 5"));
    EXPECT_THAT(refusal([](Batch& b) { b.offsets[2] = b.n_visible[2] = 2147483647; }), HasSubstr("token 2"));
}

TEST(Inputs, VisibleCellsAreAPieceOfTheList) {
    const Batch batch;
    const std::span<const int32_t> seen = batch.inputs().attention_map.visible(2);
    EXPECT_THAT(std::vector<int32_t>(seen.begin(), seen.end()), ::testing::ElementsAre(1, 0, 1));
}

TEST(Inputs, AreFoundByKind) {
    const Batch batch;
    EXPECT_EQ(batch.inputs().of(InputKind::Positions).data(), batch.positions.data());
    EXPECT_EQ(batch.inputs().of(InputKind::OutputRows).data(), batch.rows.data());
    EXPECT_THROW(batch.inputs().of(InputKind::CellMap), UnsupportedError);
}

}  // namespace
}  // namespace minfer::graph
