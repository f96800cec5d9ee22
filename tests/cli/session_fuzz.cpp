// libFuzzer: any bytes as the file of --session give the whole conversation with its keys and values, or its text
// alone, or an error; and with what they give the conversation goes on.
//
// The first byte of an input says what is made right in the rest, which is the file, for no mutation finds a SHA-256:
//   bits 0, 1  the cells of the engine that reads it: f32, f16, q8_0
//   bit 2      magic and version
//   bit 3      the model's identity
//   bit 4      the digest of the text
//   bit 5      the digest of tokens, keys and values
//   bit 6      the digest of the header
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX's

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/sha256.h"
#include "cli/session.h"
#include "cli/tiny_session.h"
#include "engine/model_identity.h"
#include "engine/session_file.h"

namespace minfer::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHeaderBytes = 312, kTextBytesAt = 40, kIdentityAt = 56, kTextDigestAt = 120, kRestDigestAt = 184,
                 kHeaderDigestAt = 248;

void require(bool holds) {
    if (!holds) std::abort();
}

// Files go to memory where the system has such a folder: each input writes two.
class Folder {
  public:
    Folder() {
        const fs::path memory = "/dev/shm";
        std::string name = ((fs::exists(memory) ? memory : fs::temp_directory_path()) / "session-fuzz-XXXXXX").string();
        require(mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

std::string digest_of(std::string_view bytes) {
    Sha256 hash;
    hash.update(std::as_bytes(std::span(bytes)));
    return hash.hex_digest();
}

std::string bytes_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

uint64_t text_bytes(std::string_view file) {
    uint64_t n;
    std::memcpy(&n, file.data() + kTextBytesAt, sizeof n);
    return n;
}

std::string made_right(std::string file, unsigned what, const std::string& identity) {
    if (file.size() < kHeaderBytes) return file;
    if (what & 4) file.replace(0, 12, std::string_view("minfer\x1a\n\1\0\0\0", 12));
    if (what & 8) file.replace(kIdentityAt, 64, identity);
    const std::string_view rest = std::string_view(file).substr(kHeaderBytes);
    const size_t n = size_t(std::min<uint64_t>(text_bytes(file), rest.size()));
    const std::string text = digest_of(rest.substr(0, n)), cells = digest_of(rest.substr(n));
    if (what & 16) file.replace(kTextDigestAt, 64, text);
    if (what & 32) file.replace(kRestDigestAt, 64, cells);
    if (what & 64) file.replace(kHeaderDigestAt, 64, digest_of(std::string_view(file).substr(0, kHeaderDigestAt)));
    return file;
}

// One kind of cells, ready for any number of files.
class Target {
  public:
    Target(const fs::path& folder, kv::CellType cells)
        : file_(folder / "session"),
          again_(folder / "again"),
          engine_(test::tiny_session_engine(folder, cells)),
          identity_(engine::model_identity(engine_.file(), engine_.threads())),
          session_(file_, engine_) {}

    void run(const std::string& input, unsigned what) {
        const std::string bytes = made_right(input, what, identity_);
        std::ofstream(file_, std::ios::binary) << bytes;
        check_file(bytes);
        check_conversation();
    }

  private:
    // The whole file, which written again is the same; or its text and an empty sequence; or an error.
    void check_file(const std::string& bytes) {
        engine_.sequences().clear();
        try {
            const auto loaded = engine::load_session(file_, engine_, 0, identity_);
            require(loaded.has_value());
            require(loaded->text == bytes.substr(kHeaderBytes, size_t(text_bytes(bytes))));
            require(size_t(engine_.sequences().length(0)) == loaded->tokens.size());
            if (!loaded->problem.empty()) {
                require(loaded->tokens.empty());
                return;
            }
            for (const engine::TokenId id : loaded->tokens) require(id >= 0 && size_t(id) < engine_.n_vocab());
            engine::save_session(again_, engine_, 0, identity_, loaded->text, loaded->tokens);
            // Of no tokens at all the digest says nothing, so that any will do.
            if (!loaded->tokens.empty()) require(bytes_of(again_) == bytes);
        } catch (const FormatError&) {
            require(engine_.sequences().length(0) == 0);
        } catch (const UnsupportedError&) {
            require(engine_.sequences().length(0) == 0);
        }
    }

    // A conversation that was restored goes on, and is restored again as it then is.
    void check_conversation() {
        engine_.sequences().clear();
        engine::Conversation conversation(engine_, 0, test::tiny_session_encode(engine_));
        Session session(session_);
        std::optional<Session::Restored> restored;
        try {
            restored = session.restore(conversation);
        } catch (const FormatError&) {
            return;
        } catch (const UnsupportedError&) {
            return;
        }
        require(restored && restored->n_turn == conversation.transcript().turns.size());
        require(size_t(engine_.sequences().length(0)) == conversation.held().size());
        try {
            test::tiny_session_ask(conversation, "a", 1);
        } catch (const Error&) {  // it does not fit, or the keys make a logit NaN
        }
        require(size_t(engine_.sequences().length(0)) == conversation.held().size());
        session.save(conversation, restored->seed + 1);
        engine_.sequences().clear();
        engine::Conversation second(engine_, 0, test::tiny_session_encode(engine_));
        const auto once_more = Session(session_).restore(second);
        require(once_more && once_more->problem.empty() && once_more->seed == restored->seed + 1);
        require(second.transcript() == conversation.transcript() && second.n_drawn() == conversation.n_drawn());
        require(std::ranges::equal(second.held(), conversation.held()));
    }

    std::string file_, again_;
    engine::Engine engine_;
    std::string identity_;
    const Session session_;  // new, for copies: making one reads the model
};

}  // namespace
}  // namespace minfer::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using minfer::cli::Target;
    static const minfer::cli::Folder folder;
    static std::array<Target, 3> targets = {Target(folder.path(), minfer::test::kCellTypes[0]),
                                            Target(folder.path(), minfer::test::kCellTypes[1]),
                                            Target(folder.path(), minfer::test::kCellTypes[2])};
    if (size == 0) return 0;
    targets[(data[0] & 3) % 3].run({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0]);
    return 0;
}
