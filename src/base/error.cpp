#include "base/error.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace minfer {

IoError::IoError(const std::string& path, const std::string& action, int error_number)
    : Error(fmt::format("{}: cannot {}: {}", path, action, std::generic_category().message(error_number))),
      path_(path),
      error_number_(error_number) {}

FormatError::FormatError(std::string file, std::string field, std::string found, std::string expected)
    : Error(fmt::format("{}: {}: found {}, expected {}", file, field, found, expected)),
      file_(std::move(file)),
      field_(std::move(field)),
      found_(std::move(found)),
      expected_(std::move(expected)) {}

}  // namespace minfer
