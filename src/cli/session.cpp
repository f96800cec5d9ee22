#include "cli/session.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "engine/model_identity.h"
#include "engine/session_file.h"

namespace minfer::cli {

namespace {

using nlohmann::ordered_json;

std::string text_of(const engine::Conversation& conversation, uint64_t seed) {
    ordered_json json = conversation.transcript().to_json();
    json["drawn"] = conversation.n_drawn();
    json["seed"] = seed;
    return json.dump();
}

uint64_t number(const ordered_json& json, const char* name, const std::string& path) {
    if (!json.contains(name) || !json[name].is_number_unsigned())
        throw FormatError(path, name, "something else", "a number");
    return json[name].get<uint64_t>();
}

std::string restored_text(const std::string& path, const Session::Restored& restored) {
    const std::string turns = fmt::format("{} turn{}", restored.n_turn, restored.n_turn == 1 ? "" : "s");
    if (restored.problem.empty()) return fmt::format("{}: {} as they were left", path, turns);
    return fmt::format("{}: {}; the text of {} is whole, and is computed anew", path, restored.problem, turns);
}

}  // namespace

Session::Session(std::string path, engine::Engine& engine)
    : path_(std::move(path)), identity_(engine::model_identity(engine.file(), engine.threads())), engine_(engine) {}

std::optional<Session::Restored> Session::restore(engine::Conversation& conversation) {
    std::optional<engine::LoadedSession> loaded = engine::load_session(path_, engine_, 0, identity_);
    if (!loaded) return std::nullopt;
    conversation.set_held(std::move(loaded->tokens));
    const auto json = ordered_json::parse(loaded->text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) throw FormatError(path_, "text", "no JSON object", "a conversation");
    conversation.set_transcript(chat::Transcript::from_json(json, path_), number(json, "drawn", path_));
    if (loaded->problem.empty()) last_text_ = std::move(loaded->text);
    return Restored{number(json, "seed", path_), loaded->problem, conversation.transcript().turns.size()};
}

void Session::save(const engine::Conversation& conversation, uint64_t seed) {
    std::string text = text_of(conversation, seed);
    if (text == last_text_) return;
    engine::save_session(path_, engine_, 0, identity_, text, conversation.held());
    last_text_ = std::move(text);
}

std::optional<Session> open_session(const GenerateArguments& arguments, engine::Engine& engine,
                                    engine::Conversation& conversation, uint64_t& seed,
                                    const std::function<void(const std::string&)>& say) {
    if (arguments.session.empty()) return std::nullopt;
    Session session(arguments.session, engine);
    if (const std::optional<Session::Restored> restored = session.restore(conversation)) {
        if (!arguments.seed_given) seed = restored->seed;
        say(restored_text(arguments.session, *restored));
    }
    return session;
}

}  // namespace minfer::cli
