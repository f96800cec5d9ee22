// The file of --session, between a conversation and the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/generate_arguments.h"
#include "engine/conversation.h"

namespace minfer::cli {

class Session {
  public:
    // Reads the whole model once, to know it by its digest. Borrows the engine.
    Session(std::string path, engine::Engine& engine);

    struct Restored {
        uint64_t seed = 0;    // that the conversation was held with
        std::string problem;  // why keys and values must be computed anew; else empty
        size_t n_turn = 0;
    };
    // Puts the file's conversation into one that is new; nothing where there is no file yet. Throws FormatError and
    // UnsupportedError for a file that gives no conversation, and IoError.
    std::optional<Restored> restore(engine::Conversation& conversation);

    // Writes the conversation, where it has changed since it was last read or written. Throws IoError, and Error where
    // somebody else has written to the file since.
    void save(const engine::Conversation& conversation, uint64_t seed);

    struct FileState {
        uint64_t device, inode;
        int64_t size;
        int64_t seconds, nanoseconds;  // when it was last written to

        bool operator==(const FileState&) const = default;
    };

  private:
    std::string path_, identity_;
    engine::Engine& engine_;
    std::string last_text_;
    std::optional<FileState> last_state_;  // as this conversation left it; nothing where there was no file
};

// The session that the arguments name, with what its file holds put into `conversation`, which is new; nothing where
// they name none. `seed` becomes that of the file, unless one was given, and `say` is told what the user should know.
// Throws as restore() does.
std::optional<Session> open_session(const GenerateArguments& arguments, engine::Engine& engine,
                                    engine::Conversation& conversation, uint64_t& seed,
                                    const std::function<void(const std::string&)>& say);

}  // namespace minfer::cli
