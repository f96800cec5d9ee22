// The small JSON files of a checkpoint, read into nlohmann's tree with their keys' types checked on the way out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace minfer::convert {

using Json = nlohmann::json;

// Whether there is something of this name, be it a link that leads nowhere, as an interrupted download leaves it: such
// a file is not absent, and reading it is an error.
bool is_there(const std::filesystem::path& path);

// The bytes of a whole regular file. Throws IoError, and FormatError where it is longer than `max_bytes`.
std::string read_text_file(const std::string& path, uint64_t max_bytes);

// As Python's text mode reads a file, which is how the reference reads templates and model cards: "\r\n" and a lone
// "\r" become "\n".
std::string with_unix_newlines(std::string_view text);

// Throws FormatError where `text` is no UTF-8, which every string of a GGUF file must be; `path` is for the message.
void require_utf8(std::string_view text, const std::string& path);

// Parses JSON; `path` is for messages. Throws FormatError where it does not parse, has an object with the same key
// twice (parsers disagree on which of the two counts) or a number that no double holds, and from parse_json_object
// where it is no object.
Json parse_json(std::string_view text, const std::string& path);
Json parse_json_object(std::string_view text, const std::string& path);
Json read_json_object(const std::string& path, uint64_t max_bytes);

// What a value is, for messages: "the number 7", "the string 'relu'", "a list".
std::string describe(const Json& value);

// An object inside a JSON file. Borrows the tree. A key that is absent and one whose value is null are the same; a
// value of another kind than asked for is a FormatError that names file, key, what was found and what was expected.
class JsonObject {
  public:
    JsonObject(std::string path, std::string prefix, const Json& object);

    bool has(std::string_view key) const { return find(key) != nullptr; }
    const Json* find(std::string_view key) const;  // nothing where absent or null
    const Json& tree() const { return *object_; }
    const std::string& path() const { return path_; }
    std::string field(std::string_view key) const;  // for messages: "key 'rope_scaling.factor'"

    std::optional<std::string> string(std::string_view key) const;
    std::optional<bool> boolean(std::string_view key) const;
    std::optional<double> number(std::string_view key) const;
    std::optional<uint64_t> integer(std::string_view key, uint64_t min, uint64_t max) const;
    std::optional<JsonObject> object(std::string_view key) const;
    std::optional<std::vector<std::string>> strings(std::string_view key) const;

    template <typename T>
    T require(std::string_view key, std::optional<T> value, std::string_view expected) const {
        if (!value) throw FormatError(path_, field(key), "no such key", std::string(expected));
        return *std::move(value);
    }

  private:
    [[noreturn]] void wrong_kind(std::string_view key, const Json& found, std::string expected) const;

    std::string path_, prefix_;
    const Json* object_;
};

}  // namespace minfer::convert
