// Finds stop strings in text that comes in pieces, holding back what may still become one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minfer::engine {

class StopStrings {
  public:
    // Empty strings are ignored.
    explicit StopStrings(std::vector<std::string> strings);

    struct Step {
        std::string text;      // to give out now
        bool stopped = false;  // a stop string came; it and what follows are never given out
    };
    Step push(std::string_view piece);

    // What was held back, once no more text comes.
    std::string flush();

  private:
    std::vector<std::string> strings_;
    std::string held_;
};

}  // namespace minfer::engine
