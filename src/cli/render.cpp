// minfer render: what a chat template makes of conversations, as tests/fixtures/render_chat.py prints it.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "chat/jinja/error.h"
#include "chat/jinja/template.h"
#include "chat/jinja/to_json.h"
#include "cli/commands.h"
#include "cli/parse.h"
#include "gguf/reader.h"

namespace minfer::cli {
namespace {

using chat::jinja::json_text;
using chat::jinja::RenderOptions;
using chat::jinja::Template;
using chat::jinja::TemplateFailure;

std::string read_text(const std::string& path) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw IoError(path, "read", errno ? errno : EIO);
    return text.str();
}

std::string template_text(const std::string& path) {
    if (!path.ends_with(".gguf")) return read_text(path);
    const gguf::Gguf model = gguf::Gguf::open(path, gguf::Gguf::Access::Read);
    return std::string(model.get<std::string_view>("tokenizer.chat_template"));
}

nlohmann::ordered_json read_conversations(const std::string& path) {
    nlohmann::ordered_json conversations;
    try {
        conversations = nlohmann::ordered_json::parse(read_text(path));
    } catch (const nlohmann::json::exception& e) {
        throw FormatError(path, "JSON", e.what(), "an object of conversations");
    }
    const auto is_object = [](const auto& each) { return each.is_object(); };
    if (!conversations.is_object() || !std::ranges::all_of(conversations, is_object))
        throw FormatError(path, "conversations", "something else", "an object of objects: name to variables");
    return conversations;
}

// The text as JSON, or {"error": ...}, which a Python program with Jinja2 prints alike.
std::string rendered(const std::string& source, const nlohmann::ordered_json& variables, const RenderOptions& options) {
    try {
        return json_text(Template::parse(source).render(variables, options), false);
    } catch (const TemplateFailure& e) {
        if (e.line()) fmt::print(stderr, "minfer render: {}\n", e.what());
        return fmt::format("{{\n  \"error\": {}\n }}", json_text(e.python_text(), false));
    }
}

int run_render(const std::vector<std::string>& args) {
    CLI::App app("What a chat template makes of conversations, as JSON: name to text, or to {\"error\": ...}.",
                 "minfer render");
    std::string path, conversations_path, now;
    std::vector<std::string> names;
    app.add_option("TEMPLATE", path, "a .jinja file, or a .gguf model that holds one")->required();
    app.add_option("CONVERSATIONS", conversations_path, "JSON: name to the template's variables")->required();
    app.add_option("NAME", names, "render these conversations only");
    app.add_option("--now", now, "the time that strftime_now tells, like \"2026-11-29 12:34:56\"");
    if (const auto status = parse(app, args)) return *status;

    RenderOptions options;
    if (!now.empty()) options.now = chat::jinja::Clock::parse(now);
    const std::string source = template_text(path);
    const nlohmann::ordered_json conversations = read_conversations(conversations_path);
    if (names.empty())
        for (const auto& [name, variables] : conversations.items()) names.push_back(name);
    std::string out;
    for (const std::string& name : names) {
        const auto found = conversations.find(name);
        if (found == conversations.end())
            throw FormatError(conversations_path, "conversations", "none named '" + name + "'", "one of that name");
        out += fmt::format("{}\n {}: {}", out.empty() ? "" : ",", json_text(name, false),
                           rendered(source, *found, options));
    }
    fmt::print("{{{}{}}}\n", out, out.empty() ? "" : "\n");
    return 0;
}

}  // namespace

const Command kRenderCommand = {"render", "what a chat template makes of conversations", run_render};

}  // namespace minfer::cli
