#include "tokenizer/records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/support.h"
#include "tokenizer/nfc.h"
#include "tokenizer/pretokenizer.h"

namespace minfer::test {
namespace {

using tokenizer::PreTokenizer;
using tokenizer::TokenId;
using tokenizer::Tokenizer;

class Reader {
  public:
    explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}

    std::optional<char> letter() {
        if (at_ == bytes_.size()) return std::nullopt;
        return *take(1);
    }
    uint32_t number() {
        uint32_t value;
        std::memcpy(&value, take(4), 4);
        return value;
    }
    std::string_view text() {
        const uint32_t n = number();
        return {take(n), n};
    }
    std::vector<TokenId> ids() {
        std::vector<TokenId> values(number());
        for (TokenId& value : values) value = TokenId(number());
        return values;
    }

  private:
    const char* take(size_t n) {
        if (n > bytes_.size() - at_) throw std::runtime_error("a record is cut short");
        at_ += n;
        return bytes_.data() + at_ - n;
    }

    std::string bytes_;
    size_t at_ = 0;
};

// The difference of two texts: up to 200 bytes from where it begins, printable.
std::string from_difference(std::string_view text, std::string_view other) {
    const auto [at, unused] = std::mismatch(text.begin(), text.end(), other.begin(), other.end());
    std::string out;
    for (const char c : text.substr(size_t(at - text.begin()), 200))
        out += c >= 0x20 && c < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", uint8_t(c));
    return out;
}

std::string printed(std::string_view text) { return from_difference(text, {}); }

bool expect_texts(std::string_view text, std::string_view expected, const std::string& of) {
    if (text == expected) return true;
    ADD_FAILURE() << of << ": " << from_difference(text, expected) << "\nnot " << from_difference(expected, text);
    return false;
}

bool expect_cuts(const PreTokenizer& pretokenizer, std::string_view text, const std::vector<TokenId>& expected) {
    PreTokenizer::Splitter splitter(pretokenizer, text);
    size_t begin = 0, n = 0;
    for (auto word = splitter.next(); !word.empty(); word = splitter.next()) {
        if (n == expected.size() || begin + word.size() != size_t(expected[n])) {
            ADD_FAILURE() << pretokenizer.traits().name << ": a word ends at " << begin + word.size() << ", not at "
                          << (n < expected.size() ? expected[n] : -1) << ": " << printed(text.substr(begin));
            return false;
        }
        begin += word.size();
        ++n;
    }
    EXPECT_EQ(n, expected.size());
    return n == expected.size();
}

}  // namespace

RecordCounts expect_the_same(const std::filesystem::path& path, const Tokenizer* tokenizer) {
    Reader reader(read_file(path));
    RecordCounts counts;
    std::optional<PreTokenizer> pretokenizer;
    int budget = 10;
    for (auto letter = reader.letter(); letter && budget > 0; letter = reader.letter()) {
        bool same = true;
        if (*letter == 'E') {
            const bool add_special = reader.number() != 0, parse_special = reader.number() != 0;
            const auto text = reader.text();
            const auto expected = reader.ids();
            const auto ids = tokenizer->encode(text, {.add_special = add_special, .parse_special = parse_special});
            same = ids == expected;
            if (!same)
                ADD_FAILURE() << fmt::format("parse_special {}, {}\n    {}\nnot {}", parse_special, printed(text),
                                             fmt::join(ids, " "), fmt::join(expected, " "));
            ++counts.encoded;
        } else if (*letter == 'D') {
            const bool with_special = reader.number() != 0;
            const auto ids = reader.ids();
            same = expect_texts(tokenizer->decode(ids, with_special), reader.text(),
                                fmt::format("text of {}", fmt::join(ids, " ")));
            ++counts.decoded;
        } else if (*letter == 'P') {
            const TokenId id = TokenId(reader.number());
            same = expect_texts(tokenizer->piece(id), reader.text(), fmt::format("bytes of {}", id));
            ++counts.pieces;
        } else if (*letter == 'S') {
            const auto name = reader.text(), text = reader.text();
            if (!pretokenizer || pretokenizer->traits().name != name) pretokenizer.emplace(name);
            same = expect_cuts(*pretokenizer, text, reader.ids());
            ++counts.cut;
        } else if (*letter == 'N') {
            const auto text = reader.text();
            same = expect_texts(tokenizer::to_nfc(text), reader.text(), "normal form C of " + printed(text));
            ++counts.composed;
        } else {
            throw std::runtime_error(fmt::format("unknown record '{}'", *letter));
        }
        if (!same) --budget;
    }
    if (budget == 0) ADD_FAILURE() << "what differs after these is not shown";
    return counts;
}

}  // namespace minfer::test
