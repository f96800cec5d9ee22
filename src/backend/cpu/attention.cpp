#include "backend/cpu/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/cpu/kernels.h"
#include "backend/cpu/rotation.h"
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

// The cells of one tile of a token.
std::span<const int32_t> cells_of(const VisibleCells& visible, size_t tile) {
    const size_t first = tile * kAttentionTile;
    return visible.cells.subspan(first, std::min(kAttentionTile, visible.n_visible - first));
}

size_t tiles(const VisibleCells& visible) { return (visible.n_visible + kAttentionTile - 1) / kAttentionTile; }

// Queries that go through a tile together: their results and a tile of keys and of values fit L1.
constexpr size_t kBlockQueries = 32;
// Queries between two looks ahead: a request for some rows of the next tile must not fill the core's queue of loads.
constexpr size_t kStepQueries = 4;
// From this many on, scores with a lane a key save more than turning the keys costs.
constexpr size_t kAcrossQueries = 12;

// Tokens that follow each other in one sequence, so that the later see all that the earlier do.
struct TokenBlock {
    size_t begin, end;
};

// The blocks of a batch, the last token's first: its tokens see most, and no thread should be left with those at the
// end. Gives how many; `blocks` has room for one a token.
size_t make_blocks(std::span<const VisibleCells> visible, size_t most_tokens, TokenBlock* blocks) {
    size_t n = 0;
    for (size_t end = visible.size(); end > 0; ++n) {
        size_t begin = end - 1;
        while (begin > 0 && end - begin < most_tokens &&
               visible[begin - 1].cells.data() == visible[begin].cells.data() &&
               visible[begin - 1].n_visible <= visible[begin].n_visible)
            --begin;
        blocks[n] = {begin, end};
        end = begin;
    }
    return n;
}

// What a thread works with, in its part of the scratch. n_query is the most that go through a tile together.
struct Workspace {
    static size_t bytes(kv::CellType cells, size_t n_query, size_t dim) {
        return TileReader::memory_bytes(cells, dim) + Scratch::aligned(kAttentionTile * dim * sizeof(float)) +
               Scratch::aligned(n_query * dim * sizeof(float)) + Scratch::aligned(n_query * sizeof(TileQuery)) +
               2 * Scratch::aligned(n_query * sizeof(TileResult));
    }
    Workspace(kv::CellType cells, std::byte* memory, size_t n_query, size_t dim) {
        const auto take = [&](size_t n) { return std::exchange(memory, memory + Scratch::aligned(n)); };
        reader = take(TileReader::memory_bytes(cells, dim));
        across = reinterpret_cast<float*>(take(kAttentionTile * dim * sizeof(float)));
        tile_out = reinterpret_cast<float*>(take(n_query * dim * sizeof(float)));
        queries = reinterpret_cast<TileQuery*>(take(n_query * sizeof(TileQuery)));
        results = reinterpret_cast<TileResult*>(take(n_query * sizeof(TileResult)));
        totals = reinterpret_cast<TileResult*>(take(n_query * sizeof(TileResult)));
    }
    std::byte* reader;    // of the TileReader
    float* across;        // [dim][64]
    float* tile_out;      // [n_query][dim]
    TileQuery* queries;   // [n_query]
    TileResult* results;  // [n_query], of the tile at hand
    TileResult* totals;   // [n_query], of all before it
};

// All that the work on one batch needs.
struct Job {
    const Kernels& kernels;
    const AttentionShape& shape;
    std::span<const float> q;
    std::span<const VisibleCells> visible;
    std::span<float> out;
    bool rotated;  // as the cells are: are_rotated()

    size_t group() const { return shape.n_head / shape.n_head_kv; }
    // Where a token's query of a head of the group lies, in q and in out.
    size_t at(size_t token, size_t head_kv, size_t g) const {
        return (token * shape.n_head + head_kv * group() + g) * shape.head_dim;
    }

    // The tile's keys with a lane a key, where so many queries make that worth while; else null.
    const float* turn(const TileReader& tile, size_t n_query, const Workspace& w) const {
        if (!kernels.attention_across || n_query < kAcrossQueries) return nullptr;
        kernels.attention_across(tile.k(), tile.n_key(), shape.head_dim, w.across);
        return w.across;
    }
    void run_tile(const TileReader& tile, std::span<const TileQuery> queries, const float* across) const {
        kernels.attention_tile(queries.data(), queries.size(), tile.k(), tile.v(), across, shape.head_dim, shape.scale);
    }

