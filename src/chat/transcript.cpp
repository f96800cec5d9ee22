#include "chat/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "gguf/value.h"

namespace minfer::chat {

namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& source, size_t message, const std::string& found,
                         const std::string& expected) {
    throw FormatError(source, fmt::format("message {}", message), found, expected);
}

// Reads messages in order, each with the role that it must have.
class MessageReader {
  public:
    MessageReader(const ordered_json& messages, const std::string& source) : messages_(messages), source_(source) {}

    bool at_end() const { return next_ == messages_.size(); }
    bool next_is(std::string_view role) const { return !at_end() && field("role") == role; }

    std::string content_of(std::string_view role) {
        if (at_end()) refuse(source_, next_, "the end", "a message of the " + std::string(role));
        if (!next_is(role))
            refuse(source_, next_, "role " + gguf::in_quotes(field("role")), "the " + std::string(role) + "'s message");
        std::string content = field("content");
        ++next_;
        return content;
    }

  private:
    std::string field(const char* name) const {
        const ordered_json& message = messages_[next_];
        if (!message.is_object() || !message.contains(name) || !message[name].is_string())
            refuse(source_, next_, "something else", "an object with role and content, both of them text");
        return message[name].get<std::string>();
    }

    const ordered_json& messages_;
    const std::string& source_;
    size_t next_ = 0;
};

}  // namespace

std::vector<Message> Transcript::messages_before_reply() const {
    std::vector<Message> messages;
    if (system) messages.push_back({"system", *system});
    for (size_t i = n_dropped; i < turns.size(); ++i) {
        messages.push_back({"user", turns[i].user});
        if (i + 1 < turns.size()) messages.push_back({"assistant", turns[i].reply});
    }
    return messages;
}

ordered_json Transcript::to_json() const {
    ordered_json messages = ordered_json::array();
    if (system) messages.push_back({{"role", "system"}, {"content", *system}});
    for (const Turn& turn : turns) {
        messages.push_back({{"role", "user"}, {"content", turn.user}});
        messages.push_back({{"role", "assistant"}, {"content", turn.reply}});
    }
    return {{"messages", std::move(messages)}, {"dropped", n_dropped}};
}

Transcript Transcript::from_json(const ordered_json& json, const std::string& source) {
    const bool bare = json.is_array();
    if (!bare && (!json.is_object() || !json.contains("messages") || !json["messages"].is_array()))
        throw FormatError(source, "conversation", "something else", "an object with a list \"messages\"");
    Transcript transcript;
    MessageReader reader(bare ? json : json["messages"], source);
    if (reader.next_is("system")) transcript.system = reader.content_of("system");
    while (!reader.at_end()) {
        Turn turn;
        turn.user = reader.content_of("user");
        turn.reply = reader.content_of("assistant");
        transcript.turns.push_back(std::move(turn));
    }
    if (!bare && json.contains("dropped")) {
        const ordered_json& dropped = json["dropped"];
        const uint64_t most = std::max<size_t>(transcript.turns.size(), 1) - 1;  // the last turn is never dropped
        if (!dropped.is_number_unsigned() || dropped.get<uint64_t>() > most)
            throw FormatError(source, "dropped", dropped.is_number() ? dropped.dump() : "something else",
                              fmt::format("a count of at most {} turns", most));
        transcript.n_dropped = dropped.get<size_t>();
    }
    return transcript;
}

}  // namespace minfer::chat
