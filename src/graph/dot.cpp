#include "graph/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace minfer::graph {
namespace {

// Inside a quoted string of DOT, a backslash would start an escape such as \n.
std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string_view look(const Node& node) {
    switch (node.op) {
        case Op::Weight:
            return "shape=box style=filled fillcolor=lightgrey";
        case Op::Input:
            return "shape=ellipse style=filled fillcolor=lightblue";
        case Op::View:
            return "shape=box style=dashed";
        case Op::StoreKv:
            return "shape=cylinder";
        case Op::SwiGlu:
        case Op::BiasRope:
        case Op::MatMulGroup:
        case Op::MatMulSwiGlu:
            return "shape=box style=bold";
        default:
            return "shape=box";
    }
}

}  // namespace

std::string to_dot(const Graph& graph, const std::function<std::string(NodeId)>& note) {
    std::string out = "digraph forward {\n    node [fontname=\"monospace\"];\n";
    auto append = std::back_inserter(out);
    for (size_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph.nodes()[i];
        std::string label = fmt::format("{}\\n{}", op_name(node.op), escaped(node.name));
        label += fmt::format("\\n{}", type_name(node));
        if (node.dtype != DType::Effect) label += fmt::format(" {}", to_string(node.shape));
        if (note)
            if (const std::string line = note(NodeId(i)); !line.empty()) label += fmt::format("\\n{}", escaped(line));
        fmt::format_to(append, "    n{} [{} label=\"{}\"{}];\n", i, look(node), label,
                       std::ranges::count(graph.outputs(), NodeId(i)) != 0 ? " peripheries=2" : "");
    }
    for (size_t i = 0; i < graph.size(); ++i)
        for (NodeId input : graph.nodes()[i].inputs)
            fmt::format_to(append, "    n{} -> n{}{};\n", int32_t(input), i,
                           graph[input].dtype == DType::Effect ? " [style=dotted]" : "");
    return out + "}\n";
}

}  // namespace minfer::graph
