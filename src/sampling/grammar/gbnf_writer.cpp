#include <fmt/format.h>

#include <string>

#include "base/utf8.h"
#include "sampling/grammar/grammar.h"
#include "tokenizer/utf8.h"

namespace minfer::sampling::grammar {
namespace {

using Kind = Expression::Kind;

std::string escaped(uint32_t c) {
    switch (c) {
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        case '\\':
        case '"':
        case '[':
        case ']':
        case '-':
            return {'\\', char(c)};
        default:
            break;
    }
    if (c < 0x20 || c == 0x7F || c == '^') return fmt::format("\\x{:02X}", c);
    if (c > 0xFFFF) return fmt::format("\\U{:08X}", c);
    if (c > 0x7E) return fmt::format("\\u{:04X}", c);
    return std::string(1, char(c));
}

class Writer {
  public:
    explicit Writer(const Grammar& grammar) : grammar_(grammar) {}

    std::string write() {
        for (const Rule& rule : grammar_.rules) {
            out_ += rule.name + " ::= ";
            put(rule.body, false);
            out_ += '\n';
        }
        return std::move(out_);
    }

  private:
    // `tight`: as one item, that a repetition or a neighbour may stand beside.
    void put(ExpressionId id, bool tight) {
        const Expression& e = grammar_.expressions[id];
        const bool several = e.kind == Kind::Choice || e.kind == Kind::Sequence || e.kind == Kind::Repeat;
        const bool brackets = several && tight;
        if (brackets) out_ += '(';
        switch (e.kind) {
            case Kind::Literal:
                put_literal(e.bytes);
                break;
            case Kind::Class:
                out_ += '[';
                for (const CodePoints& r : e.ranges) {
                    out_ += escaped(r.first);
                    if (r.last == r.first) continue;
                    out_ += '-';
                    out_ += escaped(r.last);
                }
                out_ += ']';
                break;
            case Kind::Sequence:
            case Kind::Choice:
                for (size_t i = 0; i < e.parts.size(); ++i) {
                    if (i > 0) out_ += e.kind == Kind::Choice ? " | " : " ";
                    put(e.parts[i], true);
                }
                break;
            case Kind::Repeat:
                put(e.parts[0], true);
                if (e.max == kUnbounded)
                    out_ += fmt::format("{{{},}}", e.min);
                else
                    out_ += fmt::format("{{{},{}}}", e.min, e.max);
                break;
            case Kind::Rule:
                out_ += grammar_.rules[e.rule].name;
                break;
            case Kind::Token:
                out_ += fmt::format("{}<[{}]>", e.negated ? "!" : "", e.token);
                break;
        }
        if (brackets) out_ += ')';
    }

    void put_literal(std::string_view bytes) {
        out_ += '"';
        while (!bytes.empty()) {
            const size_t n = tokenizer::first_sequence(bytes).length;
            out_ += escaped(decode_utf8(bytes.substr(0, n)));
            bytes.remove_prefix(n);
        }
        out_ += '"';
    }

    const Grammar& grammar_;
    std::string out_;
};

}  // namespace

std::string to_gbnf(const Grammar& grammar) { return Writer(grammar).write(); }

}  // namespace minfer::sampling::grammar
