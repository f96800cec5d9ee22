#include "chat/jinja/generator.h"

#include <memory>
#include <optional>
#include <utility>

#include "chat/jinja/operators.h"

namespace minfer::chat::jinja {
namespace {

struct Generator : Iterator {
    Generator(const Value& i, GeneratorStep s) : input(i), step(std::move(s)) { hold(input); }

    bool next(Value& out) override {
        if (finished) return false;
        finished = true;  // an error ends a generator too
        if (!source) source = iterate(input);
        finished = !step(*source, out);
        return !finished;
    }

    Value input;
    GeneratorStep step;
    std::optional<Value> source;
    bool finished = false;
};

}  // namespace

Value make_generator(const Value& input, GeneratorStep step) {
    return make_iterator(std::make_shared<Generator>(input, std::move(step)));
}

}  // namespace minfer::chat::jinja
