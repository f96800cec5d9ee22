// Tells a model's thoughts from its answer in text that comes in pieces: <think> ... </think>.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minfer::chat {

// Whether a rendered prompt leaves the model inside a block of thoughts, as templates of models that always think do:
// it ends in <think> and perhaps space.
bool opens_reasoning(std::string_view prompt);

class ReasoningSplitter {
  public:
    explicit ReasoningSplitter(bool inside) : inside_(inside) {}

    struct Piece {
        std::string text;
        bool thought = false;

        bool operator==(const Piece&) const = default;
    };

    // The pieces add up to the text, tags included, which belong to the thoughts. A block opens only where nothing but
    // space has come, at the start or after another block: a tag in the midst of an answer is part of it. What may yet
    // become a tag is held back.
    std::vector<Piece> push(std::string_view text);
    // What was held back, once no more text comes.
    std::vector<Piece> flush();

  private:
    bool step(std::vector<Piece>& out, bool at_end);

    std::string held_;
    bool inside_;
    bool answering_ = false;
};

}  // namespace minfer::chat
