#include "runtime/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/byte_size.h"
#include "base/error.h"

namespace minfer::runtime {

using graph::GraphParams;
using graph::NodeId;

Scheduler::Scheduler(std::vector<backend::Backend*> backends, const graph::WeightTable& weights,
                     const kv::Layout& layout, BuildGraph build, Options options)
    : backends_(std::move(backends)),
      weights_(weights),
      layout_(layout),
      build_(std::move(build)),
      options_(options),
      arenas_(backends_.size()),
      regions_(backends_.size(), std::vector<backend::KvRegion>(layout.n_layer)),
      registered_(backends_.size()) {}

Scheduler::Scheduler(std::vector<backend::Backend*> backends, const graph::WeightTable& weights,
                     const kv::Layout& layout, BuildGraph build)
    : Scheduler(std::move(backends), weights, layout, std::move(build), Options()) {}

Scheduler::~Scheduler() = default;

Plan& Scheduler::find_or_make(const GraphParams& params) {
    const auto found = std::ranges::find(plans_, params, &Entry::params);
    if (found != plans_.end()) {
        plans_.splice(plans_.begin(), plans_, found);
        return plans_.front().plan;
    }
    Plan plan = make_plan(build_(params), backends_, layout_, options_.fusion);
    for (size_t b = 0; b < backends_.size(); ++b) {
        std::vector<bool>& registered = registered_[b];
        registered.resize(weights_.size());
        std::vector<graph::WeightId> fresh;
        for (graph::WeightId id : plan.weights[b])
            if (!registered[size_t(id)]) fresh.push_back(id);
        if (!fresh.empty()) backends_[b]->register_weights(weights_, fresh);
        for (graph::WeightId id : fresh) registered[size_t(id)] = true;
    }
    place_layers(plan);
    prepare_programs(plan, backends_, layout_);
    ++statistics_.n_build;
    while (plans_.size() >= std::max<size_t>(options_.max_plans, 1)) {
        if (last_ == &plans_.back().plan) last_ = nullptr;
        plans_.pop_back();
    }
    plans_.push_front({params, std::move(plan)});
    return plans_.front().plan;
}

// Cells stay where the first graph that stored to a layer put them.
void Scheduler::place_layers(const Plan& plan) {
    const size_t k_bytes = layout_.n_cells * layout_.k_row_bytes(), v_bytes = layout_.n_cells * layout_.v_row_bytes();
    const auto aligned = [](size_t n) {
        return (n + backend::kAlignment - 1) / backend::kAlignment * backend::kAlignment;
    };
    for (size_t layer = 0; layer < plan.layer_backend.size(); ++layer)
        for (size_t b = 0; b < backends_.size(); ++b)
            if (plan.layer_backend[layer] != kNoBackend && plan.layer_backend[layer] != int32_t(b) &&
                regions_[b][layer].buffer)
                throw UnsupportedError(fmt::format("layer {}: its KV cells are on {}, a new graph wants them on {}",
                                                   layer, backends_[b]->name(),
                                                   backends_[size_t(plan.layer_backend[layer])]->name()));
    for (size_t b = 0; b < backends_.size(); ++b) {
        std::vector<backend::KvRegion> fresh;
        std::vector<size_t> layers;
        size_t bytes = 0;
        for (size_t layer = 0; layer < plan.layer_backend.size(); ++layer) {
            if (plan.layer_backend[layer] != int32_t(b) || regions_[b][layer].buffer) continue;
            layers.push_back(layer);
            fresh.push_back({nullptr, bytes, bytes + aligned(k_bytes)});
            bytes += aligned(k_bytes) + aligned(v_bytes);
        }
        if (layers.empty()) continue;
        try {
            kv_buffers_.push_back(backends_[b]->allocate(bytes, backend::Purpose::Cells));
        } catch (const std::bad_alloc&) {
            throw Error(fmt::format("out of memory: the KV cache of {} tokens needs {}; a smaller --n-ctx takes less",
                                    layout_.n_cells, format_byte_size(bytes)));
        }
        statistics_.kv_bytes += bytes;
        for (size_t i = 0; i < layers.size(); ++i) {
            fresh[i].buffer = kv_buffers_.back().get();
            regions_[b][layers[i]] = fresh[i];
        }
    }
}

// Arenas and host copies of outputs large enough for the plan.
void Scheduler::reserve(const Plan& plan) {
    for (size_t b = 0; b < backends_.size(); ++b) {
        const size_t bytes = plan.allocation.arena_bytes[b];
        if (bytes == 0 || (arenas_[b] && arenas_[b]->size() >= bytes)) continue;
        statistics_.arena_bytes -= arenas_[b] ? arenas_[b]->size() : 0;
        arenas_[b].reset();  // first, so that both are never there together
        arenas_[b] = backends_[b]->allocate(bytes, backend::Purpose::Arena);
        statistics_.arena_bytes += bytes;
        ++statistics_.n_arena_growth;
    }
    if (outputs_.size() < plan.graph.outputs().size()) outputs_.resize(plan.graph.outputs().size());
}

void Scheduler::copy(const Plan& plan, const Run& run) {
    const NodeId to = run.nodes[0], from = plan.graph[to].inputs[0];
    backend::Buffer& source = *arenas_[size_t(plan.assignment[size_t(from)])];
    backend::Buffer& target = *arenas_[size_t(run.backend)];
    const size_t bytes = plan.graph.n_bytes(to);
    const size_t source_offset = plan.allocation.offsets[size_t(from)];
    const size_t target_offset = plan.allocation.offsets[size_t(to)];
    if (source.host()) {
        target.write(target_offset, {source.host() + source_offset, bytes});
    } else if (target.host()) {
        source.read(source_offset, {target.host() + target_offset, bytes});
    } else {
        if (staging_.size() < bytes) staging_.resize(bytes);
        source.read(source_offset, {staging_.data(), bytes});
        target.write(target_offset, {staging_.data(), bytes});
    }
    ++statistics_.n_copy;
}

void Scheduler::run(const GraphParams& params, const graph::Inputs& inputs) {
    const Plan& plan = find_or_make(params);
    graph::check(inputs, params, plan.limits);
    last_ = nullptr;  // until all is done: a run that failed has no outputs
    reserve(plan);
    for (const Run& run : plan.runs) {
        if (!run.program) {
            copy(plan, run);
            continue;
        }
        const size_t b = size_t(run.backend);
        run.program->execute({*arenas_[b], layout_, regions_[b]}, inputs);
    }
    for (size_t i = 0; i < plan.graph.outputs().size(); ++i) {
        const NodeId id = plan.graph.outputs()[i];
        backend::Buffer& arena = *arenas_[size_t(plan.assignment[size_t(id)])];
        if (arena.host()) continue;
        outputs_[i].resize(plan.graph[id].shape.n_values());
        arena.read(plan.allocation.offsets[size_t(id)], std::as_writable_bytes(std::span(outputs_[i])));
    }
    last_ = &plan;
    ++statistics_.n_run;
}

std::span<const float> Scheduler::output(size_t i) const {
    if (!last_) throw Error("scheduler: no outputs before a run has succeeded");
    if (i >= last_->graph.outputs().size())
        throw ShapeError(fmt::format("scheduler: output {} of a graph of {}", i, last_->graph.outputs().size()));
    const NodeId id = last_->graph.outputs()[i];
    backend::Buffer& arena = *arenas_[size_t(last_->assignment[size_t(id)])];
    if (!arena.host()) return outputs_[i];
    const std::byte* values = arena.host() + last_->allocation.offsets[size_t(id)];
    return {reinterpret_cast<const float*>(values), last_->graph[id].shape.n_values()};
}

const Plan& Scheduler::plan(const GraphParams& params) { return find_or_make(params); }

std::string Scheduler::to_dot(const GraphParams& params) { return runtime::to_dot(plan(params), backends_); }

}  // namespace minfer::runtime
