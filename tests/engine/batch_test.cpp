// The data of a forward pass: positions, cells and what each token sees.
#include "engine/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace minfer::engine {
namespace {

using testing::ElementsAre;

TEST(BatchInputs, OneSequence) {
    kv::Sequences sequences(8, 1);
    BatchInputs b;
    b.assign(Batch{{5, 0, false}, {6, 0, false}, {7, 0, true}}, sequences);
    graph::Inputs in = b.inputs();
    EXPECT_THAT(in.token_ids, ElementsAre(5, 6, 7));
    EXPECT_THAT(in.positions, ElementsAre(0, 1, 2));
    EXPECT_THAT(in.kv_cells, ElementsAre(0, 1, 2));
    EXPECT_THAT(in.output_rows, ElementsAre(2));
    EXPECT_THAT(in.attention_map.visible(1), ElementsAre(0, 1));
    b.assign(Batch{{8, 0, true}}, sequences);
    in = b.inputs();
    EXPECT_THAT(in.positions, ElementsAre(3));
    EXPECT_THAT(in.kv_cells, ElementsAre(3));
    EXPECT_THAT(in.attention_map.visible(0), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(in.output_rows, ElementsAre(0));
}

TEST(BatchInputs, SequencesInAnyMixture) {
    kv::Sequences sequences(8, 3);
    sequences.append(2, 2);  // cells 0 and 1
    BatchInputs b;
    b.assign(Batch{{10, 2, true}, {20, 0, false}, {11, 2, false}, {21, 0, true}}, sequences);
    const graph::Inputs in = b.inputs();
    EXPECT_THAT(in.positions, ElementsAre(2, 0, 3, 1));
    EXPECT_THAT(in.kv_cells, ElementsAre(4, 2, 5, 3));
    EXPECT_THAT(in.attention_map.visible(0), ElementsAre(0, 1, 4));
    EXPECT_THAT(in.attention_map.visible(1), ElementsAre(2));
    EXPECT_THAT(in.attention_map.visible(2), ElementsAre(0, 1, 4, 5));
    EXPECT_THAT(in.attention_map.visible(3), ElementsAre(2, 3));
    EXPECT_THAT(in.output_rows, ElementsAre(0, 3));
}

TEST(BatchInputs, TooManyTokensTakeNothing) {
    kv::Sequences sequences(3, 2);
    BatchInputs b;
    EXPECT_THROW(b.assign(Batch{{1, 0, false}, {1, 1, false}, {1, 0, false}, {1, 1, false}}, sequences), ShapeError);
    EXPECT_EQ(sequences.n_free(), 3);
}

}  // namespace
}  // namespace minfer::engine
