// libFuzzer: any bytes are a template, which parses and renders or fails with a TemplateFailure, within its limits.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "chat/jinja/error.h"
#include "chat/jinja/template.h"

using minfer::chat::jinja::RenderOptions;
using minfer::chat::jinja::Template;
using minfer::chat::jinja::TemplateFailure;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const auto variables = nlohmann::ordered_json::parse(
        R"({"messages": [{"role": "user", "content": "Grüße"}], "n": 3, "f": 2.5, "s": "text", "xs": [1, "a", null]})");
    RenderOptions options;
    options.limits.steps = 20'000;
    options.limits.output = 1 << 20;
    try {
        Template::parse({reinterpret_cast<const char*>(data), size}).render(variables, options);
    } catch (const TemplateFailure&) {
    }
    return 0;
}
