// An automaton at work. A configuration is the set of places where it may be after some bytes, each with the stack of
// nodes to come back to. Configurations, and the steps between them, are made when first needed and then kept: a step
// that was taken before is one load from a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sampling/grammar/automaton.h"

namespace minfer::sampling::grammar {

using StackId = uint32_t;
using ConfigId = uint32_t;

constexpr StackId kEmptyStack = 0;    // below it, the text is at its end
constexpr StackId kUnknownStack = 1;  // of a rule whose caller is not known
constexpr ConfigId kDead = 0;         // no place is left: such bytes are not allowed

struct Place {
    NodeId node;  // one with edges of bytes or tokens
    StackId stack;
    bool operator==(const Place&) const = default;
    auto operator<=>(const Place&) const = default;
};

class Machine {
  public:
    // Borrows the automaton.
    explicit Machine(const Automaton& automaton);

    ConfigId start() { return at({automaton_->start(), kEmptyStack}); }
    // Where the automaton is at a node. Throws UnsupportedError where there are too many places at once.
    ConfigId at(Place place);
    // Where it is when the rule whose caller is on top of the stack has ended; not for kEmptyStack or kUnknownStack.
    ConfigId after_rule(StackId stack);

    ConfigId step(ConfigId from, uint8_t byte) {
        const size_t slot = size_t(from) * n_class_ + automaton_->class_of(byte);
        const ConfigId to = steps_[slot];
        return to != kNotYet ? to : make_step(from, slot);
    }
    // As a token that the grammar names: by the edges of tokens, not of bytes. `is_text` of any token but one that ends
    // the text or steers the model: what a negated edge lets through.
    ConfigId step_token(ConfigId from, int32_t token, bool is_text);
    ConfigId both(ConfigId a, ConfigId b);

    std::span<const Place> places(ConfigId config) const {
        return std::span(places_).subspan(configs_[config].first, configs_[config].count);
    }
    bool can_end(ConfigId config) const { return configs_[config].can_end; }
    // Whether the rule at the bottom, of kUnknownStack, may have ended.
    bool leaves(ConfigId config) const { return configs_[config].leaves; }

    // Whether it has grown so large that it should be trimmed before the next token.
    bool full() const;
    // Forgets all but this configuration; gives its new id. Every other id of a configuration or stack is void.
    ConfigId trim(ConfigId keep);

  private:
    static constexpr ConfigId kNotYet = ~ConfigId(0);
    struct Config {
        size_t first;  // in places_
        uint32_t count;
        bool can_end, leaves;
    };
    struct Frame {
        NodeId then;
        StackId below;
    };

    void reset();
    StackId push(NodeId then, StackId below);
    void close(Place place);
    ConfigId take();  // what close() has gathered
    ConfigId make_step(ConfigId from, size_t slot);

    const Automaton* automaton_;
    size_t n_class_;
    std::vector<Frame> frames_;
    size_t frames_kept_ = 0;  // by the last trim
    std::unordered_map<uint64_t, StackId> frame_ids_;
    std::vector<Place> places_;
    std::vector<Config> configs_;
    std::unordered_multimap<uint64_t, ConfigId> config_ids_;  // by hash
    std::vector<ConfigId> steps_;                             // [n_config][n_class]
    // Of the configuration being gathered.
    std::vector<Place> seen_, gathered_, work_;
    bool can_end_ = false, leaves_ = false;
};

}  // namespace minfer::sampling::grammar
