#include "backend/cpu/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/rows_in_parallel.h"
#include "base/error.h"

namespace minfer::cpu {

namespace {

// Multiply-adds below which one thread is done before the others would have woken.
constexpr size_t kAloneProducts = 64 * 1024;

// Checks all that attention() promises to check, and returns the most keys any token sees.
size_t check(const AttentionShape& shape, std::span<const float> q, const KvCells& kv,
             std::span<const VisibleCells> visible, std::span<float> out) {
    if (shape.n_head_kv == 0 || shape.head_dim == 0 || shape.n_head % shape.n_head_kv != 0 || shape.n_head == 0)
        throw ShapeError(fmt::format("attention: {} heads, {} key heads, {} values a head", shape.n_head,
                                     shape.n_head_kv, shape.head_dim));
    const size_t expected = visible.size() * shape.n_head * shape.head_dim;
    if (q.size() != expected || out.size() != expected)
        throw ShapeError(fmt::format("attention: q of {} and out of {} values, expected {} tokens of {} heads of {}",
                                     q.size(), out.size(), visible.size(), shape.n_head, shape.head_dim));
    size_t most = 0;
    const int32_t* list = nullptr;
    size_t checked = 0;  // cells of `list`: the tokens of a chunk share one, and each sees a little more of it
    for (size_t t = 0; t < visible.size(); ++t) {
        const VisibleCells& v = visible[t];
        if (v.n_visible == 0 || v.n_visible > v.cells.size())
            throw ShapeError(
                fmt::format("attention: token {} sees {} cells of a list of {}", t, v.n_visible, v.cells.size()));
        if (v.cells.data() != list) {
            list = v.cells.data();
            checked = 0;
        }
        for (; checked < v.n_visible; ++checked)
            if (v.cells[checked] < 0 || size_t(v.cells[checked]) >= kv.n_cell)
                throw ShapeError(fmt::format("attention: token {} sees cell {}, expected 0 to {}", t, v.cells[checked],
                                             kv.n_cell - 1));
        most = std::max(most, v.n_visible);
    }
    return most;
}

// The cells of one tile.
std::span<const int32_t> cells_of(const VisibleCells& visible, size_t tile) {
    const size_t first = tile * kAttentionTile;
    return visible.cells.subspan(first, std::min(kAttentionTile, visible.n_visible - first));
}

size_t tiles(const VisibleCells& visible) { return (visible.n_visible + kAttentionTile - 1) / kAttentionTile; }

}  // namespace

void attention(const Kernels& kernels, ThreadPool& pool, const AttentionShape& shape, std::span<const float> q,
               const KvCells& kv, std::span<const VisibleCells> visible, std::span<float> out, Scratch& scratch) {
    const size_t most = check(shape, q, kv, visible, out);
    const size_t n_token = visible.size(), dim = shape.head_dim, n_head = shape.n_head;
    if (n_token == 0) return;
    const size_t group = n_head / shape.n_head_kv;
    const size_t n_item = n_token * shape.n_head_kv, n_threads = size_t(pool.size());
    const bool alone = n_threads == 1 || n_token * n_head * most * dim < kAloneProducts;

    if (!alone && n_item < 2 * n_threads) {
        // Too few queries to go round: each tile is work of its own, and the merges come after all of them.
        const size_t n_tile = (most + kAttentionTile - 1) / kAttentionTile;
        const size_t n_result = n_token * n_head * n_tile;
        const size_t reader_bytes = TileReader::memory_bytes(kv.type, dim);
        const std::span<std::byte> bytes =
            scratch.take(reader_bytes * n_threads + n_result * (dim * sizeof(float) + sizeof(TileResult)));
        auto* const tile_out = reinterpret_cast<float*>(bytes.data() + reader_bytes * n_threads);
        // tile_out [n_token][n_head][n_tile][dim]
        auto* const results = reinterpret_cast<TileResult*>(tile_out + n_result * dim);
        WorkQueue queue(n_item * n_tile, 1);
        pool.parallel([&](int thread, int) {
            TileReader tile(kernels, kv, shape.n_head_kv, dim, bytes.data() + reader_bytes * size_t(thread));
            while (const WorkQueue::Piece piece = queue.next()) {
                const size_t item = piece.begin / n_tile, i = piece.begin % n_tile;
                const size_t t = item / shape.n_head_kv, head_kv = item % shape.n_head_kv;
                if (i >= tiles(visible[t])) continue;
                tile.read(cells_of(visible[t], i), head_kv);
                for (size_t h = t * n_head + head_kv * group; h < t * n_head + (head_kv + 1) * group; ++h)
                    results[h * n_tile + i] =
                        kernels.attention_tile(q.data() + h * dim, tile.k(), tile.v(), tile.n_key(), dim, shape.scale,
                                               tile_out + (h * n_tile + i) * dim);
            }
        });
        rows_in_parallel(pool, n_token * n_head, n_tile * dim, [&](size_t h) {
            float* const to = out.data() + h * dim;
            const size_t at = h * n_tile;
            TileResult total = results[at];
            std::copy_n(tile_out + at * dim, dim, to);
            for (size_t i = 1; i < tiles(visible[h / n_head]); ++i)
                kernels.attention_merge(&total, to, results[at + i], tile_out + (at + i) * dim, dim);
            kernels.attention_finish(total.sum, to, dim);
        });
        return;
    }

    // A thread takes all tiles of a token and a key head, for the query heads that share it.
    const size_t reader_bytes = TileReader::memory_bytes(kv.type, dim);
    const size_t thread_bytes = reader_bytes + (dim * sizeof(float) + group * sizeof(TileResult) + 63) / 64 * 64;
    const std::span<std::byte> bytes = scratch.take(thread_bytes * n_threads);
    WorkQueue queue(n_item, 1);
    const auto work = [&](int thread, int) {
        std::byte* const mine = bytes.data() + thread_bytes * size_t(thread);
        auto* const tile_out = reinterpret_cast<float*>(mine + reader_bytes);
        auto* const totals = reinterpret_cast<TileResult*>(tile_out + dim);
        TileReader tile(kernels, kv, shape.n_head_kv, dim, mine);
        while (const WorkQueue::Piece piece = queue.next()) {
            // The last tokens see most: they come first, so that no thread is left with one at the end.
            const size_t t = n_token - 1 - piece.begin / shape.n_head_kv, head_kv = piece.begin % shape.n_head_kv;
            const size_t first_head = t * n_head + head_kv * group;
            for (size_t i = 0; i < tiles(visible[t]); ++i) {
                tile.read(cells_of(visible[t], i), head_kv);
                for (size_t g = 0; g < group; ++g) {
                    const float* const query = q.data() + (first_head + g) * dim;
                    float* const to = out.data() + (first_head + g) * dim;
                    const TileResult result = kernels.attention_tile(query, tile.k(), tile.v(), tile.n_key(), dim,
                                                                     shape.scale, i == 0 ? to : tile_out);
                    if (i == 0)
                        totals[g] = result;
                    else
                        kernels.attention_merge(&totals[g], to, result, tile_out, dim);
                }
            }
            for (size_t g = 0; g < group; ++g)
                kernels.attention_finish(totals[g].sum, out.data() + (first_head + g) * dim, dim);
        }
    };
    if (alone)
        work(0, 1);
    else
        pool.parallel(work);
}

}  // namespace minfer::cpu
