// A conversation as text: who said what, without a model and without tokens.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "chat/chat_template.h"

namespace minfer::chat {

struct Turn {
    std::string user;
    std::string reply;

    bool operator==(const Turn&) const = default;
};

struct Transcript {
    std::optional<std::string> system;
    std::vector<Turn> turns;
    // The oldest turns that the model no longer sees, because its context was full. They stay in the record.
    size_t n_dropped = 0;

    // What the model sees while it is to write the reply of the last turn: the system message, the turns that were not
    // dropped, and the last user's message.
    std::vector<Message> messages_before_reply() const;

    // {"messages": [{"role": ..., "content": ...}, ...], "dropped": n}: what other tools call a conversation.
    nlohmann::ordered_json to_json() const;
    // Takes that, or a bare list of messages: at most one system message, first, then turns of a user's and an
    // assistant's message. Throws FormatError naming `source` and the message that is off.
    static Transcript from_json(const nlohmann::ordered_json& json, const std::string& source);

    bool operator==(const Transcript&) const = default;
};

}  // namespace minfer::chat
