// What goes wrong in a template, with the type's name that Python and Jinja2 give it: "TypeError", "UndefinedError".
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace minfer::chat::jinja {

class TemplateFailure : public Error {
  public:
    TemplateFailure(std::string type, const std::string& message, int line = 0, int column = 0);

    const std::string& type() const { return type_; }        // as Python names it
    const std::string& message() const { return message_; }  // as Python's str() of the exception
    int line() const { return line_; }                       // from 1, in code points; 0 while not known
    int column() const { return column_; }

    // "TypeError: message", as a Python program prints it.
    std::string python_text() const;

  private:
    std::string type_, message_;
    int line_, column_;
};

[[noreturn]] void raise(std::string_view type, const std::string& message);
[[noreturn]] void raise_type_error(const std::string& message);
[[noreturn]] void raise_value_error(const std::string& message);

}  // namespace minfer::chat::jinja
