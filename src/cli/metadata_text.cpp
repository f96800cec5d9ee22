#include "cli/metadata_text.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/printable.h"

namespace minfer::cli {
namespace {

using gguf::Value;
using gguf::ValueType;

constexpr size_t kTextBytes = 100;   // of a string in a table
constexpr uint64_t kTextItems = 6;   // of an array in a table
constexpr uint64_t kJsonItems = 16;  // of an array in JSON

nlohmann::ordered_json number_json(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return value;
}

// The first `limit` items, each by the function for its kind.
template <typename Out, typename Text, typename Integer, typename Unsigned, typename Real, typename Bool>
std::vector<Out> items(const Value& value, uint64_t limit, Text text, Integer integer, Unsigned natural, Real real,
                       Bool boolean) {
    std::vector<Out> out;
    const auto take = [&](const auto& all, const auto& convert) {
        for (const auto& item : all) {
            if (out.size() == limit) break;
            out.push_back(convert(item));
        }
    };
    switch (value.item_type()) {
        case ValueType::String:
            take(*value.as<std::vector<std::string_view>>(), text);
            break;
        case ValueType::U64:
            take(*value.as<std::vector<uint64_t>>(), natural);
            break;
        case ValueType::F32:
            take(*value.as<std::vector<float>>(), real);
            break;
        case ValueType::F64:
            take(*value.as<std::vector<double>>(), real);
            break;
        case ValueType::Bool:
            take(*value.as<std::vector<bool>>(), boolean);
            break;
        default:
            take(*value.as<std::vector<int64_t>>(), integer);
            break;
    }
    return out;
}

std::string quoted_text(std::string_view text) { return fmt::format("\"{}\"", printable(text)); }

// A cut falls between characters, not within one.
std::string_view first_bytes(std::string_view text, size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
    return text.substr(0, limit);
}

}  // namespace

std::string value_type_text(const Value& value) {
    if (!value.is_array()) return std::string(value_type_name(value.type()));
    return fmt::format("array[{}]", value_type_name(value.item_type()));
}

std::string value_text(const Value& value, bool full) {
    if (value.type() == ValueType::String) {
        const auto text = *value.as<std::string_view>();
        const std::string_view shown = full ? text : first_bytes(text, kTextBytes);
        const std::string rest =
            shown.size() < text.size() ? fmt::format(" ... {} bytes more", text.size() - shown.size()) : "";
        return printable(shown) + rest;
    }
    if (value.is_array()) {
        const uint64_t limit = full ? value.count() : kTextItems;
        const auto shown = items<std::string>(
            value, limit, [&](std::string_view s) { return quoted_text(full ? s : first_bytes(s, kTextBytes)); },
            [](int64_t n) { return fmt::format("{}", n); }, [](uint64_t n) { return fmt::format("{}", n); },
            [](auto x) { return fmt::format("{}", x); }, [](bool b) { return std::string(b ? "true" : "false"); });
        const std::string rest = limit < value.count() ? fmt::format(", ... {} more", value.count() - limit) : "";
        return fmt::format("[{}{}]", fmt::join(shown, ", "), rest);
    }
    const std::string described = value.describe();  // "u32 7"
    return described.substr(described.find(' ') + 1);
}

nlohmann::ordered_json value_json(const Value& value, bool full) {
    using Json = nlohmann::ordered_json;
    Json json{{"type", value_type_text(value)}};
    if (value.is_array()) {
        json["count"] = value.count();
        if (full || value.count() <= kJsonItems)
            json["values"] = items<Json>(
                value, value.count(), [](std::string_view s) { return Json(s); }, [](int64_t n) { return Json(n); },
                [](uint64_t n) { return Json(n); }, [](double x) { return number_json(x); },
                [](bool b) { return Json(b); });
        return json;
    }
    if (const auto text = value.as<std::string_view>())
        json["value"] = *text;
    else if (const auto boolean = value.as<bool>())
        json["value"] = *boolean;
    else if (const auto natural = value.as<uint64_t>())
        json["value"] = *natural;
    else if (const auto integer = value.as<int64_t>())
        json["value"] = *integer;
    else
        json["value"] = number_json(value.as<double>().value());
    return json;
}

std::string json_text(const nlohmann::ordered_json& json) {
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace minfer::cli
