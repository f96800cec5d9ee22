#include "chat/jinja/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/error.h"

namespace minfer::chat::jinja {
namespace {

std::string_view short_name(std::string_view method) {
    const size_t dot = method.rfind('.');
    return dot == method.npos ? method : method.substr(dot + 1);
}

std::string listed(const std::vector<std::string>& names) {
    std::string out;
    for (size_t i = 0; i < names.size(); ++i) {
        if (i) out += i + 1 < names.size() ? ", " : names.size() > 2 ? ", and " : " and ";
        out += fmt::format("'{}'", names[i]);
    }
    return out;
}

}  // namespace

std::vector<Value> bind(std::string_view function, const std::vector<std::string_view>& before,
                        const std::vector<Param>& params, const Arguments& arguments) {
    std::vector<std::optional<Value>> given(params.size());
    for (size_t i = 0; i < std::min(params.size(), arguments.positional.size()); ++i)
        given[i] = arguments.positional[i];
    for (const auto& [name, value] : arguments.keyword) {
        const auto found = std::ranges::find(params, std::string_view(name), &Param::name);
        const bool is_before = std::ranges::count(before, name) > 0;
        if (found == params.end() && !is_before)
            raise_type_error(fmt::format("{}() got an unexpected keyword argument '{}'", function, name));
        if (is_before || given[size_t(found - params.begin())])
            raise_type_error(fmt::format("{}() got multiple values for argument '{}'", function, name));
        given[size_t(found - params.begin())] = value;
    }
    const size_t most = before.size() + params.size(), count = before.size() + arguments.positional.size();
    if (count > most) {
        const size_t least =
            before.size() + size_t(std::ranges::count_if(params, [](const Param& p) { return !p.otherwise; }));
        raise_type_error(
            fmt::format("{}() takes {} positional argument{} but {} {} given", function,
                        least == most ? fmt::format("{}", most) : fmt::format("from {} to {}", least, most),
                        most == 1 ? "" : "s", count, count == 1 ? "was" : "were"));
    }
    std::vector<std::string> missing;
    std::vector<Value> out;
    for (size_t i = 0; i < params.size(); ++i) {
        if (!given[i] && !params[i].otherwise) missing.emplace_back(params[i].name);
        out.push_back(given[i] ? *given[i] : params[i].otherwise.value_or(Value::none()));
    }
    if (!missing.empty()) {
        raise_type_error(fmt::format("{}() missing {} required positional argument{}: {}", function, missing.size(),
                                     missing.size() == 1 ? "" : "s", listed(missing)));
    }
    return out;
}

void forbid_keywords(std::string_view method, const Arguments& arguments) {
    if (!arguments.keyword.empty()) raise_type_error(fmt::format("{}() takes no keyword arguments", method));
}

void expect_none(std::string_view method, const Arguments& arguments) {
    forbid_keywords(method, arguments);
    if (!arguments.positional.empty())
        raise_type_error(fmt::format("{}() takes no arguments ({} given)", method, arguments.positional.size()));
}

const Value& expect_one(std::string_view method, const Arguments& arguments) {
    forbid_keywords(method, arguments);
    if (arguments.positional.size() != 1)
        raise_type_error(
            fmt::format("{}() takes exactly one argument ({} given)", method, arguments.positional.size()));
    return arguments.positional[0];
}

void expect_between(std::string_view method, size_t least, size_t most, const Arguments& arguments) {
    forbid_keywords(method, arguments);
    const size_t n = arguments.positional.size();
    if (n >= least && n <= most) return;
    const size_t bound = n < least ? least : most;
    raise_type_error(fmt::format("{} expected {} {} argument{}, got {}", short_name(method),
                                 n < least ? "at least" : "at most", bound, bound == 1 ? "" : "s", n));
}

}  // namespace minfer::chat::jinja
