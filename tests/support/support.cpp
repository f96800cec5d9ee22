#include "support/support.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

extern char** environ;

namespace minfer::test {

namespace fs = std::filesystem;

fs::path source_dir() { return MINFER_SOURCE_DIR; }
fs::path binary() { return MINFER_BINARY; }
fs::path shared_dir() { return source_dir().parent_path() / "shared"; }

fs::path oracles_dir() {
    const char* set = std::getenv("MINFER_ORACLES");
    return set ? fs::path(set) : source_dir() / "build" / "oracles";
}

fs::path models_dir() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "minfer" / "models";
    const char* home = std::getenv("HOME");
    return fs::path(home ? home : "/") / ".cache" / "minfer" / "models";
}

fs::path python() { return oracles_dir() / "venv" / "bin" / "python"; }

bool in_ci() {
    const char* ci = std::getenv("CI");
    return ci && std::string(ci) == "true";
}

std::string read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

void write_file(const fs::path& path, const std::string& bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), std::streamsize(bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "minfer-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

namespace {

// `printed` is called with the child's process once there is output, again and again.
template <typename Printed>
Finished run_child(const std::vector<std::string>& words, const std::string& input,
                   const std::vector<std::string>& environment, Printed printed) {
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) throw std::runtime_error("pipe failed");
    std::vector<std::string> variables;
    for (char** e = environ; *e; ++e) variables.emplace_back(*e);
    variables.insert(variables.end(), environment.begin(), environment.end());
    std::vector<char*> argv, envp;
    for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    for (auto v = variables.rbegin(); v != variables.rend(); ++v) envp.push_back(v->data());  // the first one counts
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execvpe(argv[0], argv.data(), envp.data());
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    struct sigaction ignore = {}, before = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);  // a child that does not read its input is no reason to die
    Finished result;
    size_t written = 0;
    if (input.empty()) close(std::exchange(in[1], -1));
    bool open_out = true, open_err = true;
    while (open_out || open_err || in[1] >= 0) {
        pollfd fds[3] = {{open_out ? out[0] : -1, POLLIN, 0}, {open_err ? err[0] : -1, POLLIN, 0}, {in[1], POLLOUT, 0}};
        if (poll(fds, 3, -1) < 0) continue;
        char buffer[65536];
        auto drain = [&](int fd, std::string& to, bool& open) {
            const ssize_t n = read(fd, buffer, sizeof buffer);
            if (n > 0) to.append(buffer, size_t(n));
            if (n == 0) open = false;
        };
        if (fds[0].revents) drain(out[0], result.out, open_out);
        if (!result.out.empty()) printed(child);
        if (fds[1].revents) drain(err[0], result.err, open_err);
        if (fds[2].revents) {
            const size_t chunk = std::min<size_t>(input.size() - written, 4096);
            const ssize_t n = write(in[1], input.data() + written, chunk);
            if (n > 0) written += size_t(n);
            if (n < 0 || written == input.size()) close(std::exchange(in[1], -1));
        }
    }
    close(out[0]);
    close(err[0]);
    sigaction(SIGPIPE, &before, nullptr);
    int status = 0;
    waitpid(child, &status, 0);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

}  // namespace

Finished run(const std::vector<std::string>& words, const std::string& input,
             const std::vector<std::string>& environment) {
    return run_child(words, input, environment, [](pid_t) {});
}

Finished run_interrupted(const std::vector<std::string>& words, const std::string& input) {
    bool sent = false;
    return run_child(words, input, {}, [&](pid_t child) {
        if (!std::exchange(sent, true)) kill(child, SIGINT);
    });
}

}  // namespace minfer::test
