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

TEST(Sequences, SharedPrefixes) {
    Sequences s(8, 3);
    s.append(0, 4);
    s.share(0, 1, 3);
    EXPECT_THAT(s.cells(1), ElementsAre(0, 1, 2));
    EXPECT_EQ(s.n_free(), 4) << "nothing is copied";
    s.append(1, 1);
    s.append(0, 1);
    EXPECT_THAT(s.cells(1), ElementsAre(0, 1, 2, 4));
    EXPECT_THAT(s.cells(0), ElementsAre(0, 1, 2, 3, 5));
    s.remove(0);
    EXPECT_EQ(s.n_free(), 4) << "what the other holds stays";
    EXPECT_THAT(s.cells(1), ElementsAre(0, 1, 2, 4));
    EXPECT_THAT([&] { s.share(1, 1, 2); }, ThrowsMessage<ShapeError>(HasSubstr("sequence 1 holds 4 tokens")));
    EXPECT_THAT([&] { s.share(1, 0, 5); }, ThrowsMessage<ShapeError>(HasSubstr("positions 0 to 5 of sequence 1")));
    EXPECT_THROW(s.share(1, 3, 1), ShapeError);
    EXPECT_THROW(s.share(1, 0, -1), ShapeError);
}

TEST(Sequences, SharedCellsAreCopiedBeforeTheyChange) {
    Sequences s(6, 2);
    s.append(0, 4);
    s.share(0, 1, 3);
    EXPECT_THAT(s.make_own(0, 3, 4), IsEmpty()) << "it is its own already";
    EXPECT_THAT(s.make_own(1, 1, 3), ElementsAre(CellMove{1, 4}, CellMove{2, 5}));
    EXPECT_THAT(s.cells(1), ElementsAre(0, 4, 5));
    EXPECT_THAT(s.cells(0), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(s.make_own(0, 1, 4), IsEmpty());
    EXPECT_THAT([&] { s.make_own(0, 0, 1); },
                ThrowsMessage<ShapeError>("the context is full: 1 cells to be copied, but 6 of its 6 cells are taken"));
    EXPECT_THAT(s.cells(0), ElementsAre(0, 1, 2, 3));
    EXPECT_THROW(s.make_own(0, 3, 2), ShapeError);
    EXPECT_THROW(s.make_own(0, 0, 5), ShapeError);
}

TEST(Sequences, PositionsTakenOut) {
    Sequences s(6, 2);
    s.append(0, 6);
    s.share(0, 1, 2);
    s.erase(0, 1, 4);
    EXPECT_THAT(s.cells(0), ElementsAre(0, 4, 5));
    EXPECT_EQ(s.n_free(), 2) << "cell 1 is still the other's";
    s.erase(0, 1, 1);
    EXPECT_EQ(s.length(0), 3);
    EXPECT_THROW(s.erase(0, 2, 4), ShapeError);
    EXPECT_THROW(s.erase(0, -1, 1), ShapeError);
}

TEST(Sequences, Compaction) {
    Sequences s(10, 3);
    s.append(0, 3);
    s.append(1, 3);
    s.share(1, 2, 2);
    s.append(2, 1);
    s.remove(0);
    EXPECT_THAT(s.compact(), ElementsAre(CellMove{4, 0}, CellMove{5, 1}, CellMove{6, 2}));
    EXPECT_THAT(s.cells(1), ElementsAre(3, 0, 1));
    EXPECT_THAT(s.cells(2), ElementsAre(3, 0, 2));
    EXPECT_THAT(s.compact(), IsEmpty());
    s.append(0, 6);
    EXPECT_THAT(s.cells(0), ElementsAre(4, 5, 6, 7, 8, 9));
    EXPECT_EQ(s.n_free(), 0);
}

// Cells hold what was written in them; sequences must read back what they wrote, whatever happens to the others.
TEST(Sequences, NothingIsLostWhateverComes) {
    std::mt19937 random(11);
    constexpr int32_t kCells = 60, kSequences = 5;
    Sequences s(kCells, kSequences);
    std::vector<int> content(kCells, -1);
    std::vector<std::vector<int>> expected(kSequences);
    int next = 0;
    const auto move = [&](const std::vector<CellMove>& moves) {
        for (const CellMove& m : moves) content[size_t(m.to)] = content[size_t(m.from)];
    };
    for (int step = 0; step < 20000; ++step) {
        const auto a = SequenceId(random() % kSequences), b = SequenceId(random() % kSequences);
        std::vector<int>& mine = expected[size_t(a)];
        const auto position = [&] { return int32_t(random() % (mine.size() + 1)); };
        switch (random() % 7) {
            case 0:
            case 1: {
                const int32_t n = std::min(int32_t(random() % 6), s.n_free());
                s.append(a, n);
                for (int32_t i = 0; i < n; ++i) {
                    mine.push_back(next);
                    content[size_t(s.cells(a)[mine.size() - 1])] = next++;
                }
                break;
            }
            case 2: {
                const int32_t n = position();
                s.truncate(a, n);
                mine.resize(size_t(n));
                break;
            }
            case 3: {
                if (a == b) break;
                s.remove(b);
                const int32_t n = position();
                s.share(a, b, n);
                expected[size_t(b)].assign(mine.begin(), mine.begin() + n);
                break;
            }
            case 4: {
                const int32_t x = position(), y = position(), first = std::min(x, y), last = std::max(x, y);
                if (s.n_free() < last - first) break;
                move(s.make_own(a, first, last));
                for (int32_t i = first; i < last; ++i) {  // what it may do with them from now on
                    mine[size_t(i)] = next;
                    content[size_t(s.cells(a)[size_t(i)])] = next++;
                }
                break;
            }
            case 5: {
                const int32_t x = position(), y = position(), first = std::min(x, y), last = std::max(x, y);
                s.erase(a, first, last);
                mine.erase(mine.begin() + first, mine.begin() + last);
                break;
            }
            case 6:
                if (random() % 4 == 0) move(s.compact());
                break;
        }
        std::set<int32_t> held;
        for (SequenceId i = 0; i < kSequences; ++i) {
            std::vector<int> found;
            for (const int32_t cell : s.cells(i)) {
                ASSERT_TRUE(cell >= 0 && cell < kCells);
                found.push_back(content[size_t(cell)]);
                held.insert(cell);
            }
            ASSERT_EQ(found, expected[size_t(i)]) << "step " << step << ", sequence " << i;
        }
        ASSERT_EQ(size_t(s.n_free()), kCells - held.size());
    }
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
