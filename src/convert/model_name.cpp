#include "convert/model_name.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "convert/scanner.h"

namespace minfer::convert {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
char to_upper(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

std::vector<int32_t> code_points(std::string_view text) {
    std::vector<int32_t> out;
    const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    utf8proc_ssize_t left = utf8proc_ssize_t(text.size());
    while (left > 0) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t n = std::max<utf8proc_ssize_t>(utf8proc_iterate(at, left, &c), 1);
        out.push_back(c < 0 ? *at : c);
        at += n;
        left -= n;
    }
    return out;
}

void append(std::string& text, int32_t c) {
    std::array<utf8proc_uint8_t, 4> bytes;
    const utf8proc_ssize_t n = utf8proc_encode_char(c, bytes.data());
    text.append(reinterpret_cast<const char*>(bytes.data()), size_t(n));
}

enum class Case { None, Lower, Upper };
Case case_of(int32_t c) {
    switch (utf8proc_category(c)) {
        case UTF8PROC_CATEGORY_LL:
            return Case::Lower;
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LT:
            return Case::Upper;
        default:
            return Case::None;
    }
}

bool starts_with_letter(std::string_view part) {
    const auto category = utf8proc_category(code_points(part).at(0));
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

// The forms of parts below are the reference's expressions; each is asked of a part in small letters.

// (v|iter)?\d+([.]\d+)*
bool is_version(std::string_view part) {
    Scanner scan(part);
    if (!scan.word("v")) scan.word("iter");
    if (!scan.digits()) return false;
    while (scan.one("."))
        if (!scan.digits()) return false;
    return scan.at_end();
}

// i?q\d(_\w)*|b?fp?(16|32)
bool is_type(std::string_view part) {
    Scanner quantized(part);
    quantized.one("i");
    if (quantized.one("q") && quantized.digits(1, 1)) {
        while (quantized.one("_"))
            if (!quantized.one("abcdefghijklmnopqrstuvwxyz0123456789_")) return false;
        return quantized.at_end();
    }
    Scanner scan(part);
    scan.one("b");
    if (!scan.one("f")) return false;
    scan.one("p");
    return (scan.word("16") || scan.word("32")) && scan.at_end();
}

// ([A]|\d+[x])?\d+([._]\d+)?[KMBT][\d]?|small|mini|medium|large|x?xl
bool is_size(std::string_view part) {
    for (const std::string_view name : {"small", "mini", "medium", "large", "xl", "xxl"})
        if (part == name) return true;
    Scanner scan(part);
    const bool active = scan.one("a");
    if (!scan.digits()) return false;
    if (!active && scan.one("x") && !scan.digits()) return false;
    if (scan.one("._") && !scan.digits()) return false;
    if (!scan.one("kmbt")) return false;
    scan.digits(1, 1);
    return scan.at_end();
}

bool is_finetune(std::string_view part) {
    return part == "chat" || part == "instruct" || part == "vision" || part == "lora";
}

// "v1.5", with a small v.
bool is_v_version(std::string_view word) { return word.starts_with('v') && is_version(word); }

enum Kind { kBasename, kSizeLabel, kFinetune, kVersion, kType };

struct Part {
    std::string text;
    std::set<Kind> kinds;

    bool is(Kind kind) const { return kinds.contains(kind); }
};

std::vector<Part> split_at_hyphens(std::string_view name) {
    std::vector<Part> parts;
    for (size_t begin = 0; begin <= name.size();) {
        const size_t end = std::min(name.find('-', begin), name.size());
        if (end > begin) parts.push_back({std::string(name.substr(begin, end - begin)), {}});
        begin = end + 1;
    }
    return parts;
}

// What the number of a size like "0.5B" means, or nothing where there is no plain number ("8x7B", "small").
std::optional<double> params_of(std::string_view text) {
    static constexpr std::string_view kSuffixes = "KMBT";
    const size_t power = kSuffixes.find(text.back());
    text.remove_suffix(1);
    Scanner scan(text);
    if (!scan.digits() || (scan.one(".") && !scan.digits()) || !scan.at_end() || power == std::string_view::npos)
        return std::nullopt;
    return std::strtod(std::string(text).c_str(), nullptr) * std::pow(1000.0, double(power + 1));
}

void annotate_size(Part& part, uint64_t n_params) {
    std::string& text = part.text;
    std::ranges::replace(text, '_', '.');
    if (is_digit(text.back())) {  // bloom's "7b1" is 7.1b
        const std::string tail = {'.', text.back(), text[text.size() - 2]};
        text = text.substr(0, text.size() - 2) + tail;
    }
    if (text.size() > 1 && is_digit(text[text.size() - 2])) {
        constexpr std::string_view kSuffixes = "kmbt";
        if (kSuffixes.find(text.back()) != std::string_view::npos) text.back() = to_upper(text.back());
    }
    const std::optional<double> params = n_params != 0 ? params_of(text) : std::nullopt;
    const uint64_t tolerance = 7 * n_params / 8;
    if (params && std::abs(*params - double(n_params)) > double(tolerance)) {
        part.kinds.insert(kFinetune);  // more likely a length of context
        text.back() = to_lower(text.back());
    } else {
        part.kinds.insert(kSizeLabel);
    }
}

void annotate(std::vector<Part>& parts, uint64_t n_params) {
    for (size_t i = 0; i < parts.size(); ++i) {
        Part& part = parts[i];
        std::string small = part.text;
        std::ranges::transform(small, small.begin(), to_lower);
        if (is_version(small)) {
            part.kinds.insert(kVersion);
        } else if (is_type(small)) {
            part.kinds.insert(kType);
            std::ranges::transform(part.text, part.text.begin(), to_upper);
        } else if (i > 0 && is_size(small)) {
            annotate_size(part, n_params);
        } else if (i > 0 && is_finetune(small)) {
            part.kinds.insert(kFinetune);
        }
    }
    // A size in words counts only where there is none in numbers.
    const bool has_number = std::ranges::any_of(
        parts, [](const Part& p) { return p.is(kSizeLabel) && std::ranges::any_of(p.text, is_digit); });
    if (has_number)
        for (Part& p : parts)
            if (p.is(kSizeLabel) && std::ranges::all_of(p.text, is_ascii_letter)) p.kinds.erase(kSizeLabel);
}

// The base name is what comes first, up to the first part that means something else; later parts that mean nothing
// known belong to the finetune.
void annotate_basename(std::vector<Part>& parts) {
    bool at_start = true;
    for (Part& part : parts) {
        if (at_start && ((part.kinds.empty() && starts_with_letter(part.text)) || part.is(kVersion))) {
            part.kinds.insert(kBasename);
        } else {
            at_start = false;
            if (part.kinds.empty()) part.kinds.insert(kFinetune);
        }
    }
    for (size_t i = parts.size(); i-- > 0;) {  // a version at the end is one, and no part of the base name
        if (!parts[i].is(kBasename) || parts[i].kinds.size() == 1) break;
        parts[i].kinds.erase(kBasename);
    }
}

template <typename Wanted>
std::optional<std::string> join(std::span<const Part> parts, Wanted wanted, bool once = false) {
    std::vector<std::string_view> chosen;
    std::unordered_set<std::string_view> seen;
    for (const Part& part : parts)
        if (wanted(part) && !(once && !seen.insert(part.text).second)) chosen.push_back(part.text);
    if (chosen.empty()) return std::nullopt;
    return fmt::format("{}", fmt::join(chosen, "-"));
}

}  // namespace

NameParts parse_model_name(std::string_view id, uint64_t n_params) {
    NameParts out;
    if (id.find(' ') != std::string_view::npos) {  // a sentence rather than a name
        out.full_name = std::string(id);
        return out;
    }
    std::string_view name = id;
    if (const size_t slash = id.find('/'); slash != std::string_view::npos) {
        const std::string_view organization = id.substr(0, slash);
        if (!organization.starts_with('.')) out.organization = std::string(organization);
        name = id.substr(slash + 1);
    }
    out.full_name = std::string(name);
    std::vector<Part> parts = split_at_hyphens(name);
    annotate(parts, n_params);
    annotate_basename(parts);
    out.size_label = join(parts, [](const Part& p) { return p.is(kSizeLabel); }, true);
    out.finetune = join(parts, [](const Part& p) { return p.is(kFinetune); });
    out.version = join(parts, [](const Part& p) { return p.is(kVersion) && !p.is(kBasename); });
    if (out.size_label || out.finetune || out.version)  // else too little is known to call it a base name
        out.basename = join(parts, [](const Part& p) { return p.is(kBasename); });
    return out;
}

std::string title_of_name(std::string_view name) {
    std::string spaced(name);
    std::ranges::replace(spaced, '-', ' ');
    std::string out, word;
    const auto finish_word = [&] {
        if (word.empty()) return;
        const std::vector<int32_t> letters = code_points(word);
        bool lower = false, upper = false;
        for (const int32_t c : letters) {
            lower |= case_of(c) == Case::Lower;
            upper |= case_of(c) == Case::Upper;
        }
        const bool stays = is_digit(word[0]) || is_v_version(word);
        if (!out.empty()) out += ' ';
        bool after_letter = false;
        for (const int32_t c : letters) {
            const bool raise = lower && !upper && !stays && !after_letter && case_of(c) != Case::None;
            append(out, raise ? utf8proc_totitle(c) : c);
            after_letter = case_of(c) != Case::None;
        }
        word.clear();
    };
    for (const char c : spaced) {
        if (c == ' ' || (c >= '\t' && c <= '\r'))
            finish_word();
        else
            word += c;
    }
    finish_word();
    return out;
}

std::string size_label(uint64_t n_params) {
    struct Scale {
        double above, factor;
        char suffix;
    };
    constexpr std::array<Scale, 4> kScales = {
        {{1e12, 1e-12, 'T'}, {1e9, 1e-9, 'B'}, {1e6, 1e-6, 'M'}, {-1, 1e-3, 'K'}}};
    constexpr int kMinDigits = 2;
    for (const Scale& scale : kScales) {
        if (!(double(n_params) > scale.above)) continue;
        const double scaled = double(n_params) * scale.factor;
        const double rounded = std::nearbyint(scaled);  // ties to even
        const int digits = rounded == 0 ? 0 : int(fmt::format("{:.0f}", rounded).size());
        return fmt::format("{:.{}f}{}", scaled, std::max(kMinDigits - digits, 0), scale.suffix);
    }
    return "";
}

}  // namespace minfer::convert
