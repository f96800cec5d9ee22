#include "sampling/grammar/automaton.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "sampling/grammar/utf8.h"

namespace minfer::sampling::grammar {
namespace {

using Kind = Expression::Kind;

constexpr size_t kMostNodes = 1 << 18;

// A rule whose text is this short is written out where it is called. Else it would end within most tokens, and the mask
// of a token that runs on past a rule's end depends on who called it: `char` of a string is best a part of the string.
constexpr uint64_t kShortRule = 16;    // bytes of text
constexpr uint64_t kSmallRule = 128;   // expressions, bytes of literals counted
constexpr int kDeepestShortRule = 32;  // calls within each other

struct Extent {
    uint64_t longest = 0;  // bytes of text; saturates far below overflow, as do the others
    uint64_t size = 0;
    uint64_t shortest = 0;  // bytes of text, or less
};
constexpr uint64_t kInfinite = uint64_t(1) << 32;
constexpr uint64_t kMostBytesOfTwin = 1 << 20;  // longer than any token

}  // namespace

class AutomatonBuilder {
  public:
    AutomatonBuilder(const Grammar& grammar, Automaton& out)
        : grammar_(grammar), out_(out), entry_(grammar.rules.size()), extent_(grammar.rules.size()) {
        out_.nodes_.emplace_back();  // kEnd
        out_.twins_.push_back({0, 0});
    }

    void build() {
        out_.start_ = entry(grammar_.root);
        while (!to_build_.empty()) {
            const RuleId rule = to_build_.back();
            to_build_.pop_back();
            const NodeId body = compile(grammar_.rules[rule].body, kEnd);  // moves the nodes, so it goes first
            out_.nodes_[*entry_[rule]].jumps.push_back(body);
        }
    }

  private:
    // A node of its own, filled in later: loops and recursion come back to it.
    NodeId reserve() {
        if (out_.nodes_.size() == kMostNodes)
            throw UnsupportedError(fmt::format(
                "grammar: too large, more than {} states; fewer or shorter repetitions {{m,n}} take less", kMostNodes));
        const auto id = NodeId(out_.nodes_.size());
        out_.nodes_.emplace_back();
        out_.twins_.push_back({id, 0});
        return id;
    }

    NodeId entry(RuleId rule) {
        if (!entry_[rule]) {
            entry_[rule] = reserve();
            to_build_.push_back(rule);
        }
        return *entry_[rule];
    }

