#include "backend/cpu/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/cpu/compact.h"
#include "backend/cpu/panel.h"
#include "backend/cpu/rows_in_parallel.h"
#include "base/error.h"

namespace minfer::cpu {

namespace {

// From this many tokens on, unpacking a panel costs less than reading the weights once a token does.
constexpr size_t kPanelTokens = 4;
// The same for compact panels, whose weights are read once for eight tokens without unpacking.
constexpr size_t kUnpackTokens = 17;
// What a thread unpacks at a time: read again for each few tokens, so it must stay in L2, and leave room there for
// them.
constexpr size_t kUnpackedBytes = 512 * 1024;
// Tokens that one item of the many-token shape takes: enough to pay for the unpacking many times over.
constexpr size_t kTokensAnItem = 512;

size_t aligned(size_t n) { return (n + 63) / 64 * 64; }

// Where the integers of one block size lie in the scratch.
struct Integers {
    size_t block;
    bool needed = false;
    size_t arranged_bytes = 0;  // of a group of kTokenGroup tokens; 0 where they are not arranged
    size_t q = 0, d = 0, sums16 = 0, sums32 = 0, arranged = 0;  // offsets

    void place(size_t& end, size_t n_token, size_t n_in) {
        q = end;
        d = q + aligned(n_token * n_in);
        sums16 = d + aligned(n_token * (n_in / block) * sizeof(float));
        sums32 = sums16 + (block == 256 ? aligned(n_token * (n_in / 16) * sizeof(int16_t)) : 0);
        arranged = sums32 + aligned(n_token * (n_in / 32) * sizeof(int16_t));
        end = arranged + (n_token + kTokenGroup - 1) / kTokenGroup * arranged_bytes;
    }
    QuantizedRow row(std::byte* base, size_t token, size_t n_in) const {
        return {.q = reinterpret_cast<int8_t*>(base + q) + token * n_in,
                .d = reinterpret_cast<float*>(base + d) + token * (n_in / block),
                .sums16 = block == 256 ? reinterpret_cast<int16_t*>(base + sums16) + token * (n_in / 16) : nullptr,
                .sums32 = reinterpret_cast<int16_t*>(base + sums32) + token * (n_in / 32)};
    }
};

void check(std::span<const MatmulTarget> targets, std::span<const float> x, size_t n_token) {
    for (const MatmulTarget& target : targets) {
        const Weights& w = target.weights;
        weight_index(w.type);  // throws where there are no kernels
        const size_t block = std::max<size_t>(panel_layout(w.type).block, 1);
        if (w.n_in == 0 || w.n_out == 0 || w.n_in % block != 0 || x.size() != n_token * w.n_in ||
            target.out.size() != n_token * w.n_out || w.n_in != targets[0].weights.n_in ||
            w.row_bytes < gguf::row_bytes(w.type, w.n_in))
            throw ShapeError(
                fmt::format("matmul: weights {} [{}][{}] with rows of {} bytes, x of {} and out of {} values",
                            gguf::type_name(w.type), w.n_out, w.n_in, w.row_bytes, x.size(), target.out.size()));
    }
}

// Sixteen rows from `row` on, or fewer at the end. A kernel always takes sixteen: where fewer are left it takes the
// last sixteen, and where there are not even those, the same row sixteen times, and the surplus is thrown away.
struct RowGroup {
    const std::byte* rows;
    size_t row_bytes;
    size_t skip;   // of the sixteen results, those before the first wanted
    size_t count;  // wanted
};
RowGroup row_group(const Weights& w, size_t row) {
    const size_t count = std::min(kPanelRows, w.n_out - row);
    if (count == kPanelRows) return {w.data + row * w.row_bytes, w.row_bytes, 0, count};
    if (w.n_out >= kPanelRows) {
        const size_t skip = kPanelRows - count;
        return {w.data + (row - skip) * w.row_bytes, w.row_bytes, skip, count};
    }
    return {w.data + row * w.row_bytes, 0, 0, 1};
}

// The compact panel of the rows from `row` on, where there is one.
const std::byte* compact_panel(const Weights& w, size_t row) {
    if (!w.panels || w.n_out - row < kPanelRows) return nullptr;
    return w.panels + row / kPanelRows * compact_bytes(w.type, w.n_in);
}

void multiply_rows(const MatmulKernels& kernels, const Weights& w, size_t row, size_t row_end, const Activations& x,
                   size_t n_token, std::span<float> out) {
    while (row < row_end) {
        if (const std::byte* panel = compact_panel(w, row)) {
            kernels.compact(panel, x, 0, n_token, out.data() + row, w.n_out);
            row += kPanelRows;
            continue;
        }
        const RowGroup group = row_group(w, row);
        for (size_t t = 0; t < n_token; ++t) {
            float* to = out.data() + t * w.n_out + row;
            if (group.count == kPanelRows) {
                kernels.rows(group.rows, group.row_bytes, x, t, to);
            } else {
                alignas(64) float all[kPanelRows];
                kernels.rows(group.rows, group.row_bytes, x, t, all);
                std::memcpy(to, all + group.skip, group.count * sizeof(float));
            }
        }
        row += group.count;
    }
}

// Bytes of a panel, as `kernels` want it, of rows of w.
size_t panel_bytes(const MatmulKernels& kernels, const Weights& w) {
    const size_t block = std::max<size_t>(panel_layout(w.type).block, 1);
    return w.n_in / block * kernels.panel_block_bytes;
}

void multiply_panels(const MatmulKernels& kernels, const Weights& w, size_t row, size_t row_end, const Activations& x,
                     size_t token, size_t token_end, std::span<float> out, std::byte* scratch) {
    const size_t bytes = panel_bytes(kernels, w), n_token = token_end - token;
    size_t n_panel = 0;
    for (size_t r = row; r < row_end; ++n_panel) {
        const RowGroup group = row_group(w, r);
        if (const std::byte* panel = compact_panel(w, r))
            kernels.unpack(panel, w.n_in, scratch + n_panel * bytes);
        else
            kernels.pack(group.rows, group.row_bytes, w.n_in, scratch + n_panel * bytes);
        r += group.count;
    }
    const size_t n_full = (row_end - row) / kPanelRows;
    if (n_full != 0)
        kernels.panel(scratch, bytes, n_full, x, token, n_token, out.data() + token * w.n_out + row, w.n_out);
    // The rows that do not fill a panel.
    row += n_full * kPanelRows;
    for (size_t p = n_full; p < n_panel; ++p) {
        const RowGroup group = row_group(w, row);
        constexpr size_t kTokens = 16;
        alignas(64) float all[kTokens * kPanelRows];
        for (size_t t = token; t < token_end; t += kTokens) {
            const size_t n = std::min(kTokens, token_end - t);
            kernels.panel(scratch + p * bytes, bytes, 1, x, t, n, all, kPanelRows);
            for (size_t i = 0; i < n; ++i)
                std::memcpy(out.data() + (t + i) * w.n_out + row, all + i * kPanelRows + group.skip,
                            group.count * sizeof(float));
        }
        row += group.count;
    }
}

// One target's share of the work.
struct Job {
    const MatmulKernels* kernels = nullptr;
    Activations x;
    bool panels = false;
    size_t rows_an_item = 0;  // a multiple of kPanelRows
    size_t first_item = 0;
    size_t n_row_items = 0, n_item = 0;
};

}  // namespace

void matmul_shared(const Kernels& kernels, ThreadPool& pool, std::span<const MatmulTarget> targets,
                   std::span<const float> x, Scratch& scratch) {
    if (targets.empty() || targets.size() > kMaxTargets)
        throw ShapeError(
            fmt::format("matmul: {} weight matrices at once, expected 1 to {}", targets.size(), kMaxTargets));
    const size_t n_in = targets[0].weights.n_in;
    const size_t n_token = n_in ? x.size() / n_in : 0;
    check(targets, x, n_token);
    if (n_token == 0) return;
    const size_t n_threads = size_t(pool.size());

    std::array<Integers, 2> integers = {Integers{.block = 32}, Integers{.block = 256}};
    std::array<Job, kMaxTargets> jobs;
    size_t n_item = 0, unpacked = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
        const Weights& w = targets[i].weights;
        Job& job = jobs[i];
        job.kernels = &kernels.matmul[weight_index(w.type)];
        const size_t block = panel_layout(w.type).block;
        job.x = {.x = x.data(), .n_in = n_in, .block = block};
        job.panels = job.kernels->panel && n_token >= (w.panels ? kUnpackTokens : kPanelTokens);
        for (Integers& of : integers) {
            if (of.block != block) continue;
            of.needed = true;
            if (job.panels && kernels.arrange) of.arranged_bytes = kernels.arranged_bytes(n_in, block);
        }
        const size_t n_group = (w.n_out + kPanelRows - 1) / kPanelRows;
        // Several items a thread, so that a thread that was late or slow takes fewer.
        size_t groups = std::max<size_t>(1, n_group / (n_threads * (job.panels ? 4 : 8)));
        if (job.panels) {
            groups = std::min(groups, std::max<size_t>(1, kUnpackedBytes / panel_bytes(*job.kernels, w)));
            // With fewer than 16 rows a group is one row, so an item holds as many panels as rows.
            const size_t n_panel = w.n_out < kPanelRows ? w.n_out : groups;
            unpacked = std::max(unpacked, n_panel * panel_bytes(*job.kernels, w));
        }
        job.rows_an_item = groups * kPanelRows;
        job.n_row_items = (n_group + groups - 1) / groups;
        job.n_item = job.n_row_items * (job.panels ? (n_token + kTokensAnItem - 1) / kTokensAnItem : 1);
        job.first_item = n_item;
        n_item += job.n_item;
    }

