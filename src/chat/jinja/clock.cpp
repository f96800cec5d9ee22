#include "chat/jinja/clock.h"

#include <fmt/format.h>
#include <sys/time.h>

#include <cstdio>

#include "base/error.h"

namespace minfer::chat::jinja {

namespace {

// Fills in the day of the week and of the year, by way of UTC, where no hour is missing or doubled.
std::tm completed(std::tm time) {
    const std::tm wanted = time;
    const time_t seconds = timegm(&time);
    std::tm out{};
    gmtime_r(&seconds, &out);
    const bool same = out.tm_year == wanted.tm_year && out.tm_mon == wanted.tm_mon && out.tm_mday == wanted.tm_mday &&
                      out.tm_hour == wanted.tm_hour && out.tm_min == wanted.tm_min && out.tm_sec == wanted.tm_sec;
    if (!same) throw UsageError("no such date or time");
    out.tm_isdst = -1;
    return out;
}

}  // namespace

Clock Clock::local_now() {
    Clock clock;
    timeval now{};
    gettimeofday(&now, nullptr);
    localtime_r(&now.tv_sec, &clock.time);
    clock.microsecond = int(now.tv_usec);
    return clock;
}

Clock Clock::parse(const std::string& text) {
    std::tm time{};
    int end = -1;
    const int date = std::sscanf(text.c_str(), "%4d-%2d-%2d%n", &time.tm_year, &time.tm_mon, &time.tm_mday, &end);
    if (date == 3 && size_t(end) != text.size()) {
        int more = -1;
        const int read =
            std::sscanf(text.c_str() + end, " %2d:%2d:%2d%n", &time.tm_hour, &time.tm_min, &time.tm_sec, &more);
        end = read == 3 ? end + more : -1;
    }
    if (date != 3 || end < 0 || size_t(end) != text.size())
        throw UsageError(fmt::format("'{}' is no time like 2026-11-29 12:34:56", text));
    time.tm_year -= 1900;
    time.tm_mon -= 1;
    Clock clock;
    try {
        clock.time = completed(time);
    } catch (const UsageError&) {
        throw UsageError(fmt::format("'{}' is no date and time that exists", text));
    }
    return clock;
}

std::string strftime(const Clock& clock, const std::string& format) {
    // A time without a zone: %z and %Z are empty; %f is Python's own.
    std::string pattern;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 >= format.size()) {
            pattern += format[i];
            continue;
        }
        const char directive = format[++i];
        if (directive == 'f')
            pattern += fmt::format("{:06}", clock.microsecond);
        else if (directive != 'z' && directive != 'Z')
            pattern += std::string("%") + directive;
    }
    if (pattern.empty()) return {};
    // A mark at the end tells an empty result from a buffer that is too small.
    pattern += '|';
    std::string out(128, '\0');
    while (true) {
        const size_t n = std::strftime(out.data(), out.size(), pattern.c_str(), &clock.time);
        if (n > 0) {
            out.resize(n - 1);
            return out;
        }
        out.resize(out.size() * 2);
    }
}

}  // namespace minfer::chat::jinja
