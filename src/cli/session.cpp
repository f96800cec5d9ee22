#include "cli/session.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "base/atomic_file.h"
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

// Which file is there, and when it was last written to: a file that is replaced is another one.
std::optional<Session::FileState> file_state(const std::string& path) {
    struct stat s{};
    if (stat(path.c_str(), &s) != 0) return std::nullopt;
    return Session::FileState{uint64_t(s.st_dev), uint64_t(s.st_ino), int64_t(s.st_size), int64_t(s.st_mtim.tv_sec),
                              int64_t(s.st_mtim.tv_nsec)};
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
    last_state_ = file_state(path_);
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
    const auto check_unchanged = [&] {
        if (const auto found = file_state(path_); found && found != last_state_)
            throw Error(path_ +
                        ": it has changed since this conversation was last read from it or written to it, and is left "
                        "as it is; does another minfer use it? Another --session FILE, or /save FILE, keeps this one");
    };
    check_unchanged();  // before the work; and after it, for writing a large cache takes a while
    engine::save_session(path_, engine_, 0, identity_, text, conversation.held(), check_unchanged);
    last_text_ = std::move(text);
    last_state_ = file_state(path_);
}

std::optional<Session> open_session(const GenerateArguments& arguments, engine::Engine& engine,
                                    engine::Conversation& conversation, uint64_t& seed,
                                    const std::function<void(const std::string&)>& say) {
    if (arguments.session.empty()) return std::nullopt;
    Session session(arguments.session, engine);
    {
        const AtomicFile writable(arguments.session);
    }  // throws before a reply that could not be kept
    if (const std::optional<Session::Restored> restored = session.restore(conversation)) {
        if (!arguments.seed_given) seed = restored->seed;
        say(restored_text(arguments.session, *restored));
    }
    return session;
}

}  // namespace minfer::cli