    // All tiles of the tokens of a block, for the query heads that share a key head.
    void run_block(TokenBlock block, size_t head_kv, TileReader& tile, const Workspace& w) const {
        const size_t dim = shape.head_dim;
        const VisibleCells& last = visible[block.end - 1];
        for (size_t i = 0; i < tiles(last); ++i) {
            // Tokens that see nothing of this tile are the first of the block.
            size_t first = block.begin;
            while (visible[first].n_visible <= i * kAttentionTile) ++first;
            size_t n_query = 0;
            for (size_t t = first; t < block.end; ++t)
                for (size_t g = 0; g < group(); ++g, ++n_query)
                    w.queries[n_query] = {q.data() + at(t, head_kv, g),
                                          std::min(kAttentionTile, visible[t].n_visible - i * kAttentionTile),
                                          i == 0 ? out.data() + at(t, head_kv, g) : w.tile_out + n_query * dim,
                                          &w.results[n_query]};
            tile.read(cells_of(last, i), head_kv);
            run_tile(tile, {w.queries, n_query}, turn(tile, n_query, w));
            const size_t skipped = (first - block.begin) * group();
            for (size_t n = 0; n < n_query; ++n) {
                TileResult& total = w.totals[skipped + n];
                if (i == 0)
                    total = w.results[n];
                else
                    kernels.attention_merge(&total, out.data() + at(first + n / group(), head_kv, n % group()),
                                            w.results[n], w.tile_out + n * dim, dim);
            }
        }
        for (size_t t = block.begin, n = 0; t < block.end; ++t)
            for (size_t g = 0; g < group(); ++g, ++n) finish(w.totals[n].sum, out.data() + at(t, head_kv, g));
    }

    // The last division, and what comes of rotated values turned back.
    void finish(float sum, float* to) const {
        kernels.attention_finish(sum, to, shape.head_dim);
        if (rotated) rotate(to, to, shape.head_dim, kQueryScale);
    }
};

// Queries as the cells want them, which for rotated cells are copies in `memory` of query_bytes(), 64-aligned.
size_t query_bytes(bool rotated, size_t n) { return rotated ? Scratch::aligned(n * sizeof(float)) : 0; }

std::span<const float> queries_for(bool rotated, std::span<const float> q, size_t n_token, ThreadPool& pool,
                                   std::byte* memory) {
    if (!rotated) return q;
    const std::span<float> turned(reinterpret_cast<float*>(memory), q.size());
    const size_t dim = q.size() / n_token;
    rows_in_parallel(pool, n_token, dim,
                     [&](size_t t) { rotate(q.data() + t * dim, turned.data() + t * dim, dim, kQueryScale); });
    return turned;
}

