#include "chat/jinja/generator.h"

#include <memory>
#include <optional>
#include <utility>

#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {
namespace {

struct Generator : Iterator {
    Generator(std::string_view f, const Value& i, GeneratorStep s) : function(f), input(i), step(std::move(s)) {
        hold(input);
    }

    std::string_view function_name() const override { return function; }

    bool next(Value& out) override {
        if (finished) return false;
        finished = true;  // an error ends a generator too
        if (!source) source = iterate(input);
        finished = !step(*source, out);
        return !finished;
    }

    std::string_view function;  // a literal
    Value input;
    GeneratorStep step;
    std::optional<Value> source;
    bool finished = false;
};

}  // namespace

Value make_generator(std::string_view function, const Value& input, GeneratorStep step) {
    return make_iterator(std::make_shared<Generator>(function, input, std::move(step)));
}

}  // namespace minfer::chat::jinja
