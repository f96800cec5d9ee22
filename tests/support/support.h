// What tests share: where things lie, temporary folders, child processes, and skips that CI does not forgive.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace minfer::test {

std::filesystem::path source_dir();   // the checkout
std::filesystem::path binary();       // the minfer of this build; a test that runs it depends on target `minfer`
std::filesystem::path shared_dir();   // ../shared of the checkout: other people's data; absent in a user's clone
std::filesystem::path oracles_dir();  // what scripts/oracles installs: $MINFER_ORACLES, else build/oracles
std::filesystem::path models_dir();   // what scripts/fetch-models fetches
std::filesystem::path python();       // the oracles' interpreter

bool in_ci();  // CI=true

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& bytes);
std::vector<std::string> names_in(const std::filesystem::path& folder);  // sorted

// A folder under the system's temporary folder, removed with all in it at the end of the scope.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

// The words of the exception of class E that `call` throws; "" where it throws none.
template <typename E, typename Call>
std::string what(Call call) {
    try {
        call();
        return "";
    } catch (const E& e) {
        return e.what();
    }
}

struct Finished {
    int status = 0;  // exit status, or 128 + the signal that ended it
    std::string out, err;
};

// Runs a program to its end with `input` on its standard input. `environment` holds NAME=VALUE words, added to this
// process's own.
Finished run(const std::vector<std::string>& words, const std::string& input = "",
             const std::vector<std::string>& environment = {});

// The same, but the program gets one SIGINT when it has printed the first of its output.
Finished run_interrupted(const std::vector<std::string>& words, const std::string& input = "");

}  // namespace minfer::test

// Leaves the test as skipped, naming what is missing; under CI=true that is a failure.
#define MINFER_SKIP_WITHOUT(path)                                             \
    do {                                                                      \
        if (!std::filesystem::exists(path)) {                                 \
            if (minfer::test::in_ci()) FAIL() << "missing in CI: " << (path); \
            GTEST_SKIP() << "missing: " << (path);                            \
        }                                                                     \
    } while (false)