    size_t bytes = 0;
    for (Integers& of : integers)
        if (of.needed) of.place(bytes, n_token, n_in);
    unpacked = aligned(unpacked);
    std::byte* const base = scratch.take(bytes + unpacked * n_threads).data();
    for (size_t i = 0; i < targets.size(); ++i)
        for (const Integers& of : integers)
            if (of.block == jobs[i].x.block) {
                const QuantizedRow row = of.row(base, 0, n_in);
                jobs[i].x.q = row.q;
                jobs[i].x.d = row.d;
                jobs[i].x.sums16 = row.sums16;
                jobs[i].x.sums32 = row.sums32;
                jobs[i].x.arranged = base + of.arranged;
                jobs[i].x.arranged_bytes = of.arranged_bytes;
            }

    // The places of tokens that the last group lacks are multiplied too, and the results thrown away.
    for (const Integers& of : integers)
        if (of.needed && of.arranged_bytes && n_token % kTokenGroup != 0)
            std::memset(base + of.arranged + n_token / kTokenGroup * of.arranged_bytes, 0, of.arranged_bytes);

    const auto quantize = [&](size_t token) {
        for (const Integers& of : integers) {
            if (!of.needed) continue;
            const QuantizedRow row = of.row(base, token, n_in);
            kernels.quantize_row(x.data() + token * n_in, n_in, of.block, row);
            if (of.arranged_bytes)
                kernels.arrange(row, n_in, of.block, token % kTokenGroup,
                                base + of.arranged + token / kTokenGroup * of.arranged_bytes);
        }
    };
    if (bytes != 0 && x.size() < kAloneValues) {
        for (size_t t = 0; t < n_token; ++t) quantize(t);
    } else if (bytes != 0) {
        pool.parallel([&](int thread, int n) {
            for (size_t t = size_t(thread); t < n_token; t += size_t(n)) quantize(t);
        });
    }

