#include "sampling/grammar/machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace minfer::sampling::grammar {
namespace {

constexpr size_t kMostPlaces = 4096;     // at once: more is a grammar so ambiguous that each step costs too much
constexpr size_t kMostFrames = 1 << 18;  // of all stacks together, 8 bytes each, before some are forgotten
constexpr size_t kMostSteps = 1 << 22;   // entries of the table: 16 MiB

uint64_t mixed(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

}  // namespace

Machine::Machine(const Automaton& automaton) : automaton_(&automaton), n_class_(automaton.n_class()) { reset(); }

void Machine::reset() {
    frames_.assign(2, {kEnd, kEmptyStack});  // kEmptyStack and kUnknownStack
    frame_ids_.clear();
    places_.clear();
    configs_.assign(1, {0, 0, false, false});  // kDead
    config_ids_.clear();
    steps_.assign(n_class_, kDead);
}

StackId Machine::push(NodeId then, StackId below) {
    if (then == kEnd)
        return below;  // a call in last place: its end is its caller's, so recursion at the end has no depth
    const auto [at, is_new] = frame_ids_.try_emplace(uint64_t(then) << 32 | below, StackId(frames_.size()));
    if (is_new) frames_.push_back({then, below});
    return at->second;
}

// Everything that can be reached from a place without a byte. Recursion ends: a grammar without left recursion pushes
// no frame twice before a byte, and a place that was seen is not gone to again.
void Machine::close(Place place) {
    work_.push_back(place);
    while (!work_.empty()) {
        const Place p = work_.back();
        work_.pop_back();
        if (p.node == kEnd) {
            if (p.stack == kEmptyStack)
                can_end_ = true;
            else if (p.stack == kUnknownStack)
                leaves_ = true;
            else
                work_.push_back({frames_[p.stack].then, frames_[p.stack].below});
            continue;
        }
        if (std::ranges::find(seen_, p) != seen_.end()) continue;
        seen_.push_back(p);
        if (seen_.size() > kMostPlaces)
            throw UnsupportedError(
                fmt::format("grammar: too ambiguous, with more than {} ways to go on at once", kMostPlaces));
        const Node& node = automaton_->node(p.node);
        if (!node.bytes.empty() || !node.tokens.empty()) gathered_.push_back(p);
        for (const NodeId to : node.jumps) work_.push_back({to, p.stack});
        for (const CallEdge& call : node.calls) work_.push_back({call.entry, push(call.then, p.stack)});
    }
}

ConfigId Machine::take() {
    std::ranges::sort(gathered_);
    uint64_t hash = uint64_t(can_end_) << 1 | uint64_t(leaves_);
    for (const Place& p : gathered_) hash = mixed(hash, uint64_t(p.node) << 32 | p.stack);
    ConfigId id = kDead;
    const auto [first, last] = config_ids_.equal_range(hash);
    const auto same = std::find_if(first, last, [&](const auto& entry) {
        const Config& c = configs_[entry.second];
        return c.can_end == can_end_ && c.leaves == leaves_ && std::ranges::equal(places(entry.second), gathered_);
    });
    if (same != last) {
        id = same->second;
    } else if (!gathered_.empty() || can_end_ || leaves_) {
        id = ConfigId(configs_.size());
        configs_.push_back({places_.size(), uint32_t(gathered_.size()), can_end_, leaves_});
        places_.insert(places_.end(), gathered_.begin(), gathered_.end());
        steps_.resize(steps_.size() + n_class_, kNotYet);
        config_ids_.emplace(hash, id);
    }
    seen_.clear();
    gathered_.clear();
    can_end_ = leaves_ = false;
    return id;
}

ConfigId Machine::at(Place place) {
    close(place);
    return take();
}

ConfigId Machine::after_rule(StackId stack) { return at({frames_[stack].then, frames_[stack].below}); }

ConfigId Machine::make_step(ConfigId from, size_t slot) {
    const uint8_t byte = automaton_->byte_of(slot - size_t(from) * n_class_);
    const Config config = configs_[from];
    for (size_t i = 0; i < config.count; ++i) {
        const Place p = places_[config.first + i];
        for (const ByteEdge& e : automaton_->node(p.node).bytes)
            if (e.first <= byte && byte <= e.last) close({e.to, p.stack});
    }
    const ConfigId to = take();
    steps_[slot] = to;
    return to;
}

ConfigId Machine::step_token(ConfigId from, int32_t token, bool is_text) {
    const Config config = configs_[from];
    for (size_t i = 0; i < config.count; ++i) {
        const Place p = places_[config.first + i];
        for (const TokenEdge& e : automaton_->node(p.node).tokens)
            if (e.negated ? is_text && e.token != token : e.token == token) close({e.to, p.stack});
    }
    return take();
}

ConfigId Machine::both(ConfigId a, ConfigId b) {
    if (a == kDead || a == b) return b;
    if (b == kDead) return a;
    const auto add = [&](ConfigId config) {
        for (const Place& p : places(config))
            if (std::ranges::find(gathered_, p) == gathered_.end()) gathered_.push_back(p);
        can_end_ |= can_end(config);
        leaves_ |= leaves(config);
    };
    add(a);
    add(b);
    return take();
}

// What one text needs at a time, a deep stack, may alone be more than that; then twice as much is the limit.
bool Machine::full() const {
    return frames_.size() >= std::max(kMostFrames, 2 * frames_kept_) || steps_.size() >= kMostSteps;
}

ConfigId Machine::trim(ConfigId keep) {
    const std::vector<Frame> old_frames = std::move(frames_);
    const std::vector<Place> kept(places(keep).begin(), places(keep).end());
    const bool could_end = can_end(keep), could_leave = leaves(keep);
    reset();
    for (const Place& p : kept) {
        std::vector<NodeId> nodes;  // the stack from its top
        StackId stack = p.stack;
        for (; stack > kUnknownStack; stack = old_frames[stack].below) nodes.push_back(old_frames[stack].then);
        for (; !nodes.empty(); nodes.pop_back()) stack = push(nodes.back(), stack);
        gathered_.push_back({p.node, stack});
    }
    frames_kept_ = frames_.size();
    can_end_ = could_end;
    leaves_ = could_leave;
    return take();
}

}  // namespace minfer::sampling::grammar
