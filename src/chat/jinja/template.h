// Chat templates: Jinja2 3.1.6 as HuggingFace runs it (immutable sandbox, trim_blocks, lstrip_blocks, loop controls,
// generation blocks, raise_exception, strftime_now, tojson that leaves text as it is).
//
// What differs: integers have 64 bits and refuse to overflow; there are no bytes, sets or complex numbers; a template
// cannot load another one; `random` and `lipsum` are refused, for their result is not the template's; a constant that
// is infinite or NaN is that number wherever it stands, where Jinja2's compiler writes it down as an undefined name.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace minfer::chat::jinja {

struct Program;

// The time that strftime_now tells.
struct Clock {
    std::tm time{};
    int microsecond = 0;
    static Clock local_now();
    // "2026-11-29 12:34:56" or "2026-11-29". Throws UsageError for anything else.
    static Clock parse(const std::string& text);
};

struct Limits {
    uint64_t steps = 50'000'000;           // about one an expression, and one a few bytes or items that it makes
    uint64_t output = uint64_t(64) << 20;  // bytes written, nested captures included
    int depth = 200;                       // macros and recursive loops within each other
};

struct RenderOptions {
    Clock now = Clock::local_now();
    Limits limits;
};

class Template {
  public:
    // Throws TemplateFailure (error.h) for a mistake, with the line and column.
    static Template parse(std::string_view source);

    // `variables` is an object: the template's variables. Throws TemplateFailure for what goes wrong in the template,
    // with the type that Python names; StepLimit and OutputLimit are minfer's own.
    std::string render(const nlohmann::ordered_json& variables, const RenderOptions& options = {}) const;

  private:
    explicit Template(std::shared_ptr<const Program> program);
    std::shared_ptr<const Program> program_;
};

}  // namespace minfer::chat::jinja
