// Thoughts and answers, in whatever pieces the text comes.
#include "chat/reasoning.h"

#include <gtest/gtest.h>

namespace minfer::chat {
namespace {

// The text as "[thought]answer", by way of pieces of `n` bytes.
std::string split(const std::string& text, size_t n, bool inside = false) {
    ReasoningSplitter splitter(inside);
    std::string out;
    bool thought = false;
    const auto take = [&](const std::vector<ReasoningSplitter::Piece>& pieces) {
        for (const auto& piece : pieces) {
            EXPECT_FALSE(piece.text.empty());
            if (piece.thought != thought) out += piece.thought ? "[" : "]";
            thought = piece.thought;
            out += piece.text;
        }
    };
    for (size_t i = 0; i < text.size(); i += n) take(splitter.push(text.substr(i, n)));
    take(splitter.flush());
    return out;
}

TEST(Reasoning, IsToldFromTheAnswer) {
    for (const size_t n : {1, 2, 3, 5, 7, 100}) {
        EXPECT_EQ(split("<think>\na < b\n</think>\n\nYes.", n), "[<think>\na < b\n</think>]\n\nYes.");
        EXPECT_EQ(split("\n <think>a</think><think>b</think>c", n), "[\n <think>a</think><think>b</think>]c");
        EXPECT_EQ(split("<think>never closed </thin", n), "[<think>never closed </thin");
        EXPECT_EQ(split("a thought</think>done", n, true), "[a thought</think>]done");
        EXPECT_EQ(split("No thoughts.", n), "No thoughts.");
        EXPECT_EQ(split("Write <think> and </think>.", n), "Write <think> and </think>.");
        EXPECT_EQ(split("a<think>b</think>", n), "a<think>b</think>");
        EXPECT_EQ(split("<thin", n), "<thin");
        EXPECT_EQ(split("<thing>", n), "<thing>");
        EXPECT_EQ(split("  \n", n), "  \n");
        EXPECT_EQ(split("", n), "");
    }
}

TEST(Reasoning, TextIsGivenOutAsSoonAsItIsClear) {
    ReasoningSplitter splitter(false);
    EXPECT_TRUE(splitter.push("<th").empty());
    EXPECT_EQ(splitter.push("ink>so <"), (std::vector<ReasoningSplitter::Piece>{{"<think>so ", true}}));
    EXPECT_EQ(splitter.push("b"), (std::vector<ReasoningSplitter::Piece>{{"<b", true}}));
    EXPECT_EQ(splitter.push("</think>x <"),
              (std::vector<ReasoningSplitter::Piece>{{"</think>", true}, {"x <", false}}));
}

TEST(Reasoning, PromptsThatOpenIt) {
    EXPECT_TRUE(opens_reasoning("<|Assistant|><think>\n"));
    EXPECT_TRUE(opens_reasoning("<think>"));
    EXPECT_FALSE(opens_reasoning("<think>\n\n</think>\n\n"));
    EXPECT_FALSE(opens_reasoning("what is <think>?<|im_end|>\n"));
    EXPECT_FALSE(opens_reasoning("\n"));
}

}  // namespace
}  // namespace minfer::chat
