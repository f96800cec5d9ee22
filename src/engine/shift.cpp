// Moving cells, and turning keys back to earlier positions.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/cpu/backend.h"
#include "base/canonical_math.h"
#include "base/error.h"
#include "engine/engine.h"

namespace minfer::engine {

namespace {

using graph::Node;
using graph::Op;

// How the model turns its keys, as its graph says it.
struct KeyRotation {
    cpu::RopeTable table;
    graph::RopeAttributes heads;
};

KeyRotation key_rotation(const graph::Graph& graph, const graph::WeightTable& weights) {
    const Node *rope = nullptr, *table = nullptr;
    for (const Node& node : graph.nodes()) {
        if (node.op == Op::Rope || node.op == Op::BiasRope) rope = &node;
        if (node.op == Op::RopeTable) table = &node;
    }
    if (!rope || !table) throw UnsupportedError("shift: the model does not turn its keys by their positions");
    std::vector<float> factors;
    if (table->inputs.size() > 1) {
        const graph::Weight& weight = weights[graph[table->inputs[1]].as<graph::WeightAttributes>().id];
        factors.resize(weight.shape.dim);
        std::memcpy(factors.data(), weight.data.data(), weight.data.size());
    }
    return {cpu::RopeTable(cpu::rope_params(table->as<graph::RopeParams>(), factors)),
            rope->as<graph::RopeAttributes>()};
}

// Turns a key by -n positions. YaRN's magnitude is in the key already, and stays.
void turn_back(std::span<float> key, const KeyRotation& rotation, int32_t n) {
    const std::span<const double> frequencies = rotation.table.frequencies();
    const size_t half = frequencies.size();
    for (size_t head = 0; head < key.size(); head += rotation.heads.head_dim)
        for (size_t j = 0; j < half; ++j) {
            const bool halves = rotation.heads.layout == graph::RopeLayout::Half;
            float& a = key[head + (halves ? j : 2 * j)];
            float& b = key[head + (halves ? j + half : 2 * j + 1)];
            const double cos = canonical_cos(n * frequencies[j]), sin = canonical_sin(n * frequencies[j]);
            const double turned_a = double(a) * cos + double(b) * sin, turned_b = double(b) * cos - double(a) * sin;
            a = float(turned_a);
            b = float(turned_b);
        }
}

}  // namespace

void Engine::compact() {
    const std::vector<kv::CellMove> moves = sequences_->compact();
    scheduler_->copy_cells(moves);
}

void Engine::shift(SequenceId sequence, int32_t first, int32_t n) {
    using KvPart = runtime::Scheduler::KvPart;
    const kv::Layout& layout = scheduler_->layout();
    if (layout.type != kv::CellType::F32)
        throw UnsupportedError(
            fmt::format("shift: {} cells keep no key that could be turned without rounding it again; "
                        "truncate the sequence and run what is kept",
                        kv::type_name(layout.type)));
    const int32_t length = sequences_->length(sequence);
    if (first < 0 || n < 0 || n > length - first)
        throw ShapeError(fmt::format("shift: found {} positions from {} of sequence {}, which holds {}", n, first,
                                     sequence, length));
    const KeyRotation rotation = key_rotation(model_->build_graph(decode_params()), model_->weights());
    scheduler_->copy_cells(sequences_->make_own(sequence, first + n, length));
    sequences_->erase(sequence, first, first + n);
    const std::span<const int32_t> cells = sequences_->cells(sequence).subspan(size_t(first));
    std::vector<float> keys(layout.n_head_kv * layout.head_dim_k);
    for (size_t layer = 0; layer < layout.n_layer; ++layer)
        for (const int32_t cell : cells) {
            const auto bytes = std::as_writable_bytes(std::span(keys));
            scheduler_->read_cells(layer, KvPart::Keys, std::span(&cell, 1), bytes);
            turn_back(keys, rotation, n);
            scheduler_->write_cells(layer, KvPart::Keys, std::span(&cell, 1), bytes);
        }
}

}  // namespace minfer::engine
