// Renders what it is given, a line at a time: {"template": "...", "context": {...}} on standard input, and on standard
// output {"text": "..."} or {"error": "TypeError: ...", "line": 1, "column": 4}. For tests that compare many templates.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "chat/jinja/error.h"
#include "chat/jinja/template.h"

using minfer::chat::jinja::Clock;
using minfer::chat::jinja::RenderOptions;
using minfer::chat::jinja::Template;
using minfer::chat::jinja::TemplateFailure;

int main() {
    RenderOptions options;
    options.now = Clock::parse("2026-11-29 12:34:56");
    options.limits.steps = 2'000'000;
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        const auto request = nlohmann::ordered_json::parse(line);
        nlohmann::ordered_json reply;
        try {
            reply["text"] =
                Template::parse(request.at("template").get<std::string>()).render(request.at("context"), options);
        } catch (const TemplateFailure& e) {
            reply["error"] = e.python_text();
            reply["line"] = e.line();
            reply["column"] = e.column();
        }
        std::cout << reply.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n" << std::flush;
    }
}
