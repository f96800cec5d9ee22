// general.name and what else a model's card and its names say of where it comes from.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "convert/metadata.h"
#include "convert/model_name.h"

namespace minfer::convert {
namespace {

using gguf::Value;

constexpr std::string_view kHub = "https://huggingface.co/";

// "organization/name" where `url` is a model's page on the hub, else nothing.
std::string_view hub_id(std::string_view url) {
    for (const std::string_view prefix : {kHub, std::string_view("http://huggingface.co/")}) {
        if (!url.starts_with(prefix)) continue;
        const std::string_view id = url.substr(prefix.size());
        const size_t slash = id.find('/');
        if (slash != std::string_view::npos && slash > 0 && slash + 1 < id.size() &&
            id.find('/', slash + 1) == std::string_view::npos)
            return id;
    }
    return {};
}

// The fields of general.base_model.N.* and general.dataset.N.* for one entry of the card.
std::map<std::string, std::string> source_fields(const CardSource& source, uint64_t n_params) {
    if (!source.id) return source.fields;
    std::map<std::string, std::string> out;
    std::string_view id = *source.id;
    const bool is_url = std::ranges::any_of(std::array{"http://", "https://", "ssh://"},
                                            [&](const char* scheme) { return id.starts_with(scheme); });
    if (is_url) {
        out["repo_url"] = *source.id;
        id = hub_id(id);
        if (id.empty()) return out;
    }
    const NameParts parts = parse_model_name(id, n_params);
    if (parts.full_name) out["name"] = title_of_name(*parts.full_name);
    if (parts.organization) out["organization"] = title_of_name(*parts.organization);
    if (parts.version) out["version"] = *parts.version;
    if (!is_url && parts.organization && parts.full_name)
        out["repo_url"] = fmt::format("{}{}/{}", kHub, *parts.organization, *parts.full_name);
    return out;
}

void add_sources(Metadata& out, std::string_view kind, const std::vector<CardSource>& sources, uint64_t n_params) {
    out.push_back({fmt::format("general.{}.count", kind), Value::scalar(uint32_t(sources.size()))});
    for (size_t i = 0; i < sources.size(); ++i) {
        const std::map<std::string, std::string> fields = source_fields(sources[i], n_params);
        for (const std::string_view field :
             {"name", "author", "version", "organization", "description", "url", "doi", "uuid", "repo_url"})
            if (const auto at = fields.find(std::string(field)); at != fields.end())
                out.push_back({fmt::format("general.{}.{}.{}", kind, i, field), Value::string(at->second)});
    }
}

}  // namespace

Metadata authorship_metadata(const ModelCard& card, const std::string& name_or_path, const std::string& folder_name,
                             uint64_t n_params) {
    std::map<std::string, std::string, std::less<>> texts = card.texts;
    const auto use_name = [&](const std::string& id) {
        const NameParts parts = parse_model_name(id, n_params);
        const auto set = [&](const char* key, const std::optional<std::string>& value) {
            if (value) texts.emplace(key, *value);  // what is there already stays
        };
        if (parts.full_name) texts.emplace("name", title_of_name(*parts.full_name));
        if (parts.organization) texts.emplace("organization", title_of_name(*parts.organization));
        set("basename", parts.basename);
        set("finetune", parts.finetune);
        set("version", parts.version);
        set("size_label", parts.size_label);
    };
    // A path of some computer says nothing; a name on the hub has at most one slash.
    if (!name_or_path.empty() && std::ranges::count(name_or_path, '/') <= 1) use_name(name_or_path);
    use_name(folder_name);
    texts.emplace("size_label", size_label(n_params));

    Metadata out;
    for (const std::string_view key :
         {"name", "author", "version", "organization", "finetune", "basename", "description", "size_label", "license",
          "license.name", "license.link", "source.url", "source.doi", "source.uuid", "source.repo_url"})
        if (const auto at = texts.find(key); at != texts.end())
            out.push_back({fmt::format("general.{}", key), Value::string(at->second)});
    if (card.base_models) add_sources(out, "base_model", *card.base_models, n_params);
    if (card.datasets) add_sources(out, "dataset", *card.datasets, n_params);
    if (!card.tags.empty()) out.push_back({"general.tags", Value::strings(card.tags)});
    if (!card.languages.empty()) out.push_back({"general.languages", Value::strings(card.languages)});
    return out;
}

}  // namespace minfer::convert
