#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/byte_size.h"
#include "base/printable.h"

namespace minfer {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kNextLine = std::chrono::seconds(1);  // lines of a log: none for work that is soon done
constexpr size_t kBarColumns = 24;

size_t terminal_width(std::FILE* out) {
    winsize size = {};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}

std::string speed(uint64_t bytes, double seconds) {
    return format_byte_size(seconds > 0 ? uint64_t(double(bytes) / seconds) : 0) + "/s";
}

std::string clock_time(double seconds) {
    const auto whole = uint64_t(std::llround(std::min(seconds, 359999.0)));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string progress_bar(std::string_view title, std::string_view item, uint64_t done, uint64_t total, double seconds,
                         size_t width) {
    const double share = total == 0 ? 1.0 : std::min(1.0, double(done) / double(total));
    const auto filled = size_t(share * kBarColumns);
    std::string text = fmt::format("{} [{:=<{}}{: <{}}] {:3}%  {}", title, "", filled, "", kBarColumns - filled,
                                   unsigned(share * 100), speed(done, seconds));
    if (done > 0) text += fmt::format("  {} left", clock_time(seconds * (1 - share) / share));
    if (!item.empty()) text += fmt::format("  {}", item);
    if (text.size() > width) text.resize(width);
    return text;
}

Progress::Progress(std::string title, uint64_t total, std::FILE* out)
    : Progress(std::move(title), total, out, isatty(fileno(out)) == 1) {}

Progress::Progress(std::string title, uint64_t total, std::FILE* out, bool is_terminal)
    : title_(std::move(title)),
      total_(total),
      out_(out),
      is_terminal_(is_terminal),
      start_(Clock::now()),
      last_draw_(start_) {}

Progress::~Progress() {
    if (drawn_) fmt::print(out_, "\r\x1b[K");
    if (drawn_) std::fflush(out_);
}

void Progress::item(std::string_view name) { item_ = printable(name); }

void Progress::advance(uint64_t bytes) {
    done_ += bytes;
    const auto now = Clock::now();
    if (now - start_ < patience_) return;
    if (is_terminal_) {
        if (now - last_draw_ >= kRedraw) draw(now);
        return;
    }
    const uint64_t tenths = total_ == 0 ? 0 : uint64_t(10.0 * double(done_) / double(total_));
    if (tenths <= tenths_ || tenths >= 10 || now - last_draw_ < kNextLine) return;
    fmt::print(out_, "{}: {}% of {}\n", title_, tenths * 10, format_byte_size(total_));
    std::fflush(out_);
    tenths_ = tenths;
    last_draw_ = now;
}

void Progress::draw(Clock::time_point now) {
    const double seconds = std::chrono::duration<double>(now - start_).count();
    fmt::print(out_, "\r{}\x1b[K", progress_bar(title_, item_, done_, total_, seconds, terminal_width(out_) - 1));
    std::fflush(out_);
    last_draw_ = now;
    drawn_ = true;
}

void Progress::finish() {
    if (Clock::now() - start_ < patience_) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    fmt::print(out_, "{}{}: {} in {:.1f} s, {}\n", drawn_ ? "\r\x1b[K" : "", title_, format_byte_size(done_), seconds,
               speed(done_, seconds));
    drawn_ = false;
}

}  // namespace minfer
