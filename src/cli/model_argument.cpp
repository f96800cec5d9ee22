#include "cli/model_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "base/error.h"

namespace minfer::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultModel = "smollm2-135m-instruct-q4_1";
constexpr std::string_view kSchemes[] = {"hf:", "ollama:", "http:", "https:"};

std::optional<std::string_view> scheme(std::string_view word) {
    const auto* found = std::ranges::find_if(kSchemes, [&](std::string_view s) { return word.starts_with(s); });
    if (found == std::end(kSchemes)) return std::nullopt;
    return *found;
}

bool is_file(const fs::path& path) {
    std::error_code ignored;  // a word that cannot be a path, such as a very long prompt, names no file
    return fs::is_regular_file(path, ignored);
}

std::optional<std::string> cached(const std::string& word) {
    if (word.empty() || word.find('/') != std::string::npos) return std::nullopt;
    for (const std::string& name : {word, word + ".gguf"})
        if (const fs::path path = models_folder() / name; is_file(path)) return path.string();
    return std::nullopt;
}

}  // namespace

fs::path models_folder() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "minfer" / "models";
    const char* home = std::getenv("HOME");
    return fs::path(home ? home : "/") / ".cache" / "minfer" / "models";
}

bool names_model(const std::string& word) {
    return word.ends_with(".gguf") || scheme(word) || is_file(word) || cached(word);
}

std::string model_file(const std::string& word) {
    if (const auto s = scheme(word))
        throw UnsupportedError(
            fmt::format("'{}': models by {} are not fetched; give a file or a cached name", word, *s));
    if (is_file(word)) return word;
    if (const auto path = cached(word)) return *path;
    throw Error(fmt::format("'{}' is no model: there is no such file, and none of that name in {}", word,
                            models_folder().string()));
}

std::string default_model_file() {
    if (const auto path = cached(std::string(kDefaultModel))) return *path;
    throw Error(
        fmt::format("no model is named, and the default, {}, is not in {}: run scripts/fetch-models, or give a "
                    "model before the prompt",
                    kDefaultModel, models_folder().string()));
}

}  // namespace minfer::cli
