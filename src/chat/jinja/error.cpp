#include "chat/jinja/error.h"

#include <fmt/format.h>

#include <utility>

namespace minfer::chat::jinja {

namespace {

std::string with_place(const std::string& type, const std::string& message, int line, int column) {
    if (line == 0) return fmt::format("{}: {}", type, message);
    return fmt::format("line {}, column {}: {}: {}", line, column, type, message);
}

}  // namespace

TemplateFailure::TemplateFailure(std::string type, const std::string& message, int line, int column)
    : Error(with_place(type, message, line, column)),
      type_(std::move(type)),
      message_(message),
      line_(line),
      column_(column) {}

std::string TemplateFailure::python_text() const { return fmt::format("{}: {}", type_, message_); }

void raise(std::string_view type, const std::string& message) { throw TemplateFailure(std::string(type), message); }
void raise_type_error(const std::string& message) { raise("TypeError", message); }
void raise_value_error(const std::string& message) { raise("ValueError", message); }

}  // namespace minfer::chat::jinja
