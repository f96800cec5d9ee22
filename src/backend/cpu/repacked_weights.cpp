#include "backend/cpu/repacked_weights.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "backend/cpu/compact.h"

namespace minfer::cpu {

namespace {

// What a thread takes at a time: small enough for threads to end together and for the old and the new copy of what is
// in work to be no burden, large enough for a huge page to be one thread's.
constexpr size_t kItemBytes = Pages::kHugePage;

// A matrix's share of the work.
struct Job {
    Weights* matrix;
    size_t panels_at;  // in the memory of all
    size_t panel_bytes, panels_an_item;
    size_t first_item;
};

}  // namespace

Pages repack(const Kernels& kernels, ThreadPool& pool, std::span<Weights* const> matrices, const Repacked& repacked) {
    std::vector<Job> jobs;
    size_t n_item = 0, n_bytes = 0, end = 0;
    for (Weights* w : matrices) {
        const size_t n_panel = w->n_out / kPanelRows, panel_bytes = compact_bytes(w->type, w->n_in);
        if (n_panel == 0) continue;
        const size_t panels_an_item = std::clamp<size_t>(kItemBytes / panel_bytes, 1, n_panel);
        jobs.push_back({w, end, panel_bytes, panels_an_item, n_item});
        n_item += (n_panel + panels_an_item - 1) / panels_an_item;
        n_bytes += n_panel * kPanelRows * w->row_bytes;
        end += (n_panel * panel_bytes + 63) / 64 * 64;
    }
    Pages pages(end);

    std::mutex mutex;
    WorkQueue queue(n_item, 1);
    pool.parallel([&](int, int) {
        while (const WorkQueue::Piece piece = queue.next()) {
            const Job& job = *(std::ranges::upper_bound(jobs, piece.begin, {}, &Job::first_item) - 1);
            const Weights& w = *job.matrix;
            const auto repack_panel = kernels.matmul[weight_index(w.type)].repack;
            std::byte* const panels = pages.data() + job.panels_at;
            const size_t begin = (piece.begin - job.first_item) * job.panels_an_item;
            const size_t past = std::min(begin + job.panels_an_item, w.n_out / kPanelRows);
            for (size_t p = begin; p < past; ++p)
                repack_panel(w.data + p * kPanelRows * w.row_bytes, w.row_bytes, w.n_in, panels + p * job.panel_bytes);
            if (!repacked) continue;
            const std::lock_guard lock(mutex);
            repacked({w.data + begin * kPanelRows * w.row_bytes, (past - begin) * kPanelRows * w.row_bytes}, n_bytes);
        }
    });
    for (const Job& job : jobs) job.matrix->panels = pages.data() + job.panels_at;
    return pages;
}

}  // namespace minfer::cpu
