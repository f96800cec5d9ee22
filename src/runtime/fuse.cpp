#include "runtime/fuse.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "graph/shape_rules.h"
#include "runtime/fusion_pattern.h"

namespace minfer::runtime {

using backend::Fusion;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

std::vector<Match> find(Fusion fusion, const FusionSite& site) {
    switch (fusion) {
        case Fusion::SwiGlu:
            return find_swiglu(site);
        case Fusion::BiasRope:
            return find_bias_rope(site);
        case Fusion::Qkv:
            return find_qkv(site);
        case Fusion::GateUp:
            return find_gate_up(site);
    }
    return {};
}

// Leaves the matches that the backends take, each node in one match at most.
std::vector<Match> accepted(Fusion fusion, std::vector<Match> matches, const FusionSite& site,
                            std::span<backend::Backend* const> backends, kv::CellType cells) {
    Graph probe = site.graph;  // with the fused nodes at its end, for supports_op to look at
    std::vector<bool> taken(site.graph.size(), false);
    std::vector<Match> kept;
    for (Match& match : matches) {
        const backend::Backend& b = *backends[size_t(site.assignment[size_t(match.place)])];
        if (!b.supports_fused(fusion)) continue;
        std::vector<NodeId> nodes = match.vanish;
        for (const Match::Result& result : match.results) nodes.push_back(result.node);
        bool free = true;
        for (NodeId node : nodes) free = free && !taken[size_t(node)];
        if (!free || !b.supports_op(probe, graph::add_checked(probe, match.fused), cells)) continue;
        for (NodeId node : nodes) taken[size_t(node)] = true;
        kept.push_back(std::move(match));
    }
    return kept;
}

// Copies a graph with the matches' fused nodes in place of what they replace.
class Rewrite {
  public:
    Rewrite(const Graph& old, const Assignment& assignment, const std::vector<Match>& matches)
        : old_(old), assignment_(assignment), roles_(old.size()), renamed_(old.size()) {
        for (const Match& match : matches) {
            role(match.place).match = &match;
            for (NodeId node : match.vanish) role(node).vanishes = true;
            for (const Match::Result& result : match.results) role(result.node).result_of = &match;
        }
    }

    FusedGraph apply() {
        for (size_t i = 0; i < old_.size(); ++i) {
            const NodeId id{int32_t(i)};
            if (role(id).match) add_fused(*role(id).match);
            if (role(id).vanishes || renamed_[i]) continue;
            if (role(id).result_of)
                add_view(*role(id).result_of, id);
            else
                add_copy(id);
        }
        for (NodeId output : old_.outputs()) fused_.graph.add_output(renamed(output));
        return std::move(fused_);
    }

  private:
    struct Role {
        const Match* match = nullptr;      // whose fused node stands here
        const Match* result_of = nullptr;  // whose fused node holds this one's value
        bool vanishes = false;
    };

    Role& role(NodeId id) { return roles_[size_t(id)]; }

    // The new id of a node. A leaf may be wanted before its turn: the weights of a group, at the place of the first.
    NodeId renamed(NodeId id) {
        std::optional<NodeId>& to = renamed_[size_t(id)];
        if (!to) add_copy(id);
        return *to;
    }
    NodeId add(Node node, int32_t backend) {
        for (NodeId& input : node.inputs) input = renamed(input);
        fused_.assignment.push_back(backend);
        return graph::is_leaf(node.op) ? fused_.graph.add(std::move(node))
                                       : graph::add_checked(fused_.graph, std::move(node));
    }
    void add_copy(NodeId id) {
        const NodeId copy = add(old_[id], assignment_[size_t(id)]);
        renamed_[size_t(id)] = copy;
    }
    void add_fused(const Match& match) {
        const NodeId fused = add(match.fused, assignment_[size_t(match.place)]);
        if (match.results.size() == 1)
            renamed_[size_t(match.results[0].node)] = fused;
        else
            groups_[&match] = fused;
    }
    void add_view(const Match& match, NodeId id) {
        for (const Match::Result& result : match.results) {
            if (result.node != id) continue;
            fused_.assignment.push_back(assignment_[size_t(id)]);
            renamed_[size_t(id)] = graph::add_checked(fused_.graph, {Op::View,
                                                                     {groups_.at(&match)},
                                                                     old_[id].shape,
                                                                     {},
                                                                     graph::ViewAttributes{result.offset},
                                                                     old_[id].name});
        }
    }

    const Graph& old_;
    const Assignment& assignment_;
    std::vector<Role> roles_;
    std::vector<std::optional<NodeId>> renamed_;
    std::map<const Match*, NodeId> groups_;  // fused nodes with several results
    FusedGraph fused_;
};

bool& flag(FusionOptions& options, Fusion fusion) {
    switch (fusion) {
        case Fusion::SwiGlu:
            return options.swiglu;
        case Fusion::BiasRope:
            return options.bias_rope;
        case Fusion::Qkv:
            return options.qkv;
        case Fusion::GateUp:
            break;
    }
    return options.gate_up;
}

}  // namespace

bool FusionOptions::allows(Fusion fusion) const {
    FusionOptions copy = *this;
    return flag(copy, fusion);
}

FusionOptions FusionOptions::without(std::string_view list) {
    FusionOptions options;
    while (!list.empty()) {
        const size_t comma = list.find(',');
        const std::string_view name = list.substr(0, comma);
        list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
        bool known = name.empty();
        for (Fusion fusion : backend::kFusions) {
            if (name != "all" && name != fusion_name(fusion)) continue;
            flag(options, fusion) = false;
            known = true;
        }
        if (!known)
            throw UsageError(fmt::format(
                "MINFER_NO_FUSE: no fusion named '{}'; there are swiglu, bias_rope, qkv, gate_up, all", name));
    }
    return options;
}

FusionOptions FusionOptions::from_environment() {
    const char* list = std::getenv("MINFER_NO_FUSE");
    return without(list ? list : "");
}

FusedGraph fuse(const Graph& graph, const Assignment& assignment, std::span<backend::Backend* const> backends,
                const kv::Layout& layout, const FusionOptions& options) {
    FusedGraph current{graph, assignment};
    for (Fusion fusion : backend::kFusions) {
        if (!options.allows(fusion)) continue;
        const FusionSite site{current.graph, current.assignment, current.graph.use_counts()};
        const std::vector<Match> matches = accepted(fusion, find(fusion, site), site, backends, layout.type);
        if (!matches.empty()) current = Rewrite(current.graph, current.assignment, matches).apply();
    }
    return current;
}

}  // namespace minfer::runtime
