#include "convert/yaml_scalar.h"

#include <algorithm>
#include <array>

#include "convert/scanner.h"

namespace minfer::convert {
namespace {

// The expressions are those of PyYAML's resolver.
constexpr std::string_view kDigits = "0123456789", kDigitsOrBars = "0123456789_";

bool is_word(std::string_view text) {
    constexpr std::array<std::string_view, 25> kWords = {
        "yes", "Yes", "YES", "no",  "No",  "NO", "true", "True", "TRUE", "false", "False", "FALSE", "on",
        "On",  "ON",  "off", "Off", "OFF", "~",  "null", "Null", "NULL", "",      "<<",    "="};
    return std::ranges::find(kWords, text) != kWords.end();
}

// (:[0-5]?[0-9])+, as numbers of base 60 have it; takes nothing where the text goes on otherwise after a colon.
bool sixtieths(Scanner& scan) {
    const Scanner start = scan;
    bool any = false;
    for (; scan.one(":"); any = true) {
        Scanner two = scan;
        if (two.one("012345") && two.one(kDigits)) {
            scan = two;
        } else if (!scan.one(kDigits)) {
            scan = start;
            return false;
        }
    }
    return any;
}

// [-+]?(0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(:[0-5]?[0-9])+)
bool is_integer(Scanner scan) {
    scan.one("-+");
    if (scan.word("0b")) return scan.run("01_") && scan.at_end();
    if (scan.word("0x")) return scan.run("0123456789abcdefABCDEF_") && scan.at_end();
    if (scan.one("0")) {
        scan.run("01234567_");
        return scan.at_end();
    }
    if (!scan.one("123456789")) return false;
    scan.run(kDigitsOrBars);
    return scan.at_end() || (sixtieths(scan) && scan.at_end());
}

// ([eE][-+][0-9]+)?
bool ends_in_exponent(Scanner scan) {
    if (scan.one("eE") && !(scan.one("-+") && scan.digits())) return false;
    return scan.at_end();
}

// [-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?
// |[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)
bool is_real(Scanner scan) {
    for (const std::string_view nan : {".nan", ".NaN", ".NAN"})
        if (scan.rest() == nan) return true;
    const bool sign = scan.one("-+");
    for (const std::string_view inf : {".inf", ".Inf", ".INF"})
        if (scan.rest() == inf) return true;
    if (!sign && scan.one(".")) {
        if (!scan.one(kDigits)) return false;
        scan.run(kDigitsOrBars);
        return ends_in_exponent(scan);
    }
    if (!scan.one(kDigits)) return false;
    scan.run(kDigitsOrBars);
    const bool base_60 = sixtieths(scan);
    if (!scan.one(".")) return false;
    scan.run(kDigitsOrBars);
    return base_60 ? scan.at_end() : ends_in_exponent(scan);
}

// [0-9]{4}-[0-9]{2}-[0-9]{2}
// |[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(\.[0-9]*)?
//  ([ \t]*(Z|[-+][0-9][0-9]?(:[0-9]{2})?))?
bool is_date(Scanner scan) {
    if (!scan.digits(4, 4) || !scan.one("-")) return false;
    const Scanner month = scan;
    if (scan.digits(2, 2) && scan.one("-") && scan.digits(2, 2) && scan.at_end()) return true;
    scan = month;
    if (!scan.digits(1, 2) || !scan.one("-") || !scan.digits(1, 2)) return false;
    if (!scan.one("Tt") && !scan.run(" \t")) return false;
    if (!scan.digits(1, 2) || !scan.one(":") || !scan.digits(2, 2) || !scan.one(":") || !scan.digits(2, 2))
        return false;
    if (scan.one(".")) scan.digits();
    if (scan.at_end()) return true;
    scan.run(" \t");
    if (scan.one("Z")) return scan.at_end();
    if (!scan.one("-+") || !scan.digits(1, 2)) return false;
    if (scan.one(":") && !scan.digits(2, 2)) return false;
    return scan.at_end();
}

}  // namespace

bool is_plain_yaml_string(std::string_view scalar) {
    const Scanner scan(scalar);
    return !is_word(scalar) && !is_integer(scan) && !is_real(scan) && !is_date(scan);
}

}  // namespace minfer::convert
