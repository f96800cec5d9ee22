#include "model/metadata.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/error.h"

namespace minfer::model {

void Metadata::fail(std::string_view name, std::string found, std::string expected) const {
    throw FormatError(file_.path(), "key " + key(name), std::move(found), std::move(expected));
}

void Metadata::unsupported(std::string_view name, std::string_view what) const {
    throw UnsupportedError(fmt::format("{}: key {}: {}", file_.path(), key(name), what));
}

std::optional<size_t> Metadata::size_if(std::string_view name) const {
    const std::optional<int64_t> value = file_.get_if<int64_t>(key(name));
    if (!value) return std::nullopt;
    if (*value < 1 || *value > int64_t(kLargestSize))
        fail(name, fmt::format("{}", *value), fmt::format("an integer from 1 to {}", kLargestSize));
    return size_t(*value);
}

size_t Metadata::size(std::string_view name) const {
    if (const std::optional<size_t> value = size_if(name)) return *value;
    fail(name, "no such key", "an integer above 0");
}

double Metadata::positive(std::string_view name, std::optional<double> otherwise) const {
    std::optional<double> value = file_.get_if<double>(key(name));
    if (!value) value = otherwise;
    if (!value) fail(name, "no such key", "a number above 0");
    if (!(*value > 0) || !std::isfinite(*value)) fail(name, fmt::format("{}", *value), "a finite number above 0");
    return *value;
}

std::string_view Metadata::text_or(std::string_view name, std::string_view otherwise) const {
    return file_.get_or<std::string_view>(key(name), otherwise);
}

void Metadata::refuse(std::string_view name) const {
    const gguf::Value* value = file_.find(key(name));
    if (!value) return;
    const bool off = value->as<double>() == 0.0 || value->as<int64_t>() == 0 || value->as<bool>() == false;
    if (!off) unsupported(name, fmt::format("found {}, which minfer does not compute", value->describe()));
}

}  // namespace minfer::model
