#include "gguf/value.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "base/error.h"

namespace minfer::gguf {
namespace {

constexpr size_t kQuotedBytes = 80;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

void append_string(std::vector<std::byte>& bytes, std::string_view text) {
    const uint64_t length = text.size();
    const auto prefix = std::as_bytes(std::span(&length, 1));
    bytes.insert(bytes.end(), prefix.begin(), prefix.end());
    bytes.insert(bytes.end(), bytes_of(text).begin(), bytes_of(text).end());
}

template <typename T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

}  // namespace

std::optional<ValueType> value_type(uint32_t number) {
    if (number > uint32_t(ValueType::F64)) return std::nullopt;
    return ValueType(number);
}

std::string_view value_type_name(ValueType type) {
    constexpr std::string_view kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                           "bool", "string", "array", "u64", "i64", "f64"};
    return kNames[size_t(type)];
}

size_t value_size(ValueType type) {
    constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kSizes[size_t(type)];
}

bool is_integer(ValueType type) {
    switch (type) {
        case ValueType::F32:
        case ValueType::F64:
        case ValueType::Bool:
        case ValueType::String:
        case ValueType::Array:
            return false;
        default:
            return true;
    }
}

bool Value::operator==(const Value& other) const {
    return type_ == other.type_ && item_ == other.item_ && count_ == other.count_ && *bytes_ == *other.bytes_;
}

Value Value::string(std::string_view text) {
    const auto bytes = bytes_of(text);
    return Value(ValueType::String, ValueType::String, 1, {bytes.begin(), bytes.end()});
}

Value Value::strings(std::span<const std::string> items) {
    std::vector<std::byte> bytes;
    for (const std::string& item : items) append_string(bytes, item);
    return Value(ValueType::Array, ValueType::String, items.size(), std::move(bytes));
}

Value Value::strings(std::span<const std::string_view> items) {
    std::vector<std::byte> bytes;
    for (const std::string_view item : items) append_string(bytes, item);
    return Value(ValueType::Array, ValueType::String, items.size(), std::move(bytes));
}

Value Value::raw_array(ValueType item, uint64_t count, std::vector<std::byte> bytes) {
    if (item == ValueType::Array) throw Error("an array of arrays is not supported");
    ByteCursor cursor(bytes);
    bool whole = true;
    if (item == ValueType::String) {
        for (uint64_t i = 0; whole && i < count; ++i) {
            const auto length = cursor.read<uint64_t>();
            whole = length && cursor.take(*length);
        }
    } else {
        const auto size = checked_mul(count, value_size(item));
        whole = size && cursor.take(*size);
    }
    if (!whole || cursor.left() != 0)
        throw Error(fmt::format("{} bytes are not {} items of {}", bytes.size(), count, value_type_name(item)));
    if (item == ValueType::Bool)
        for (const std::byte b : bytes)
            if (b > std::byte{1}) throw Error(fmt::format("a bool of {} is neither 0 nor 1", unsigned(b)));
    return Value(ValueType::Array, item, count, std::move(bytes));
}

Value::Number Value::number_at(size_t index) const {
    using Kind = Number::Kind;
    const std::byte* at = bytes_->data() + index * value_size(item_);
    switch (item_) {
        case ValueType::U8:
            return {Kind::Unsigned, load<uint8_t>(at), 0, 0};
        case ValueType::U16:
            return {Kind::Unsigned, load<uint16_t>(at), 0, 0};
        case ValueType::U32:
            return {Kind::Unsigned, load<uint32_t>(at), 0, 0};
        case ValueType::U64:
            return {Kind::Unsigned, load<uint64_t>(at), 0, 0};
        case ValueType::I8:
            return {Kind::Signed, 0, load<int8_t>(at), 0};
        case ValueType::I16:
            return {Kind::Signed, 0, load<int16_t>(at), 0};
        case ValueType::I32:
            return {Kind::Signed, 0, load<int32_t>(at), 0};
        case ValueType::I64:
            return {Kind::Signed, 0, load<int64_t>(at), 0};
        case ValueType::F32:
            return {Kind::Float, 0, 0, load<float>(at)};
        case ValueType::F64:
            return {Kind::Float, 0, 0, load<double>(at)};
        case ValueType::Bool:
            return {Kind::Bool, load<uint8_t>(at), 0, 0};
        case ValueType::String:
        case ValueType::Array:
            break;
    }
    throw Error(fmt::format("a {} is no number", value_type_name(item_)));
}

std::vector<std::string_view> Value::string_items() const {
    std::vector<std::string_view> items;
    items.reserve(size_t(count_));
    const std::byte* at = bytes_->data();
    for (uint64_t i = 0; i < count_; ++i) {
        const auto length = load<uint64_t>(at);
        items.emplace_back(reinterpret_cast<const char*>(at + sizeof length), size_t(length));
        at += sizeof length + length;
    }
    return items;
}

std::string Value::describe() const {
    if (is_array()) return fmt::format("array of {} {}", count_, value_type_name(item_));
    const std::string_view name = value_type_name(type_);
    if (type_ == ValueType::String) return fmt::format("{} {}", name, in_quotes(*as<std::string_view>()));
    const Number number = number_at(0);
    switch (number.kind) {
        case Number::Kind::Unsigned:
            return fmt::format("{} {}", name, number.bits_unsigned);
        case Number::Kind::Signed:
            return fmt::format("{} {}", name, number.bits_signed);
        case Number::Kind::Bool:
            return fmt::format("{} {}", name, number.bits_unsigned != 0);
        case Number::Kind::Float:
            break;
    }
    return type_ == ValueType::F32 ? fmt::format("{} {}", name, float(number.real))
                                   : fmt::format("{} {}", name, number.real);
}

std::string in_quotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text.substr(0, kQuotedBytes)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || byte == '\\' || byte == '\'')
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    return out + (text.size() > kQuotedBytes ? "...'" : "'");
}

}  // namespace minfer::gguf