    WorkQueue queue(n_item, 1);
    pool.parallel([&](int thread, int) {
        while (const WorkQueue::Piece piece = queue.next()) {
            size_t i = 0;
            while (i + 1 < targets.size() && jobs[i + 1].first_item <= piece.begin) ++i;
            const Job& job = jobs[i];
            const MatmulTarget& target = targets[i];
            const size_t item = piece.begin - job.first_item;
            const size_t row = item % job.n_row_items * job.rows_an_item;
            const size_t row_end = std::min(row + job.rows_an_item, target.weights.n_out);
            if (job.panels) {
                const size_t token = item / job.n_row_items * kTokensAnItem;
                multiply_panels(*job.kernels, target.weights, row, row_end, job.x, token,
                                std::min(token + kTokensAnItem, n_token), target.out,
                                base + bytes + unpacked * size_t(thread));
            } else {
                multiply_rows(*job.kernels, target.weights, row, row_end, job.x, n_token, target.out);
            }
        }
    });
}

void matmul(const Kernels& kernels, ThreadPool& pool, const Weights& weights, std::span<const float> x,
            std::span<float> out, Scratch& scratch) {
    const MatmulTarget target{weights, out};
    matmul_shared(kernels, pool, {&target, 1}, x, scratch);
}

}  // namespace minfer::cpu
