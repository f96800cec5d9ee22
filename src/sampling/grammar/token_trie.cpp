#include "sampling/grammar/token_trie.h"

#include <algorithm>
#include <string_view>

namespace minfer::sampling::grammar {
namespace {

constexpr size_t kLongest = 60000;  // bytes of a token; depths are of 16 bits

}  // namespace

TokenTrie::TokenTrie(const tokenizer::Tokenizer& tokenizer) : n_vocab_(tokenizer.n_vocab()), is_text_(n_vocab_) {
    for (int32_t id = 0; id < int32_t(n_vocab_); ++id) {
        const tokenizer::TokenType type = tokenizer.type(id);
        const size_t length = tokenizer.piece(id).size();
        const bool is_text = !tokenizer.is_special(id) && type != tokenizer::TokenType::Unused &&
                             !tokenizer.is_end_of_generation(id) && length > 0 && length <= kLongest;
        is_text_[size_t(id)] = is_text;
        if (is_text) tokens_.push_back(id);
    }
    std::ranges::sort(tokens_, [&](int32_t a, int32_t b) {
        const int order = tokenizer.piece(a).compare(tokenizer.piece(b));
        return order < 0 || (order == 0 && a < b);
    });

    std::vector<uint32_t> open = {0};  // the nodes from the root to the last one made
    const auto add_node = [&](uint8_t byte, size_t first_token) {
        end_.push_back(0);
        first_token_.push_back(uint32_t(first_token));
        depth_.push_back(uint16_t(open.size()));
        byte_.push_back(byte);
    };
    const auto close_to = [&](size_t depth) {
        for (; open.size() > depth + 1; open.pop_back()) end_[open.back()] = uint32_t(end_.size());
    };
    add_node(0, 0);
    depth_[0] = 0;
    std::string_view before;
    for (size_t i = 0; i < tokens_.size(); ++i) {
        const std::string_view piece = tokenizer.piece(tokens_[i]);
        const size_t common = size_t(std::ranges::mismatch(piece, before).in1 - piece.begin());
        close_to(common);
        for (const char c : piece.substr(common)) {
            add_node(uint8_t(c), i);
            open.push_back(uint32_t(end_.size() - 1));
        }
        before = piece;
    }
    close_to(0);
    end_[0] = uint32_t(end_.size());
    first_token_.push_back(uint32_t(tokens_.size()));
    deepest_ = depth_;
    std::vector<uint32_t> above;  // the nodes above the one looked at
    for (uint32_t node = 0; node < end_.size(); ++node) {
        above.resize(depth_[node]);
        for (size_t i = above.size(); i-- > 0 && deepest_[above[i]] < depth_[node];) deepest_[above[i]] = depth_[node];
        above.push_back(node);
    }
}

}  // namespace minfer::sampling::grammar
