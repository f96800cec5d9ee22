// A metadata value of GGUF: one of 11 scalars, a string, or an array of those.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace minfer::gguf {

// The numbers are the file's.
enum class ValueType : uint32_t {
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
};

std::optional<ValueType> value_type(uint32_t number);
std::string_view value_type_name(ValueType type);  // "u32", "f32", "bool", "string", "array"
size_t value_size(ValueType type);                 // bytes of a scalar in the file; 0 for strings and arrays
bool is_integer(ValueType type);                   // Bool is none

// The C++ types that stand for a scalar of the file, one each.
template <typename T>
concept Scalar =
    std::same_as<T, uint8_t> || std::same_as<T, int8_t> || std::same_as<T, uint16_t> || std::same_as<T, int16_t> ||
    std::same_as<T, uint32_t> || std::same_as<T, int32_t> || std::same_as<T, uint64_t> || std::same_as<T, int64_t> ||
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, bool>;

template <Scalar T>
constexpr ValueType value_type_of();

// Holds the value in the encoding of the file (little-endian, strings with their 64-bit length in arrays); a copy of a
// file's value is byte for byte what was read. Values do not change, so copies share their bytes: a vocabulary has
// megabytes, and passes from a file through plans into several parts.
class Value {
  public:
    template <Scalar T>
    static Value scalar(T value);
    static Value string(std::string_view text);
    template <Scalar T>
    static Value array(std::span<const T> items);
    static Value strings(std::span<const std::string> items);
    static Value strings(std::span<const std::string_view> items);
    // `bytes` are what follows the count in the file. Throws Error unless they hold exactly `count` items, each of them
    // well formed. `item` is a scalar's type or String.
    static Value raw_array(ValueType item, uint64_t count, std::vector<std::byte> bytes);

    ValueType type() const { return type_; }
    bool is_array() const { return type_ == ValueType::Array; }
    ValueType item_type() const { return item_; }  // of an array; else the same as type()
    uint64_t count() const { return count_; }      // items of an array; else 1
    // The encoding after the type, and for arrays after the count; for a string its characters alone.
    std::span<const std::byte> bytes() const { return *bytes_; }

    // The value as T, or nothing where it is of another kind or does not fit:
    //   an integer type    any integer of the file whose value fits
    //   float, double      f32 or f64 (rounded to float)
    //   bool               bool
    //   string_view/string a string; the view is valid as long as this value
    //   vector of those    an array whose items convert so
    template <typename T>
    std::optional<T> as() const;

    // For messages: "u32 7", "string 'gpt2'", "array of 3 f32". Long strings are cut, unprintable bytes escaped.
    std::string describe() const;

    bool operator==(const Value& other) const;  // same type and same bytes; a NaN equals itself

  private:
    Value(ValueType type, ValueType item, uint64_t count, std::vector<std::byte> bytes)
        : type_(type),
          item_(item),
          count_(count),
          bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}

    struct Number {  // any scalar, widened without loss
        enum class Kind { Unsigned, Signed, Float, Bool } kind;
        uint64_t bits_unsigned;
        int64_t bits_signed;
        double real;
    };
    Number number_at(size_t index) const;
    std::vector<std::string_view> string_items() const;
    template <typename T>
    static std::optional<T> convert(const Number& number);

    ValueType type_, item_;
    uint64_t count_;
    std::shared_ptr<const std::vector<std::byte>> bytes_;
};

// One entry of a file's metadata, in its order.
struct KeyValue {
    std::string key;
    Value value;

    bool operator==(const KeyValue&) const = default;
};

// `text` for a message: in single quotes, at most 80 bytes of it, unprintable bytes as \xNN.
std::string in_quotes(std::string_view text);

// What as<T>() takes, for messages: "an integer from 0 to 4294967295", "a string", "an array of strings".
template <typename T>
std::string expected_value();

}  // namespace minfer::gguf

#include "gguf/value_inl.h"
