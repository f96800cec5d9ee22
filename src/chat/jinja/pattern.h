// A regular expression with Python's notion of \w, \d and \s, over UTF-8.
#pragma once

#include <memory>
#include <string_view>

namespace minfer::chat::jinja {

class Pattern {
  public:
    // The expression is of this program, and must be right.
    explicit Pattern(std::string_view expression, bool ignore_case = false);
    // Whether it matches somewhere; false, too, where finding out takes too long.
    bool in(std::string_view text) const;

  private:
    std::shared_ptr<void> code_, limits_;
};

}  // namespace minfer::chat::jinja
