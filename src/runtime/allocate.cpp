#include "runtime/allocate.h"

#include <algorithm>
#include <optional>

#include "backend/backend.h"

namespace minfer::runtime {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

size_t aligned(size_t bytes) { return (bytes + backend::kAlignment - 1) / backend::kAlignment * backend::kAlignment; }

// Where a value lies: bytes [begin, begin + size) of a block.
struct Place {
    size_t block = 0;
    size_t begin = 0;
    size_t size = 0;

    bool overlaps(const Place& other) const {
        return block == other.block && begin < other.begin + other.size && other.begin < begin + size;
    }
    bool operator==(const Place&) const = default;
};

// Memory of one node and of all that look at it or write over it.
struct Block {
    int32_t backend = kNoBackend;
    size_t bytes = 0;
    size_t first = 0;  // the node that writes it first, and
    size_t last = 0;   // the last node that reads it
    size_t offset = 0;
    std::vector<size_t> members;  // nodes
};

class Planner {
  public:
    Planner(const Graph& graph, const Assignment& assignment)
        : graph_(graph), assignment_(assignment), places_(graph.size()), last_use_(graph.size()), views_(graph.size()) {
        for (size_t i = 0; i < graph.size(); ++i) {
            last_use_[i] = i;
            const Node& node = graph.nodes()[i];
            if (node.op == Op::View)
                views_[size_t(base(NodeId(i)))].push_back(i);
            else
                for (NodeId input : node.inputs) last_use_[size_t(input)] = i;
        }
        for (NodeId output : graph.outputs()) last_use_[size_t(output)] = graph.size();
    }

    Allocation plan(size_t n_backend) {
        Allocation allocation;
        for (size_t i = 0; i < graph_.size(); ++i) {
            const Node& node = graph_.nodes()[i];
            if (node.dtype != graph::DType::F32 || graph::is_leaf(node.op) || node.op == Op::View) continue;
            const size_t bytes = graph_.n_bytes(NodeId(i));
            allocation.value_bytes += bytes;
            if (const std::optional<Place> over = place_in_place(i, bytes)) {
                ++allocation.n_in_place;
                join(i, *over);
            } else {
                blocks_.push_back({assignment_[i], aligned(bytes), i, i, 0, {}});
                join(i, {blocks_.size() - 1, 0, bytes});
            }
        }
        allocation.arena_bytes = lay_out(n_backend);
        allocation.offsets.assign(graph_.size(), Allocation::kNowhere);
        for (size_t i = 0; i < graph_.size(); ++i)
            if (places_[i]) allocation.offsets[i] = blocks_[places_[i]->block].offset + places_[i]->begin;
        return allocation;
    }

  private:
    NodeId base(NodeId id) const {
        while (graph_[id].op == Op::View) id = graph_[id].inputs[0];
        return id;
    }

    // Node `i` and the Views of it, from `place` on.
    void join(size_t i, const Place& place) {
        add_member(i, place);
        for (size_t view : views_[i]) {
            const Node& node = graph_.nodes()[view];
            const Place& of = *places_[size_t(node.inputs[0])];
            const size_t offset = node.as<graph::ViewAttributes>().offset * sizeof(float);
            add_member(view, {of.block, of.begin + offset, graph_.n_bytes(NodeId(view))});
        }
    }
    void add_member(size_t i, const Place& place) {
        Block& block = blocks_[place.block];
        places_[i] = place;
        block.members.push_back(i);
        block.last = std::max(block.last, last_use_[i]);
    }

    // The place of an input that node `i` may write over: of the same size, and read by nobody afterwards.
    std::optional<Place> place_in_place(size_t i, size_t bytes) const {
        const Node& node = graph_.nodes()[i];
        const std::span<const size_t> candidates = graph::in_place_inputs(node.op);
        for (size_t c : candidates) {
            const std::optional<Place>& place = places_[size_t(node.inputs[c])];
            if (!place || place->size != bytes || blocks_[place->block].backend != assignment_[i]) continue;
            const bool read_later = std::ranges::any_of(blocks_[place->block].members, [&](size_t member) {
                return last_use_[member] > i && places_[member]->overlaps(*place);
            });
            // Another input may share the place only if the operator reads both, value by value, before it writes.
            bool torn = false;
            for (size_t other = 0; other < node.inputs.size(); ++other) {
                const std::optional<Place>& at = places_[size_t(node.inputs[other])];
                if (other == c || !at || !at->overlaps(*place)) continue;
                torn = torn || !(*at == *place && std::ranges::count(candidates, other) != 0);
            }
            if (!read_later && !torn) return place;
        }
        return std::nullopt;
    }

    // Gives each block, in order of birth, the tightest gap between the blocks alive with it. Returns bytes by backend.
    std::vector<size_t> lay_out(size_t n_backend) {
        std::vector<size_t> arena_bytes(n_backend, 0);
        std::vector<std::vector<const Block*>> alive(n_backend);  // in order of their offsets
        for (Block& block : blocks_) {
            std::vector<const Block*>& neighbours = alive[size_t(block.backend)];
            std::erase_if(neighbours, [&](const Block* other) { return other->last < block.first; });
            size_t gap_begin = 0, best_gap = size_t(-1);
            auto best = neighbours.end();
            for (auto it = neighbours.begin(); it != neighbours.end(); ++it) {
                const size_t gap = (*it)->offset - gap_begin;
                if (gap >= block.bytes && gap < best_gap) {
                    best = it;
                    best_gap = gap;
                    block.offset = gap_begin;
                }
                gap_begin = (*it)->offset + (*it)->bytes;
            }
            if (best == neighbours.end()) block.offset = gap_begin;
            neighbours.insert(best, &block);
            size_t& bytes = arena_bytes[size_t(block.backend)];
            bytes = std::max(bytes, block.offset + block.bytes);
        }
        return arena_bytes;
    }

    const Graph& graph_;
    const Assignment& assignment_;
    std::vector<std::optional<Place>> places_;  // by node; none for leaves and Effects
    std::vector<size_t> last_use_;              // by node: its last reader, itself if none; Views do not read
    std::vector<std::vector<size_t>> views_;    // by node that is no View: the Views of it, and of them, in order
    std::vector<Block> blocks_;
};

}  // namespace

Allocation allocate(const Graph& graph, const Assignment& assignment, size_t n_backend) {
    return Planner(graph, assignment).plan(n_backend);
}

}  // namespace minfer::runtime
