// Iteration, length, indexing, slices and sorting.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "chat/jinja/error.h"
#include "chat/jinja/loop.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/unicode.h"

namespace minfer::chat::jinja {
namespace {

struct SequenceIterator : Iterator {
    explicit SequenceIterator(Value v) : value(std::move(v)) {}
    bool next(Value& out) override {
        if (index >= value.items().size()) return false;
        out = value.items()[index++];
        return true;
    }
    Value value;
    size_t index = 0;
};

struct StrIterator : Iterator {
    explicit StrIterator(Value v) : value(std::move(v)) {}
    bool next(Value& out) override {
        const std::string& text = value.text();
        if (byte >= text.size()) return false;
        const size_t from = byte;
        unicode::decode(text, byte);
        out = Value::string(text.substr(from, byte - from));
        return true;
    }
    Value value;
    size_t byte = 0;
};

struct ViewIterator : Iterator {
    explicit ViewIterator(Value v) : value(std::move(v)) {}
    bool next(Value& out) override {
        if (index >= value.as_view().of().entries.size()) return false;
        out = value.as_view().at(index++);
        return true;
    }
    Value value;
    size_t index = 0;
};

struct RangeIterator : Iterator {
    explicit RangeIterator(const Range& r) : start(r.start), step(r.step), left(r.length()) {}
    bool next(Value& out) override {
        if (left == 0) return false;
        --left;
        out = Value::integer(start);
        if (left) start += step;
        return true;
    }
    std::string_view type_name() const override { return "range_iterator"; }
    int64_t start, step, left;
};

struct EmptyIterator : Iterator {
    bool next(Value&) override { return false; }
};

struct LoopIterator : Iterator {
    explicit LoopIterator(Value v) : loop(std::move(v)) {}
    bool next(Value& out) override {
        if (!loop.as_loop().advance()) return false;
        out = Value::tuple({loop.as_loop().current, loop});
        return true;
    }
    Value loop;
};

struct ReversedIterator : Iterator {
    ReversedIterator(Value v, size_t n, std::string_view type) : value(std::move(v)), left(n), type_(type) {}
    bool next(Value& out) override {
        if (left == 0) return false;
        --left;
        if (value.is(Type::View))
            out = value.as_view().at(left);
        else if (value.is(Type::Range))
            out = Value::integer(value.as_range().at(int64_t(left)));
        else
            out = value.items()[left];
        return true;
    }
    std::string_view type_name() const override { return type_; }
    Value value;
    size_t left;

  private:
    std::string_view type_;
};

Value keys_view(const Value& dict) {
    return Value::object(Type::View, std::make_shared<View>(dict.object(), View::Kind::Keys));
}

int64_t slice_index(const Value& value) {
    if (!value.is_int()) raise_type_error("slice indices must be integers or None or have an __index__ method");
    return value.as_int();
}

// Where code point `index` starts.
size_t byte_of(const Str& text, int64_t index) {
    if (text.ascii()) return size_t(index);
    size_t byte = 0;
    while (index-- > 0) unicode::decode(text.text, byte);
    return byte;
}

bool less(const Value& a, const Value& b) { return compare(Op::Lt, a, b); }

using Pair = std::pair<Value, Value>;

// CPython's sort of short lists: an initial run, descending ones reversed, then binary insertion.
void insertion_sort(std::vector<Pair>& pairs) {
    const size_t n = pairs.size();
    if (n < 2) return;
    size_t run = 2;
    if (less(pairs[1].first, pairs[0].first)) {
        while (run < n && less(pairs[run].first, pairs[run - 1].first)) ++run;
        std::reverse(pairs.begin(), pairs.begin() + long(run));
    } else {
        while (run < n && !less(pairs[run].first, pairs[run - 1].first)) ++run;
    }
    for (size_t i = run; i < n; ++i) {
        size_t low = 0, high = i;
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (less(pairs[i].first, pairs[middle].first))
                high = middle;
            else
                low = middle + 1;
        }
        std::rotate(pairs.begin() + long(low), pairs.begin() + long(i), pairs.begin() + long(i) + 1);
    }
}

void merge_sort(std::vector<Pair>& pairs) {
    if (pairs.size() < 64) return insertion_sort(pairs);
    const auto middle = pairs.begin() + long(pairs.size() / 2);
    std::vector<Pair> left(pairs.begin(), middle), right(middle, pairs.end());
    merge_sort(left);
    merge_sort(right);
    size_t l = 0, r = 0;
    for (Pair& out : pairs) {
        const bool from_right = l == left.size() || (r < right.size() && less(right[r].first, left[l].first));
        out = from_right ? right[r++] : left[l++];
    }
}

}  // namespace

