#include "base/process_memory.h"

#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace minfer {

std::optional<uint64_t> peak_resident_bytes() {
    constexpr std::string_view kKey = "VmHWM:";  // then kibibytes
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with(kKey)) continue;
        const size_t begin = line.find_first_not_of(" \t", kKey.size());
        if (begin == std::string::npos) break;
        uint64_t kib = 0;
        const auto [end, error] = std::from_chars(line.data() + begin, line.data() + line.size(), kib);
        if (error == std::errc()) return kib * 1024;
        break;
    }
    return std::nullopt;
}

bool reset_peak_resident_bytes() {
    std::ofstream refs("/proc/self/clear_refs");
    refs << "5" << std::flush;  // proc(5): resets VmHWM
    return refs.good();
}

}  // namespace minfer
