// Pre-tokenizers: the regular expression that cuts text into words before any merge, and what goes with it. A merge
// never crosses a cut, so one character in another class changes ids.
#pragma once

#include <memory>
#include <span>
#include <string_view>

namespace minfer::tokenizer {

struct PreTokenizerTraits {
    std::string_view name;  // of tokenizer.ggml.pre
    std::string_view pattern;
    bool nfc = false;            // text is brought to normal form C first
    bool ignore_merges = false;  // a word that is a token stays whole, whatever the merges make of it
    bool add_bos = false;        // unless tokenizer.ggml.add_bos_token says otherwise
};

std::span<const PreTokenizerTraits> all_pretokenizers();

// A compiled pre-tokenizer; may be used by many threads at once.
class PreTokenizer {
  public:
    // Throws UnsupportedError naming the ones there are.
    explicit PreTokenizer(std::string_view name);
    ~PreTokenizer();
    PreTokenizer(PreTokenizer&&) noexcept;
    PreTokenizer& operator=(PreTokenizer&&) noexcept;

    const PreTokenizerTraits& traits() const { return *traits_; }

    // Cuts one text, which is well-formed UTF-8 and outlives the splitter, into words that add up to it.
    class Splitter {
      public:
        Splitter(const PreTokenizer& pretokenizer, std::string_view text);
        ~Splitter();
        Splitter(const Splitter&) = delete;
        Splitter& operator=(const Splitter&) = delete;

        std::string_view next();  // empty at the end

      private:
        struct State;
        std::unique_ptr<State> state_;
    };

  private:
    struct Compiled;
    const PreTokenizerTraits* traits_;
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace minfer::tokenizer
