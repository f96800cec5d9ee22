// What a backend must do. The runtime asks it which nodes it can run, hands it runs of nodes with the memory that was
// planned for them, and later has those runs executed with the data of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "graph/graph.h"
#include "graph/inputs.h"
#include "graph/weight_table.h"
#include "kv/layout.h"

namespace minfer::backend {

// A block of a backend's memory. Values lie at multiples of kAlignment, Views of them anywhere.
constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

class Buffer {
  public:
    virtual ~Buffer() = default;
    virtual size_t size() const = 0;
    // The bytes, where the host can see them (the CPU's own); else null. Alignment: kAlignment.
    virtual std::byte* host() = 0;
    // Copies between the host and [offset, offset + bytes), which lies inside. Returns when the copy is done.
    virtual void read(size_t offset, std::span<std::byte> out) = 0;
    virtual void write(size_t offset, std::span<const std::byte> bytes) = 0;
};

// What a buffer is for. A graph uses all of the arena that it was given; of a cache's cells only a few may ever be
// used, and those of each layer lie apart, so the memory of the others should stay the system's.
enum class Purpose : uint8_t { Arena, Cells };

// A chain of nodes that fuse can replace by one node, as runtime/fuse.h describes it.
enum class Fusion : uint8_t { SwiGlu, BiasRope, Qkv, GateUp };
constexpr Fusion kFusions[] = {Fusion::SwiGlu, Fusion::BiasRope, Fusion::Qkv, Fusion::GateUp};
std::string_view fusion_name(Fusion fusion);  // "swiglu", "bias_rope", "qkv", "gate_up"

// The two regions of a layer: cell c's key lies at k_offset + c * layout.k_row_bytes(), its value likewise.
struct KvRegion {
    Buffer* buffer = nullptr;  // null where another backend holds the layer
    size_t k_offset = 0;
    size_t v_offset = 0;
};

// The memory of one execution. The arena may move between executions, when a larger graph came in the meantime.
struct Memory {
    Buffer& arena;
    const kv::Layout& layout;
    std::span<const KvRegion> layers;  // [layout.n_layer]
};

// A run of nodes made ready: kernels chosen, memory resolved to offsets.
class Program {
  public:
    virtual ~Program() = default;
    // Executes the nodes in order and returns when their outputs are there. `inputs` has passed graph::check. Working
    // memory is the backend's own and grows to the largest execution, so that a decode step after the first allocates
    // nothing. Throws Error where a kernel fails; there is no falling back to another backend.
    virtual void execute(const Memory& memory, const graph::Inputs& inputs) = 0;
};

// One object serves one model: the ids of its weights are those of one WeightTable.
class Backend {
  public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;  // "cpu"

    // Whether it can run this node: operator, types, shapes and attributes all considered, with KV cells of that type.
    // The answer is binding. Leaves, Views and Copies are never asked about.
    virtual bool supports_op(const graph::Graph& graph, graph::NodeId id, kv::CellType cells) const = 0;
    // Whether it has an operator with the same bits for the chain. supports_op is asked about the fused node as well.
    virtual bool supports_fused(Fusion fusion) const = 0;

    // Of any content. Throws std::bad_alloc.
    virtual std::unique_ptr<Buffer> allocate(size_t bytes, Purpose purpose) = 0;

    // Takes note of weights that later programs use. Each is registered once; `table` and the bytes that it borrows
    // outlive this object. A backend with its own memory or layout of weights copies them here.
    virtual void register_weights(const graph::WeightTable& table, std::span<const graph::WeightId> ids) = 0;

    // Makes `nodes` ready: consecutive nodes of the graph, all of which supports_op accepted, none a leaf, View or
    // Copy. offsets[i] is where the value of node i of the graph lies in the arena, Views included; only those of this
    // backend's nodes and of their inputs mean anything. All arguments are borrowed for the call alone.
    virtual std::unique_ptr<Program> prepare(const graph::Graph& graph, std::span<const graph::NodeId> nodes,
                                             std::span<const size_t> offsets, const kv::Layout& layout) = 0;
};

}  // namespace minfer::backend
