// libFuzzer: any text as a grammar and as a JSON schema is refused by an Error, or becomes one that runs.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "sampling/grammar/automaton.h"
#include "sampling/grammar/gbnf_parser.h"
#include "sampling/grammar/machine.h"
#include "sampling/json_schema/json_schema.h"

namespace minfer::sampling::grammar {
namespace {

std::optional<int32_t> no_token(std::string_view) { return std::nullopt; }

void run(const Grammar& grammar, std::string_view text) {
    const Automaton automaton(grammar);
    Machine machine(automaton);
    ConfigId at = machine.start();
    for (const char byte : text) {
        at = machine.step(at, uint8_t(byte));
        if (at == kDead) at = machine.start();
    }
}

}  // namespace
}  // namespace minfer::sampling::grammar

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace minfer::sampling::grammar;  // NOLINT(google-build-using-namespace)
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        run(parse_gbnf(text, no_token), text);
    } catch (const minfer::Error&) {
    }
    try {
        const Grammar grammar = minfer::sampling::json_schema::grammar_of(text);
        run(grammar, text);
    } catch (const minfer::Error&) {
    }
    return 0;
}
