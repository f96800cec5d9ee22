#include "convert/json_file.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <set>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "gguf/value.h"

namespace minfer::convert {

bool is_there(const std::filesystem::path& path) {
    std::error_code error;  // where the folder cannot be searched, opening says so
    return std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found;
}

std::string read_text_file(const std::string& path, uint64_t max_bytes) {
    const File file = File::open(path);
    if (file.size() > max_bytes)
        throw FormatError(path, "size", fmt::format("{} bytes", file.size()), fmt::format("at most {}", max_bytes));
    std::string text(size_t(file.size()), '\0');
    file.pread_exact(0, std::as_writable_bytes(std::span(text)));
    return text;
}

std::string with_unix_newlines(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\r') {
            out += text[i];
        } else {
            out += '\n';
            if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
        }
    }
    return out;
}

void require_utf8(std::string_view text, const std::string& path) {
    if (!simdjson::validate_utf8(text.data(), text.size()))
        throw FormatError(path, "text", "bytes that are not UTF-8", "UTF-8");
}

Json parse_json(std::string_view text, const std::string& path) {
    std::vector<std::set<std::string>> keys_of_open_objects;
    std::string last_key;
    const auto watch_keys = [&](int, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::object_start) keys_of_open_objects.emplace_back();
        if (event == Json::parse_event_t::object_end) keys_of_open_objects.pop_back();
        if (event == Json::parse_event_t::key) {
            const auto& key = parsed.get_ref<const std::string&>();
            if (!keys_of_open_objects.back().insert(key).second)
                throw FormatError(path, "key " + gguf::in_quotes(key), "it twice in one object", "each key once");
            last_key = key;
        }
        return true;
    };
    try {
        return Json::parse(text, watch_keys);
    } catch (const Json::out_of_range&) {  // what Python reads as an infinity
        throw FormatError(path, last_key.empty() ? "top level" : "key " + gguf::in_quotes(last_key),
                          "a number past the largest of 64 bits", "a number that is finite");
    } catch (const Json::parse_error& e) {
        throw FormatError(path, fmt::format("byte {}", e.byte), "text that is not JSON", "JSON in UTF-8");
    }
}

Json parse_json_object(std::string_view text, const std::string& path) {
    Json tree = parse_json(text, path);
    if (!tree.is_object()) throw FormatError(path, "top level", describe(tree), "an object");
    return tree;
}

Json read_json_object(const std::string& path, uint64_t max_bytes) {
    return parse_json_object(read_text_file(path, max_bytes), path);
}

std::string describe(const Json& value) {
    constexpr size_t kLongest = 80;  // bytes of a string from the file in a message
    switch (value.type()) {
        case Json::value_t::null:
            return "null";
        case Json::value_t::object:
            return "an object";
        case Json::value_t::array:
            return "a list";
        case Json::value_t::boolean:
            return value.get<bool>() ? "true" : "false";
        case Json::value_t::string: {
            const auto& text = value.get_ref<const std::string&>();
            if (text.size() <= kLongest) return "the string " + gguf::in_quotes(text);
            return fmt::format("a string of {} bytes", text.size());
        }
        default:
            return "the number " + value.dump();
    }
}

JsonObject::JsonObject(std::string path, std::string prefix, const Json& object)
    : path_(std::move(path)), prefix_(std::move(prefix)), object_(&object) {}

const Json* JsonObject::find(std::string_view key) const {
    const auto at = object_->find(key);
    return at == object_->end() || at->is_null() ? nullptr : &*at;
}

std::string JsonObject::field(std::string_view key) const { return fmt::format("key '{}{}'", prefix_, key); }

void JsonObject::wrong_kind(std::string_view key, const Json& found, std::string expected) const {
    throw FormatError(path_, field(key), describe(found), std::move(expected));
}

std::optional<std::string> JsonObject::string(std::string_view key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_string()) wrong_kind(key, *value, "a string");
    return value->get<std::string>();
}

std::optional<bool> JsonObject::boolean(std::string_view key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_boolean()) wrong_kind(key, *value, "true or false");
    return value->get<bool>();
}

std::optional<double> JsonObject::number(std::string_view key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_number()) wrong_kind(key, *value, "a number");
    return value->get<double>();
}

std::optional<uint64_t> JsonObject::integer(std::string_view key, uint64_t min, uint64_t max) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_number_unsigned() || value->get<uint64_t>() < min || value->get<uint64_t>() > max)
        wrong_kind(key, *value, fmt::format("an integer from {} to {}", min, max));
    return value->get<uint64_t>();
}

std::optional<JsonObject> JsonObject::object(std::string_view key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_object()) wrong_kind(key, *value, "an object");
    return JsonObject(path_, fmt::format("{}{}.", prefix_, key), *value);
}

std::optional<std::vector<std::string>> JsonObject::strings(std::string_view key) const {
    const Json* value = find(key);
    if (!value) return std::nullopt;
    if (!value->is_array()) wrong_kind(key, *value, "a list of strings");
    std::vector<std::string> out;
    for (const Json& item : *value) {
        if (!item.is_string()) wrong_kind(key, *value, "a list of strings");
        out.push_back(item.get<std::string>());
    }
    return out;
}

}  // namespace minfer::convert
