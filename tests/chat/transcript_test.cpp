// Conversations as JSON, there and back, and what is refused.
#include "chat/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace minfer::chat {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string words(const std::vector<Message>& messages) {
    std::string out;
    for (const Message& m : messages) out += m.role + ":" + m.content + " ";
    return out;
}

TEST(Transcript, WhatTheModelSees) {
    Transcript t{"s", {{"a", "b"}, {"c", "d"}, {"e", "f"}}};
    EXPECT_EQ(words(t.messages_before_reply()), "system:s user:a assistant:b user:c assistant:d user:e ");
    t.n_dropped = 1;
    EXPECT_EQ(words(t.messages_before_reply()), "system:s user:c assistant:d user:e ");
    t.n_dropped = 2;
    t.system.reset();
    EXPECT_EQ(words(t.messages_before_reply()), "user:e ");
}

TEST(Transcript, ThereAndBackAsJson) {
    for (const Transcript& t : {Transcript{}, Transcript{"", {}}, Transcript{{}, {{"", ""}}},
                                Transcript{"s\n\"", {{"a", "b"}, {"c\t", "\u00e9"}}, 1}})
        EXPECT_EQ(Transcript::from_json(ordered_json::parse(t.to_json().dump()), "f"), t);
    const auto bare = ordered_json::parse(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"}])");
    EXPECT_EQ(Transcript::from_json(bare, "f"), (Transcript{{}, {{"a", "b"}}}));
}

TEST(Transcript, RefusesWhatIsNoConversation) {
    const auto refuse = [](const char* json, const char* message) {
        EXPECT_THAT([&] { Transcript::from_json(ordered_json::parse(json), "file.json"); },
                    ThrowsMessage<FormatError>(testing::AllOf(HasSubstr("file.json"), HasSubstr(message))))
            << json;
    };
    refuse("1", "an object with a list");
    refuse("{}", "an object with a list");
    refuse(R"({"messages": {}})", "an object with a list");
    refuse("[1]", "message 0");
    refuse(R"([{"role":"user"}])", "message 0");
    refuse(R"([{"role":"user","content":["a"]}])", "message 0");
    refuse(R"([{"role":"assistant","content":"a"}])", "message 0: found role 'assistant', expected the user's message");
    refuse(R"([{"role":"user","content":"a"}])", "message 1: found the end");
    refuse(R"([{"role":"user","content":"a"},{"role":"user","content":"b"}])", "message 1: found role 'user'");
    refuse(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"s"}])",
           "message 2: found role 'system'");
    refuse(R"({"messages":[],"dropped":1})", "dropped: found 1, expected a count of at most 0 turns");
    refuse(R"({"messages":[],"dropped":-1})", "dropped: found -1");
    refuse(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"dropped":1})",
           "at most 0 turns");
    refuse(R"([{"role":"\u001b[2J","content":"a"}])", "found role '\\x1b[2J'");
}

TEST(Transcript, RefusesWhatIsNestedAsDeepAsAFileMayBe) {
    const std::string lists = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    for (const std::string& json : {R"({"messages":[],"dropped":)" + lists + "}", R"({"messages":)" + lists + "}",
                                    R"([{"role":"user","content":)" + lists + "}]"})
        EXPECT_THROW(Transcript::from_json(ordered_json::parse(json), "f"), FormatError);
}

}  // namespace
}  // namespace minfer::chat
