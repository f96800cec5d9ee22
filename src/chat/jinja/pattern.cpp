#include "chat/jinja/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdexcept>

namespace minfer::chat::jinja {

namespace {

constexpr uint32_t kMatchLimit = 1'000'000;  // steps back: a hostile text must not hold the program up

PCRE2_SPTR bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

Pattern::Pattern(std::string_view expression, bool ignore_case) {
    int error = 0;
    size_t offset = 0;
    const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | (ignore_case ? PCRE2_CASELESS : 0);
    pcre2_code* code = pcre2_compile(bytes(expression), expression.size(), options, &error, &offset, nullptr);
    if (!code) throw std::logic_error("a regular expression that does not compile");
    code_ = {code, [](void* p) { pcre2_code_free(static_cast<pcre2_code*>(p)); }};
    limits_ = {pcre2_match_context_create(nullptr),
               [](void* p) { pcre2_match_context_free(static_cast<pcre2_match_context*>(p)); }};
    pcre2_set_match_limit(static_cast<pcre2_match_context*>(limits_.get()), kMatchLimit);
}

bool Pattern::in(std::string_view text) const {
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(pcre2_match_data_create(1, nullptr),
                                                                               pcre2_match_data_free);
    return pcre2_match(static_cast<const pcre2_code*>(code_.get()), bytes(text), text.size(), 0, 0, match.get(),
                       static_cast<pcre2_match_context*>(limits_.get())) >= 0;
}

}  // namespace minfer::chat::jinja
