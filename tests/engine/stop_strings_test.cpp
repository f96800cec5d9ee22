#include "engine/stop_strings.h"

#include <gtest/gtest.h>

#include <random>

namespace minfer::engine {
namespace {

// What comes out, with a bar where it stopped.
std::string through(const std::vector<std::string>& stop, const std::vector<std::string>& pieces) {
    StopStrings s(stop);
    std::string out;
    for (const std::string& piece : pieces) {
        const StopStrings::Step step = s.push(piece);
        out += step.text;
        if (step.stopped) return out + "|";
    }
    return out + s.flush();
}

TEST(StopStrings, WithinAPieceAndAcrossPieces) {
    EXPECT_EQ(through({"END"}, {"one END two"}), "one |");
    EXPECT_EQ(through({"END"}, {"one E", "N", "D two"}), "one |");
    EXPECT_EQ(through({"END"}, {"one E", "N", "d two"}), "one ENd two");
    EXPECT_EQ(through({"END"}, {"EEN", "D"}), "E|");
    EXPECT_EQ(through({"aab"}, {"a", "a", "a", "b"}), "a|");
}

TEST(StopStrings, TheFirstOfSeveral) {
    EXPECT_EQ(through({"yz", "x"}, {"abxyz"}), "ab|");
    EXPECT_EQ(through({"xyz", "y"}, {"ab", "x", "y"}), "abx|");
}

TEST(StopStrings, HoldsBackNoMoreThanItMust) {
    StopStrings s({"END"});
    EXPECT_EQ(s.push("one").text, "one");
    EXPECT_EQ(s.push(" E").text, " ");
    EXPECT_EQ(s.push("N").text, "");
    EXPECT_EQ(s.push("x").text, "ENx");
    EXPECT_EQ(s.flush(), "");
}

TEST(StopStrings, NoneAndEmpty) {
    EXPECT_EQ(through({}, {"a", "b"}), "ab");
    EXPECT_EQ(through({""}, {"a", "b"}), "ab");
}

// However the text is cut, the result is that of the whole text.
TEST(StopStrings, AnyCut) {
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (int i = 0; i < 30; ++i) text += "ab"[random() % 2];
        std::vector<std::string> stop;
        for (int i = 0; i < 3; ++i) {
            std::string s;
            for (size_t n = 2 + random() % 6; n > 0; --n) s += "ab"[random() % 2];
            stop.push_back(s);
        }
        size_t first = std::string::npos;
        for (const std::string& s : stop) first = std::min(first, text.find(s));
        std::vector<std::string> pieces;
        for (size_t at = 0; at < text.size();) {
            pieces.push_back(text.substr(at, 1 + random() % 4));
            at += pieces.back().size();
        }
        const std::string out = through(stop, pieces);
        if (first == std::string::npos) {
            EXPECT_EQ(out, text);
            continue;
        }
        EXPECT_EQ(through(stop, {text}), text.substr(0, first) + "|");
        // In pieces, a stop string may come before a longer one that began earlier is whole.
        EXPECT_TRUE(out.ends_with('|') && text.starts_with(out.substr(0, out.size() - 1))) << text << " " << out;
        EXPECT_GE(out.size(), first + 1);
    }
}

}  // namespace
}  // namespace minfer::engine
