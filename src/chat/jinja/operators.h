// Python's operators and protocols over Values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chat/jinja/value.h"

namespace minfer::chat::jinja {

enum class Op { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, Eq, Ne, Lt, Le, Gt, Ge, In, NotIn };

// What a string, a list or an output may grow to; past it is an OutputLimit error. Python has no such limit.
inline constexpr size_t kMaxBytes = size_t(64) << 20;
inline constexpr size_t kMaxItems = size_t(4) << 20;
[[noreturn]] void fail_too_large(const char* what);

Value binary(Op op, const Value& a, const Value& b);
Value negate(const Value& a);
Value plus(const Value& a);
bool compare(Op op, const Value& a, const Value& b);  // Eq .. NotIn
bool contains(const Value& container, const Value& item);

// -1, 0, 1, or 2 where one is NaN; exact also between a large int and a float.
int compare_numbers(const Value& a, const Value& b);
double to_real(const Value& number);

size_t length(const Value& value);  // len(); TypeError where Python has none
std::optional<size_t> length_if_sized(const Value& value);
Value iterate(const Value& value);  // iter(): an Iterator; TypeError where it is not iterable
bool is_iterable(const Value& value);
std::vector<Value> to_vector(const Value& value);  // list(value)
Value reversed(const Value& value);                // reversed(); TypeError

struct Bounds {  // of a slice, over `length` items: `count` of them, from `start` on, `step` apart
    int64_t start, step, count;
};
Bounds slice_bounds(const Value& start, const Value& stop, const Value& step, int64_t length);
Value slice(const Value& value, const Value& start, const Value& stop, const Value& step);
// value[index], or nothing where Python raises TypeError or LookupError, which Jinja2 takes for "no such item".
std::optional<Value> item(const Value& value, const Value& index);
Value char_at(const Str& text, int64_t index);  // index within the length

// list.sort: stable, by `<` of the keys, comparing the same pairs as CPython does for fewer than 64 items.
void sort_by(std::vector<std::pair<Value, Value>>& key_and_value, bool reverse);

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_sub(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
int64_t real_to_int(double value);     // int(): truncates; ValueError, OverflowError
int64_t to_index(const Value& value);  // __index__; TypeError for what is no integer

std::string percent_format(const Value& format, const Value& arguments);  // format % arguments

// Escapes & < > ' " as markupsafe does; what is Markup already stays.
std::string escape_html(std::string_view text);
Value escape(const Value& value);

}  // namespace minfer::chat::jinja
