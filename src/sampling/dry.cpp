#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/canonical_math.h"
#include "sampling/sampler.h"
#include "sampling/token_window.h"
#include "tokenizer/tokenizer.h"

namespace minfer::sampling {
namespace {

constexpr size_t kLongestBreaker = 40;  // bytes; more is cut off, as llama.cpp does
constexpr size_t kLongestTail = 20;     // tokens
constexpr float kLogOfLargestFloat = 88.7228391f;

// How token sequences may spell the breakers: a token that holds one, or a token that ends with the start of one,
// followed by the tokens of its rest.
class Breakers {
  public:
    Breakers(const std::vector<std::string>& texts, const tokenizer::Tokenizer& tokenizer) {
        for (const std::string& text : texts)
            for (int32_t id = 0; id < int32_t(tokenizer.n_vocab()); ++id)
                add(id, tokenizer.piece(id), std::string_view(text).substr(0, kLongestBreaker), tokenizer);
    }

    bool is_one_token(int32_t token) const { return alone_.contains(token); }

    // Tokens that follow the newest whole breaker of the window, and may be part of a repetition.
    size_t free_tokens(const TokenWindow& window) const {
        for (size_t back = 0; back < window.size(); ++back) {
            if (const std::optional<size_t> tail = longest_tail(window, back)) return back - *tail;
        }
        return window.size();
    }

  private:
    void add(int32_t id, std::string_view piece, std::string_view text, const tokenizer::Tokenizer& tokenizer) {
        if (piece.find(text) != std::string_view::npos) {
            alone_.insert(id);
            return;
        }
        for (size_t at = piece.find(text[0]); at != std::string_view::npos; at = piece.find(text[0], at + 1)) {
            const std::string_view end = piece.substr(at);
            if (!text.starts_with(end)) continue;
            std::vector<int32_t> tail = tokenizer.encode(text.substr(end.size()), {.add_special = false});
            tail.resize(std::min(tail.size(), kLongestTail));
            if (tail.empty())  // of bytes that the vocabulary has no tokens for
                alone_.insert(id);
            else
                tails_[id].push_back(std::move(tail));
        }
    }

    // The most tokens after the one `back` from the end that make a breaker together with it; 0 where it is one alone.
    std::optional<size_t> longest_tail(const TokenWindow& window, size_t back) const {
        const int32_t head = window.back(back);
        std::optional<size_t> longest;
        if (alone_.contains(head)) longest = 0;
        const auto tails = tails_.find(head);
        if (tails == tails_.end()) return longest;
        for (const std::vector<int32_t>& tail : tails->second) {
            if (tail.size() > back || (longest && tail.size() <= *longest)) continue;
            bool same = true;
            for (size_t i = 0; i < tail.size() && same; ++i) same = tail[i] == window.back(back - 1 - i);
            if (same) longest = tail.size();
        }
        return longest;
    }

    std::unordered_set<int32_t> alone_;
    std::unordered_map<int32_t, std::vector<std::vector<int32_t>>> tails_;  // by the first token
};

class Dry final : public Sampler {
  public:
    Dry(const DryParams& p, const tokenizer::Tokenizer& tokenizer)
        : multiplier_(p.multiplier),
          base_(p.base),
          allowed_(size_t(p.allowed_length)),
          window_(size_t(p.last_n)),
          breakers_(p.breakers, tokenizer) {}

    void apply(Candidates& candidates) override {
        if (window_.size() <= allowed_) return;
        const size_t limit = breakers_.free_tokens(window_);
        if (limit < allowed_) return;
        find_repetitions(limit);
        bool changed = false;
        for (const Extension& e : extensions_) {
            if (breakers_.is_one_token(e.token)) continue;
            Candidate* c = candidates.find(e.token);
            if (!c) continue;
            c->logit -= penalty(e.length);
            changed = true;
        }
        if (changed && candidates.order == Candidates::Order::Best) candidates.order = Candidates::Order::Other;
    }

    void accept(int32_t token) override { window_.push(token); }

  private:
    struct Extension {
        int32_t token;
        size_t length;  // tokens of the repetition so far, without this one
    };

    // For each earlier end of a repetition, the token that came next: the longest for each token, ascending by token.
    void find_repetitions(size_t limit) {
        const size_t n = window_.size();
        // The Z-algorithm over the reversed window: same_[k] tokens before the k-th from the end equal the last ones.
        same_.assign(n, 0);
        extensions_.clear();
        for (size_t k = 1, box_start = 0, box_end = 0; k < n; ++k) {
            size_t length = k < box_end ? std::min(same_[k - box_start], box_end - k) : 0;
            while (k + length < n && window_.back(length) == window_.back(k + length)) ++length;
            same_[k] = length;
            if (k + length > box_end) {
                box_start = k;
                box_end = k + length;
            }
            length = std::min(length, limit);
            if (length >= allowed_) extensions_.push_back({window_.back(k - 1), length});
        }
        std::ranges::sort(extensions_, [](const Extension& a, const Extension& b) {
            return a.token < b.token || (a.token == b.token && a.length > b.length);
        });
        const auto repeated = std::ranges::unique(extensions_, {}, &Extension::token);
        extensions_.erase(repeated.begin(), repeated.end());
    }

    float penalty(size_t length) const {
        double exponent = double(length - allowed_);
        if (base_ > 1.000001f)
            exponent = std::min(exponent, std::floor(double(kLogOfLargestFloat) / canonical_log(double(base_))));
        return multiplier_ * float(canonical_pow(double(base_), exponent));
    }

    float multiplier_, base_;
    size_t allowed_;
    TokenWindow window_;
    Breakers breakers_;
    std::vector<size_t> same_;
    std::vector<Extension> extensions_;
};

}  // namespace

std::unique_ptr<Sampler> dry(const DryParams& params, const tokenizer::Tokenizer& tokenizer) {
    return std::make_unique<Dry>(params, tokenizer);
}

}  // namespace minfer::sampling