// For few queries: each tile is work of its own, and the merges come after all of them.
void attend_by_tiles(const Job& job, const KvCells& kv, size_t most, ThreadPool& pool, Scratch& scratch) {
    const auto& [kernels, shape, given, visible, out, rotated] = job;
    const size_t n_token = visible.size(), dim = shape.head_dim, n_head = shape.n_head, group = job.group();
    const size_t n_threads = size_t(pool.size());
    const size_t n_tile = (most + kAttentionTile - 1) / kAttentionTile;
    const size_t n_result = n_token * n_head * n_tile;
    const size_t thread_bytes = Workspace::bytes(kv.type, group, dim);
    const size_t result_bytes = Scratch::aligned(n_result * sizeof(TileResult));
    const size_t queries = query_bytes(rotated, given.size());
    std::byte* bytes =
        scratch.take(queries + thread_bytes * n_threads + result_bytes + n_result * dim * sizeof(float)).data();
    const std::span<const float> q = queries_for(rotated, given, n_token, pool, bytes);
    bytes += queries;
    auto* const results = reinterpret_cast<TileResult*>(bytes + thread_bytes * n_threads);
    // [n_token][n_head][n_tile][dim]
    auto* const tile_out = reinterpret_cast<float*>(bytes + thread_bytes * n_threads + result_bytes);
    // A thread takes some tiles in a row, and all key heads of a tile, for they lie side by side in its cells;
    // while it works on one tile, the next is on its way from memory.
    const size_t n_row = std::max<size_t>(1, n_token * n_tile / (8 * n_threads));
    WorkQueue queue(n_token * n_tile, n_row);
    pool.parallel([&](int thread, int) {
        const Workspace w(kv.type, bytes + thread_bytes * size_t(thread), group, dim);
        TileReader tile(kernels, kv, shape.n_head_kv, dim, w.reader);
        while (const WorkQueue::Piece piece = queue.next())
            for (size_t item = piece.begin; item < piece.end; ++item) {
                const size_t t = item / n_tile, i = item % n_tile;
                if (i >= tiles(visible[t])) continue;
                std::span<const int32_t> next;
                if (item + 1 < piece.end && i + 1 < tiles(visible[t])) next = cells_of(visible[t], i + 1);
                const size_t n_step = shape.n_head_kv * ((group + kStepQueries - 1) / kStepQueries);
                size_t step = 0;
                for (size_t head_kv = 0; head_kv < shape.n_head_kv; ++head_kv) {
                    tile.read(cells_of(visible[t], i), head_kv);
                    for (size_t g = 0; g < group; ++g) {
                        const size_t result = (t * n_head + head_kv * group + g) * n_tile + i;
                        w.queries[g] = {q.data() + job.at(t, head_kv, g), tile.n_key(), tile_out + result * dim,
                                        &results[result]};
                    }
                    const float* const across = job.turn(tile, group, w);
                    for (size_t g = 0; g < group; g += kStepQueries, ++step) {
                        const size_t begin = next.size() * step / n_step, end = next.size() * (step + 1) / n_step;
                        tile.prefetch(next.subspan(begin, end - begin));
                        job.run_tile(tile, {w.queries + g, std::min(kStepQueries, group - g)}, across);
                    }
                }
            }
    });
    rows_in_parallel(pool, n_token * n_head, n_tile * dim, [&](size_t h) {
        float* const to = out.data() + h * dim;
        const size_t at = h * n_tile;
        TileResult total = results[at];
        std::copy_n(tile_out + at * dim, dim, to);
        for (size_t i = 1; i < tiles(visible[h / n_head]); ++i)
            kernels.attention_merge(&total, to, results[at + i], tile_out + (at + i) * dim, dim);
        job.finish(total.sum, to);
    });
}

// For many: a thread takes a block of tokens and a key head; several items a thread, so that one that is late takes
// fewer. `alone`: the work is too little to wake the others for.
void attend_by_blocks(const Job& given, const KvCells& kv, bool alone, ThreadPool& pool, Scratch& scratch) {
    const AttentionShape& shape = given.shape;
    const size_t n_token = given.visible.size(), dim = shape.head_dim, group = given.group();
    const size_t n_threads = size_t(pool.size());
    const size_t block_tokens =
        std::clamp<size_t>(n_token * shape.n_head_kv / (4 * n_threads), 1, std::max<size_t>(1, kBlockQueries / group));
    const size_t thread_bytes = Workspace::bytes(kv.type, block_tokens * group, dim);
    const size_t queries = query_bytes(given.rotated, given.q.size());
    std::byte* bytes = scratch.take(queries + thread_bytes * n_threads + n_token * sizeof(TokenBlock)).data();
    Job job = given;
    job.q = queries_for(given.rotated, given.q, n_token, pool, bytes);
    bytes += queries;
    auto* const blocks = reinterpret_cast<TokenBlock*>(bytes + thread_bytes * n_threads);
    WorkQueue queue(make_blocks(job.visible, block_tokens, blocks) * shape.n_head_kv, 1);
    const auto work = [&](int thread, int) {
        const Workspace w(kv.type, bytes + thread_bytes * size_t(thread), block_tokens * group, dim);
        TileReader tile(job.kernels, kv, shape.n_head_kv, dim, w.reader);
        while (const WorkQueue::Piece piece = queue.next())
            job.run_block(blocks[piece.begin / shape.n_head_kv], piece.begin % shape.n_head_kv, tile, w);
    };
    if (alone)
        work(0, 1);
    else
        pool.parallel(work);
}

}  // namespace

void attention(const Kernels& kernels, ThreadPool& pool, const AttentionShape& shape, std::span<const float> q,
               const KvCells& kv, std::span<const VisibleCells> visible, std::span<float> out, Scratch& scratch) {
    const size_t most = check(shape, q, kv, visible, out);
    if (visible.empty()) return;
    const Job job{kernels, shape, q, visible, out, are_rotated(kv.type)};
    const bool alone = pool.size() == 1 || visible.size() * shape.n_head * most * shape.head_dim < kAloneProducts;
    if (!alone && visible.size() * shape.n_head_kv < 2 * size_t(pool.size()))
        attend_by_tiles(job, kv, most, pool, scratch);
    else
        attend_by_blocks(job, kv, alone, pool, scratch);
}

}  // namespace minfer::cpu
