// session_seeds FOLDER: writes the inputs that session_fuzz starts from. Each is a byte that says what session_fuzz
// does to it, then a session file.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/session.h"
#include "cli/tiny_session.h"

namespace {

using namespace minfer;  // NOLINT(google-build-using-namespace): one file, one function

std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    const std::filesystem::path work = folder / "work";
    std::filesystem::create_directories(work);
    for (size_t i = 0; i < std::size(test::kCellTypes); ++i) {
        engine::Engine engine = test::tiny_session_engine(work, test::kCellTypes[i]);
        engine::Conversation conversation(engine, 0, test::tiny_session_encode(engine));
        std::filesystem::remove(work / "session");  // a session does not write over one that it has not read
        cli::Session session((work / "session").string(), engine);
        const auto write = [&](const std::string& name, char forge) {
            session.save(conversation, 7);
            const std::string file = bytes_of(work / "session");
            const std::filesystem::path path = folder / (std::string(kv::type_name(test::kCellTypes[i])) + "_" + name);
            std::ofstream(path, std::ios::binary) << char(forge + char(i)) << file;
        };
        write("new", 0x7c);
        conversation.set_system("s");
        test::tiny_session_ask(conversation, "hi", 3);
        write("talk", 0x7c);
        write("untouched", 0);
    }
    std::filesystem::remove_all(work);
    return 0;
}
