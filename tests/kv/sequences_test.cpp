#include "kv/sequences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/error.h"

namespace minfer::kv {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(Sequences, TakesTheLowestFreeCells) {
    Sequences s(6, 2);
    s.append(0, 2);
    s.append(1, 2);
    s.append(0, 1);
    EXPECT_THAT(s.cells(0), ElementsAre(0, 1, 4));
    EXPECT_THAT(s.cells(1), ElementsAre(2, 3));
    s.truncate(0, 1);
    s.append(1, 3);
    EXPECT_THAT(s.cells(0), ElementsAre(0));
    EXPECT_THAT(s.cells(1), ElementsAre(2, 3, 1, 4, 5));
    EXPECT_EQ(s.n_free(), 0);
}

TEST(Sequences, RemoveAndClear) {
    Sequences s(4, 3);
    s.append(0, 1);
    s.append(2, 3);
    s.remove(2);
    EXPECT_THAT(s.cells(2), IsEmpty());
    EXPECT_EQ(s.n_free(), 3);
    s.clear();
    EXPECT_EQ(s.n_free(), 4);
    EXPECT_EQ(s.length(0), 0);
}

TEST(Sequences, RefusesWhatDoesNotFitAndChangesNothing) {
    Sequences s(3, 1);
    s.append(0, 2);
    EXPECT_THAT([&] { s.append(0, 2); },
                ThrowsMessage<ShapeError>("the context is full: 2 more tokens, but 2 of its 3 cells are taken"));
    EXPECT_THAT([&] { s.append(0, -1); }, ThrowsMessage<ShapeError>(HasSubstr("-1 more tokens")));
    EXPECT_THAT([&] { s.truncate(0, 3); },
                ThrowsMessage<ShapeError>("KV cache: sequence 0 holds 2 tokens, which cannot be cut to 3"));
    EXPECT_THAT([&] { (void)s.length(1); },
                ThrowsMessage<ShapeError>("KV cache: found sequence 1, expected one from 0 to 0"));
    EXPECT_THAT([&] { (void)s.cells(-1); }, ThrowsMessage<ShapeError>(HasSubstr("found sequence -1")));
    EXPECT_THAT(s.cells(0), ElementsAre(0, 1));
    EXPECT_THROW(Sequences(0, 1), ShapeError);
    EXPECT_THROW(Sequences(1, 0), ShapeError);
}

// Against a model that is nothing but sets.
TEST(Sequences, NoCellIsHeldTwiceOrLost) {
    std::mt19937 random(7);
    Sequences s(40, 4);
    std::vector<std::vector<int32_t>> expected(4);
    for (int step = 0; step < 5000; ++step) {
        const auto sequence = SequenceId(random() % 4);
        std::vector<int32_t>& mine = expected[size_t(sequence)];
        if (random() % 2) {
            const int32_t n = std::min(int32_t(random() % 6), s.n_free());
            s.append(sequence, n);
            for (int32_t i = 0; i < n; ++i) mine.push_back(s.cells(sequence)[mine.size()]);
        } else {
            const auto n = int32_t(random() % (mine.size() + 1));
            s.truncate(sequence, n);
            mine.resize(size_t(n));
        }
        std::set<int32_t> held;
        size_t n_held = 0;
        for (SequenceId i = 0; i < 4; ++i) {
            ASSERT_THAT(s.cells(i), testing::ElementsAreArray(expected[size_t(i)])) << "old cells must stay";
            held.insert(s.cells(i).begin(), s.cells(i).end());
            n_held += s.cells(i).size();
        }
        ASSERT_EQ(held.size(), n_held);
        ASSERT_EQ(size_t(s.n_free()), 40 - n_held);
        if (!held.empty()) {
            ASSERT_GE(*held.begin(), 0);
            ASSERT_LT(*held.rbegin(), 40);
        }
    }
}

}  // namespace
}  // namespace minfer::kv