std::optional<size_t> length_if_sized(const Value& value) {
    switch (value.type()) {
        case Type::Undefined:
            return 0;
        case Type::Str:
            return value.as_str().length;
        case Type::List:
        case Type::Tuple:
            return value.items().size();
        case Type::Dict:
            return value.as_dict().entries.size();
        case Type::View:
            return value.as_view().of().entries.size();
        case Type::Range:
            return size_t(value.as_range().length());
        case Type::Loop:
            return size_t(value.as_loop().length());
        default:
            return std::nullopt;
    }
}

size_t length(const Value& value) {
    if (const auto n = length_if_sized(value)) return *n;
    raise_type_error(fmt::format("object of type '{}' has no len()", type_name(value)));
}

bool is_iterable(const Value& value) { return length_if_sized(value).has_value() || value.is(Type::Iterator); }

Value iterate(const Value& value) {
    switch (value.type()) {
        case Type::Undefined:
            return make_iterator(std::make_shared<EmptyIterator>());
        case Type::Str:
            return make_iterator(std::make_shared<StrIterator>(value));
        case Type::List:
        case Type::Tuple:
            return make_iterator(std::make_shared<SequenceIterator>(value));
        case Type::Dict:
            return make_iterator(std::make_shared<ViewIterator>(keys_view(value)));
        case Type::View:
            return make_iterator(std::make_shared<ViewIterator>(value));
        case Type::Range:
            return make_iterator(std::make_shared<RangeIterator>(value.as_range()));
        case Type::Loop:
            return make_iterator(std::make_shared<LoopIterator>(value));
        case Type::Iterator:
            return value;
        default:
            raise_type_error(fmt::format("'{}' object is not iterable", type_name(value)));
    }
}

std::vector<Value> to_vector(const Value& value) {
    if (value.is_sequence()) return value.items();
    std::vector<Value> out;
    const Value iterator = iterate(value);
    for (Value each; iterator.as_iterator().next(each);) {
        out.push_back(each);
        if (out.size() > kMaxItems) fail_too_large("list");
    }
    return out;
}

Value reversed(const Value& value) {
    switch (value.type()) {
        case Type::List:
        case Type::Tuple:
            return make_iterator(std::make_shared<ReversedIterator>(
                value, value.items().size(), value.is(Type::List) ? "list_reverseiterator" : "reversed"));
        case Type::Str: {
            std::vector<Value> letters = to_vector(value);
            const size_t n = letters.size();
            return make_iterator(std::make_shared<ReversedIterator>(Value::tuple(std::move(letters)), n, "reversed"));
        }
        case Type::Range:
            return make_iterator(
                std::make_shared<ReversedIterator>(value, size_t(value.as_range().length()), "range_iterator"));
        case Type::Dict:
            return make_iterator(std::make_shared<ReversedIterator>(keys_view(value), value.as_dict().entries.size(),
                                                                    "dict_reversekeyiterator"));
        case Type::View:
            return make_iterator(std::make_shared<ReversedIterator>(
                value, value.as_view().of().entries.size(),
                value.as_view().kind == View::Kind::Keys     ? "dict_reversekeyiterator"
                : value.as_view().kind == View::Kind::Values ? "dict_reversevalueiterator"
                                                             : "dict_reverseitemiterator"));
        case Type::Undefined:
            return make_iterator(std::make_shared<ReversedIterator>(value, 0, "reversed"));
        default:
            raise_type_error(fmt::format("'{}' object is not reversible", type_name(value)));
    }
}

Bounds slice_bounds(const Value& start, const Value& stop, const Value& step, int64_t n) {
    Bounds bounds{0, step.is_none() ? 1 : slice_index(step), 0};
    if (bounds.step == 0) raise_value_error("slice step cannot be zero");
    const bool down = bounds.step < 0;
    const auto clamp = [&](const Value& value, int64_t otherwise) {
        if (value.is_none()) return otherwise;
        int64_t i = slice_index(value);
        if (i < 0) i = i < -n ? (down ? -1 : 0) : i + n;
        return std::min(i, down ? n - 1 : n);
    };
    bounds.start = clamp(start, down ? n - 1 : 0);
    const int64_t end = clamp(stop, down ? -1 : n);
    if (down && end < bounds.start)
        bounds.count = int64_t(uint64_t(bounds.start - end - 1) / (~uint64_t(bounds.step) + 1)) + 1;
    if (!down && bounds.start < end) bounds.count = (end - bounds.start - 1) / bounds.step + 1;
    return bounds;
}