    NodeId shared(Node node) {
        std::string key;
        const auto put = [&](const auto& edges) {
            const uint32_t n = uint32_t(edges.size());
            key.append(reinterpret_cast<const char*>(&n), sizeof n);
            for (const auto& edge : edges) append(key, edge);
        };
        put(node.bytes);
        put(node.jumps);
        put(node.calls);
        put(node.tokens);
        const auto [at, is_new] = by_content_.try_emplace(std::move(key), 0);
        if (is_new) {
            at->second = reserve();
            out_.nodes_[at->second] = std::move(node);
        }
        return at->second;
    }
    static void append(std::string& key, uint32_t value) {
        key.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    static void append(std::string& key, const ByteEdge& e) {
        key += char(e.first);
        key += char(e.last);
        append(key, e.to);
    }
    static void append(std::string& key, const CallEdge& e) {
        append(key, e.entry);
        append(key, e.then);
    }
    static void append(std::string& key, const TokenEdge& e) {
        append(key, uint32_t(e.token));
        append(key, uint32_t(e.negated));
        append(key, e.to);
    }

    // The node from which the expression leads to `next`.
    NodeId compile(ExpressionId id, NodeId next) {
        const uint64_t key = uint64_t(id) << 32 | next;
        if (const auto known = compiled_.find(key); known != compiled_.end()) return known->second;
        const NodeId made = make(grammar_.expressions[id], next);
        compiled_.emplace(key, made);
        return made;
    }

    NodeId make(const Expression& e, NodeId next) {
        switch (e.kind) {
            case Kind::Literal:
                for (size_t i = e.bytes.size(); i-- > 0;)
                    next = shared({.bytes = {{uint8_t(e.bytes[i]), uint8_t(e.bytes[i]), next}}});
                return next;
            case Kind::Class:
                return char_class(utf8_ranges(e.ranges), 0, next);
            case Kind::Sequence:
                for (size_t i = e.parts.size(); i-- > 0;) next = compile(e.parts[i], next);
                return next;
            case Kind::Choice: {
                Node node;
                for (const ExpressionId part : e.parts) {
                    const NodeId to = compile(part, next);
                    if (std::ranges::find(node.jumps, to) == node.jumps.end()) node.jumps.push_back(to);
                }
                return node.jumps.size() == 1 ? node.jumps[0] : shared(std::move(node));
            }
            case Kind::Repeat:
                return repeat(e, next);
            case Kind::Rule:
                if (is_short(e.rule)) return compile(grammar_.rules[e.rule].body, next);
                return shared({.calls = {{entry(e.rule), next}}});
            case Kind::Token:
                return shared({.tokens = {{e.token, e.negated, next}}});
        }
        return next;
    }

    NodeId repeat(const Expression& e, NodeId next) {
        const ExpressionId part = e.parts[0];
        const auto shortest = uint32_t(std::min(extent_of(part, 0).shortest, kMostBytesOfTwin));
        NodeId node = next;
        if (e.max == kUnbounded) {
            node = loop(part, next);
        } else {
            const bool counts = e.max - e.min > 1 && shortest > 0;
            const NodeId endless = counts ? loop(part, next) : kEnd;
            for (uint32_t i = 0; i < e.max - e.min; ++i) {
                const NodeId once = compile(part, node);
                if (counts) pair(once, compile(part, endless), node, endless, bytes_of(i, shortest));
                node = shared({.jumps = {once, next}});
            }
        }
        const bool counts = e.min > 1 && shortest > 0;
        const NodeId endless = counts ? loop(part, std::nullopt) : kEnd;
        for (uint32_t i = 0; i < e.min; ++i) {
            const NodeId once = compile(part, node);
            if (counts) pair(once, compile(part, endless), node, endless, bytes_of(i, shortest));
            node = once;
        }
        return node;
    }

    static uint32_t bytes_of(uint32_t times, uint32_t bytes) {
        return uint32_t(std::min(uint64_t(times) * bytes, kMostBytesOfTwin));
    }

    // Any number of times, then `next`; without one, for ever.
    NodeId loop(ExpressionId part, std::optional<NodeId> next) {
        const uint64_t key = uint64_t(part) << 32 | next.value_or(~NodeId(0));
        if (const auto known = loops_.find(key); known != loops_.end()) return known->second;
        const NodeId node = reserve();
        loops_.emplace(key, node);
        std::vector<NodeId> jumps = {compile(part, node)};
        if (next) jumps.push_back(*next);
        out_.nodes_[node].jumps = std::move(jumps);
        return node;
    }

    // One expression compiled twice, to lead to two nodes: up to these, each node of the one has its twin in the other.
    void pair(NodeId a, NodeId b, NodeId a_end, NodeId b_end, uint32_t bytes) {
        if (a == b || a == a_end || b == b_end || bytes <= out_.twins_[a].bytes) return;
        const Node& x = out_.nodes_[a];
        const Node& y = out_.nodes_[b];
        if (x.bytes.size() != y.bytes.size() || x.jumps.size() != y.jumps.size() || x.calls.size() != y.calls.size())
            return;
        out_.twins_[a] = {b, bytes};
        for (size_t i = 0; i < x.bytes.size(); ++i) pair(x.bytes[i].to, y.bytes[i].to, a_end, b_end, bytes);
        for (size_t i = 0; i < x.jumps.size(); ++i) pair(x.jumps[i], y.jumps[i], a_end, b_end, bytes);
        for (size_t i = 0; i < x.calls.size(); ++i) pair(x.calls[i].then, y.calls[i].then, a_end, b_end, bytes);
    }

    // A tree over the sequences' bytes from `at` on: those that share a range share the edge.
    NodeId char_class(const std::vector<ByteSequence>& sequences, size_t at, NodeId next) {
        Node node;
        for (size_t i = 0; i < sequences.size();) {
            const ByteRange range = sequences[i].bytes[at];
            std::vector<ByteSequence> rest;
            for (; i < sequences.size() && sequences[i].bytes[at] == range; ++i)
                if (sequences[i].length > at + 1) rest.push_back(sequences[i]);
            node.bytes.push_back({range.first, range.last, rest.empty() ? next : char_class(rest, at + 1, next)});
        }
        return shared(std::move(node));
    }

    bool is_short(RuleId rule) {
        const Extent e = extent(rule, 0);
        return e.longest <= kShortRule && e.size <= kSmallRule;
    }

    Extent extent(RuleId rule, int depth) {
        if (extent_[rule]) return *extent_[rule];
        if (depth > kDeepestShortRule) return {kInfinite, kInfinite, 0};
        extent_[rule] = {kInfinite, kInfinite, 0};  // what a rule that comes back to itself finds
        return *(extent_[rule] = extent_of(grammar_.rules[rule].body, depth));
    }

    Extent extent_of(ExpressionId id, int depth) {
        const Expression& e = grammar_.expressions[id];
        Extent out{0, 1, 0};
        switch (e.kind) {
            case Kind::Literal:
                out = {e.bytes.size(), e.bytes.size() + 1, e.bytes.size()};
                break;
            case Kind::Class:
                out.longest = 4;
                out.shortest = 1;
                break;
            case Kind::Token:
                out.longest = kInfinite;  // it is at home in the rule that its author put it in
                break;
            case Kind::Rule:
                out = extent(e.rule, depth + 1);
                break;
            case Kind::Sequence:
                for (const ExpressionId part : e.parts) {
                    const Extent x = extent_of(part, depth);
                    out = {out.longest + x.longest, out.size + x.size, out.shortest + x.shortest};
                }
                break;
            case Kind::Choice:
                out.shortest = kInfinite;
                for (const ExpressionId part : e.parts) {
                    const Extent x = extent_of(part, depth);
                    out = {std::max(out.longest, x.longest), out.size + x.size, std::min(out.shortest, x.shortest)};
                }
                break;
            case Kind::Repeat: {
                const Extent x = extent_of(e.parts[0], depth);
                out = {x.longest * e.max, x.size * std::max(e.min, e.max == kUnbounded ? 1 : e.max),
                       x.shortest * e.min};
                break;
            }
        }
        return {std::min(out.longest, kInfinite), std::min(out.size, kInfinite), std::min(out.shortest, kInfinite)};
    }

    const Grammar& grammar_;
    Automaton& out_;
    std::vector<std::optional<NodeId>> entry_;
    std::vector<std::optional<Extent>> extent_;
    std::vector<RuleId> to_build_;
    std::unordered_map<std::string, NodeId> by_content_;
    std::unordered_map<uint64_t, NodeId> compiled_, loops_;
};

Automaton::Automaton(const Grammar& grammar) {
    AutomatonBuilder(grammar, *this).build();
    classify_bytes();
}

void Automaton::classify_bytes() {
    // Edges cut the bytes into intervals; two intervals are of one class where no edge tells them apart.
    std::bitset<257> cut;
    for (const Node& node : nodes_)
        for (const ByteEdge& e : node.bytes) {
            cut[e.first] = true;
            cut[size_t(e.last) + 1] = true;
        }
    n_class_ = 0;
    for (size_t byte = 0; byte < 256; ++byte) {
        if (byte > 0 && cut[byte]) ++n_class_;
        class_of_[byte] = uint8_t(n_class_);
        byte_of_[n_class_] = uint8_t(byte);
    }
    ++n_class_;
}

}  // namespace minfer::sampling::grammar
