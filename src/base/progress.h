// Progress of work that is counted in bytes: a bar where people watch, plain lines where a log is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace minfer {

class Progress {
  public:
    // Work of `total` bytes, named by `title`. It is drawn on `out`, which is borrowed: as a bar on a terminal, else as
    // a line for each tenth of the work.
    Progress(std::string title, uint64_t total, std::FILE* out = stderr);
    Progress(std::string title, uint64_t total, std::FILE* out, bool is_terminal);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    // Shows nothing, not even the last line, of work that takes less than this.
    void be_quiet_for(std::chrono::milliseconds patience) { patience_ = patience; }
    ~Progress();  // takes an unfinished bar off the screen, for what is printed next

    void item(std::string_view name);  // what the next bytes belong to: shown in the bar
    void advance(uint64_t bytes);
    void finish();  // the last line: all bytes, and how fast they went

  private:
    using Clock = std::chrono::steady_clock;

    void draw(Clock::time_point now);

    std::string title_, item_;
    uint64_t total_, done_ = 0, tenths_ = 0;
    std::FILE* out_;
    bool is_terminal_, drawn_ = false;
    std::chrono::milliseconds patience_{0};
    Clock::time_point start_, last_draw_;
};

// One bar of at most `width` columns: title, share, bytes, speed, time left, item. Speed and time left come from `done`
// bytes in `seconds`.
std::string progress_bar(std::string_view title, std::string_view item, uint64_t done, uint64_t total, double seconds,
                         size_t width);

}  // namespace minfer
