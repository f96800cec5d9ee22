// The templates of value.h.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "gguf/value.h"

namespace minfer::gguf {

static_assert(std::endian::native == std::endian::little, "values are kept in the file's byte order");

template <Scalar T>
constexpr ValueType value_type_of() {
    if constexpr (std::same_as<T, uint8_t>) return ValueType::U8;
    if constexpr (std::same_as<T, int8_t>) return ValueType::I8;
    if constexpr (std::same_as<T, uint16_t>) return ValueType::U16;
    if constexpr (std::same_as<T, int16_t>) return ValueType::I16;
    if constexpr (std::same_as<T, uint32_t>) return ValueType::U32;
    if constexpr (std::same_as<T, int32_t>) return ValueType::I32;
    if constexpr (std::same_as<T, uint64_t>) return ValueType::U64;
    if constexpr (std::same_as<T, int64_t>) return ValueType::I64;
    if constexpr (std::same_as<T, float>) return ValueType::F32;
    if constexpr (std::same_as<T, double>) return ValueType::F64;
    if constexpr (std::same_as<T, bool>) return ValueType::Bool;
}

template <Scalar T>
Value Value::scalar(T value) {
    return Value(value_type_of<T>(), value_type_of<T>(), 1, [&] {
        std::vector<std::byte> bytes(sizeof(T));
        std::memcpy(bytes.data(), &value, sizeof(T));
        return bytes;
    }());
}

template <Scalar T>
Value Value::array(std::span<const T> items) {
    const auto bytes = std::as_bytes(items);
    return Value(ValueType::Array, value_type_of<T>(), items.size(), {bytes.begin(), bytes.end()});
}

namespace value_detail {
template <typename T>
struct ItemOf {
    using type = void;
};
template <typename T>
struct ItemOf<std::vector<T>> {
    using type = T;
};
}  // namespace value_detail

template <typename T>
std::optional<T> Value::convert(const Number& number) {
    using Kind = Number::Kind;
    if constexpr (std::same_as<T, bool>) {
        if (number.kind != Kind::Bool) return std::nullopt;
        return number.bits_unsigned != 0;
    } else if constexpr (std::floating_point<T>) {
        if (number.kind != Kind::Float) return std::nullopt;
        return T(number.real);
    } else {
        if (number.kind == Kind::Unsigned && std::in_range<T>(number.bits_unsigned)) return T(number.bits_unsigned);
        if (number.kind == Kind::Signed && std::in_range<T>(number.bits_signed)) return T(number.bits_signed);
        return std::nullopt;
    }
}

template <typename T>
std::optional<T> Value::as() const {
    using Item = typename value_detail::ItemOf<T>::type;
    constexpr bool kText = std::same_as<T, std::string_view> || std::same_as<T, std::string>;
    if constexpr (kText) {
        if (type_ != ValueType::String) return std::nullopt;
        return T(reinterpret_cast<const char*>(bytes_->data()), bytes_->size());
    } else if constexpr (std::same_as<Item, std::string_view> || std::same_as<Item, std::string>) {
        if (!is_array() || item_ != ValueType::String) return std::nullopt;
        const std::vector<std::string_view> items = string_items();
        return T(items.begin(), items.end());
    } else if constexpr (!std::same_as<Item, void>) {
        if (!is_array() || item_ == ValueType::String) return std::nullopt;
        T items;
        items.reserve(size_t(count_));
        for (size_t i = 0; i < count_; ++i) {
            const std::optional<Item> item = convert<Item>(number_at(i));
            if (!item) return std::nullopt;
            items.push_back(*item);
        }
        return items;
    } else {
        static_assert(Scalar<T>);
        if (is_array() || type_ == ValueType::String) return std::nullopt;
        return convert<T>(number_at(0));
    }
}

template <typename T>
std::string expected_value() {
    using Item = typename value_detail::ItemOf<T>::type;
    if constexpr (std::same_as<T, std::string_view> || std::same_as<T, std::string>) {
        return "a string";
    } else if constexpr (std::same_as<Item, std::string_view> || std::same_as<Item, std::string>) {
        return "an array of strings";
    } else if constexpr (!std::same_as<Item, void>) {
        return fmt::format("an array, each item {}", expected_value<Item>());
    } else if constexpr (std::same_as<T, bool>) {
        return "a bool";
    } else if constexpr (std::floating_point<T>) {
        return "an f32 or f64";
    } else {
        return fmt::format("an integer from {} to {}", +std::numeric_limits<T>::min(), +std::numeric_limits<T>::max());
    }
}

}  // namespace minfer::gguf