Value slice(const Value& value, const Value& start, const Value& stop, const Value& step) {
    switch (value.type()) {
        case Type::Undefined:
            fail_undefined(value);
        case Type::Str: {
            const Str& text = value.as_str();
            const Bounds b = slice_bounds(start, stop, step, int64_t(text.length));
            if (b.count == 0) return Value::string("", text.markup);
            if (b.step == 1) {
                const size_t from = byte_of(text, b.start), to = byte_of(text, b.start + b.count);
                return Value::string(text.text.substr(from, to - from), text.markup);
            }
            std::string out;
            if (text.ascii()) {
                for (int64_t i = 0; i < b.count; ++i) out += text.text[size_t(b.start + i * b.step)];
            } else {
                const std::vector<char32_t> codes = unicode::decode_all(text.text);
                for (int64_t i = 0; i < b.count; ++i) append_utf8(out, codes[size_t(b.start + i * b.step)]);
            }
            return Value::string(std::move(out), text.markup);
        }
        case Type::List:
        case Type::Tuple: {
            const std::vector<Value>& items = value.items();
            const Bounds b = slice_bounds(start, stop, step, int64_t(items.size()));
            std::vector<Value> out;
            out.reserve(size_t(b.count));
            for (int64_t i = 0; i < b.count; ++i) out.push_back(items[size_t(b.start + i * b.step)]);
            return value.is(Type::List) ? Value::list(std::move(out)) : Value::tuple(std::move(out));
        }
        case Type::Range: {
            const Range& r = value.as_range();
            const Bounds b = slice_bounds(start, stop, step, r.length());
            auto out = std::make_shared<Range>();
            out->start = r.start + b.start * r.step;
            out->step = checked_mul(r.step, b.step);
            const bool down = b.step < 0;
            const int64_t n = r.length();
            const auto clamp = [&](const Value& v, int64_t otherwise) {
                if (v.is_none()) return otherwise;
                int64_t i = v.as_int();
                if (i < 0) i = i < -n ? (down ? -1 : 0) : i + n;
                return std::min(i, down ? n - 1 : n);
            };
            out->stop = r.start + clamp(stop, down ? -1 : n) * r.step;
            return Value::object(Type::Range, std::move(out));
        }
        case Type::Dict:
            raise_type_error("unhashable type: 'slice'");
        default:
            raise_type_error(fmt::format("'{}' object is not subscriptable", type_name(value)));
    }
}

Value char_at(const Str& text, int64_t index) {
    size_t byte = byte_of(text, index);
    const size_t from = byte;
    unicode::decode(text.text, byte);
    return Value::string(text.text.substr(from, byte - from), text.markup);
}

std::optional<Value> item(const Value& value, const Value& index) {
    if (value.is_undefined()) fail_undefined(value);
    if (value.is(Type::Dict)) {
        try {
            if (const Value* found = value.as_dict().find(index)) return *found;
        } catch (const TemplateFailure& e) {
            if (e.type() != "TypeError") throw;  // an unhashable key is a key that is not there
        }
        return std::nullopt;
    }
    const bool indexable = value.is_str() || value.is_sequence() || value.is(Type::Range);
    if (!indexable || !index.is_int()) return std::nullopt;
    const auto n = int64_t(length(value));
    int64_t i = index.as_int();
    if (i < 0) i += n;
    if (i < 0 || i >= n) return std::nullopt;
    if (value.is_str()) return char_at(value.as_str(), i);
    if (value.is(Type::Range)) return Value::integer(value.as_range().at(i));
    return value.items()[size_t(i)];
}

void sort_by(std::vector<std::pair<Value, Value>>& key_and_value, bool reverse) {
    if (reverse) std::reverse(key_and_value.begin(), key_and_value.end());
    merge_sort(key_and_value);
    if (reverse) std::reverse(key_and_value.begin(), key_and_value.end());
}

}  // namespace minfer::chat::jinja
