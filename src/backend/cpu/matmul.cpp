#include "backend/cpu/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/cpu/panel.h"
#include "backend/cpu/product.h"
#include "backend/cpu/rounded_activations.h"
#include "base/error.h"

namespace minfer::cpu {

namespace {

// What a thread unpacks at a time: read again for each few tokens, so it must stay in L2, and leave room there for
// them.
constexpr size_t kUnpackedBytes = 512 * 1024;
// Where one panel is more than half of that, two that are no more than this: kernels with 32 wide registers take two at
// once, and what comes from farther away is read once for both.
constexpr size_t kTwoPanelsBytes = 1024 * 1024;
// Tokens that one item takes where weights are unpacked: enough to pay for the unpacking many times over.
constexpr size_t kTokensAnItem = 512;
// Tokens whose gate and up are computed before their product is taken: what they give stays in L2. A multiple of what
// kernels take at once (6, 12, 16).
constexpr size_t kSwiGluTokens = 96;

void check_factor(const Weights& w, std::span<const float> x, size_t n_in, size_t n_token, size_t n_out_values) {
    weight_index(w.type);  // throws where there are no kernels
    const size_t block = std::max<size_t>(panel_layout(w.type).block, 1);
    if (w.n_in == 0 || w.n_out == 0 || w.n_in % block != 0 || x.size() != n_token * w.n_in ||
        n_out_values != n_token * w.n_out || w.n_in != n_in || w.row_bytes < gguf::row_bytes(w.type, w.n_in))
        throw ShapeError(fmt::format("matmul: weights {} [{}][{}] with rows of {} bytes, x of {} and out of {} values",
                                     gguf::type_name(w.type), w.n_out, w.n_in, w.row_bytes, x.size(), n_out_values));
}

// The outputs of one or several products of the same shape, divided into items of some rows and some tokens. Several
// items a thread, so that a thread that was late or slow takes fewer; as many for each, and of one size but for a group
// of rows, for else the threads that have ended wait for an odd one.
class Items {
  public:
    Items() = default;
    // `panel_bytes` is what sixteen rows take unpacked; 0 where they are not.
    Items(size_t n_out, size_t n_token, size_t n_threads, size_t panel_bytes)
        : n_out_(n_out), n_token_(n_token), n_group_((n_out + kPanelRows - 1) / kPanelRows) {
        size_t groups = std::max<size_t>(1, n_group_ / (n_threads * (panel_bytes ? 4 : 8)));
        if (panel_bytes) {
            const size_t least = 2 * panel_bytes <= kTwoPanelsBytes ? 2 : 1;
            groups = std::min(groups, std::max(least, kUnpackedBytes / panel_bytes));
        }
        const size_t a_thread = (n_group_ + groups * n_threads - 1) / (groups * n_threads);
        n_row_items_ = std::min(n_group_, a_thread * n_threads);
        tokens_an_item_ = panel_bytes ? std::min(n_token, kTokensAnItem) : n_token;
    }
    size_t size() const { return n_row_items_ * ((n_token_ + tokens_an_item_ - 1) / tokens_an_item_); }
    // Of the largest item.
    size_t rows_an_item() const { return std::min((n_group_ + n_row_items_ - 1) / n_row_items_ * kPanelRows, n_out_); }
    Range rows(size_t item) const {
        const auto begin = [this](size_t i) { return std::min(n_group_ * i / n_row_items_ * kPanelRows, n_out_); };
        return {begin(item % n_row_items_), begin(item % n_row_items_ + 1)};
    }
    Range tokens(size_t item) const {
        const size_t begin = item / n_row_items_ * tokens_an_item_;
        return {begin, std::min(begin + tokens_an_item_, n_token_)};
    }

  private:
    size_t n_out_ = 0, n_token_ = 0, n_group_ = 0, tokens_an_item_ = 1, n_row_items_ = 0;
};

}  // namespace

void matmul_shared(const Kernels& kernels, ThreadPool& pool, std::span<const MatmulTarget> targets,
                   std::span<const float> x, Scratch& scratch) {
    if (targets.empty() || targets.size() > kMaxTargets)
        throw ShapeError(
            fmt::format("matmul: {} weight matrices at once, expected 1 to {}", targets.size(), kMaxTargets));
    const size_t n_in = targets[0].weights.n_in, n_token = n_in ? x.size() / n_in : 0;
    for (const MatmulTarget& target : targets) check_factor(target.weights, x, n_in, n_token, target.out.size());
    if (n_token == 0) return;
    const size_t n_threads = size_t(pool.size());

    struct Job {
        Product product;
        Items items;
        Activations x;
        size_t first_item = 0;
    };
    std::array<Job, kMaxTargets> jobs;
    RoundedActivations rounded(kernels, x, n_in);
    size_t n_item = 0, unpacked = 0;
    for (size_t i = 0; i < targets.size(); ++i) {
        const Weights& w = targets[i].weights;
        Job& job = jobs[i];
        job.product = Product(kernels, w, n_token);
        job.items = Items(w.n_out, n_token, n_threads, job.product.unpacked_bytes(kPanelRows));
        job.first_item = n_item;
        n_item += job.items.size();
        unpacked = std::max(unpacked, job.product.unpacked_bytes(job.items.rows_an_item()));
        rounded.want(w.type, job.product.unpacks());
    }
    std::byte* const memory = scratch.take(rounded.bytes() + unpacked * n_threads).data();
    rounded.round(pool, memory);
    for (size_t i = 0; i < targets.size(); ++i) jobs[i].x = rounded.of(targets[i].weights.type);

    WorkQueue queue(n_item, 1);
    pool.parallel([&](int thread, int) {
        std::byte* const panels = memory + rounded.bytes() + unpacked * size_t(thread);
        while (const WorkQueue::Piece piece = queue.next()) {
            size_t i = 0;
            while (i + 1 < targets.size() && jobs[i + 1].first_item <= piece.begin) ++i;
            const Job& job = jobs[i];
            const Range rows = job.items.rows(piece.begin - job.first_item);
            const Range tokens = job.items.tokens(piece.begin - job.first_item);
            const size_t n_out = targets[i].weights.n_out;
            job.product.unpack(rows, panels);
            job.product.multiply(rows, tokens, job.x, panels, &targets[i].out[tokens.begin * n_out + rows.begin],
                                 n_out);
        }
    });
}

void matmul(const Kernels& kernels, ThreadPool& pool, const Weights& weights, std::span<const float> x,
            std::span<float> out, Scratch& scratch) {
    const MatmulTarget target{weights, out};
    matmul_shared(kernels, pool, {&target, 1}, x, scratch);
}

void matmul_swiglu(const Kernels& kernels, ThreadPool& pool, const Weights& gate, const Weights& up,
                   std::span<const float> x, std::span<float> out, Scratch& scratch) {
    const size_t n_in = gate.n_in, n_token = n_in ? x.size() / n_in : 0;
    for (const Weights* w : {&gate, &up}) check_factor(*w, x, n_in, n_token, out.size());
    if (n_token == 0) return;
    const size_t n_out = gate.n_out, n_threads = size_t(pool.size());

    const std::array<Product, 2> products = {Product(kernels, gate, n_token), Product(kernels, up, n_token)};
    RoundedActivations rounded(kernels, x, n_in);
    size_t panel_bytes = 0;
    for (const Product& product : products) {
        panel_bytes += product.unpacked_bytes(kPanelRows);
        rounded.want(product.weights().type, product.unpacks());
    }
    const Items items(n_out, n_token, n_threads, panel_bytes);
    const size_t n_row = items.rows_an_item(), n_value = std::min(n_token, kSwiGluTokens) * n_row;
    const size_t unpacked[2] = {products[0].unpacked_bytes(n_row), products[1].unpacked_bytes(n_row)};
    const size_t a_thread = unpacked[0] + unpacked[1] + Scratch::aligned(2 * n_value * sizeof(float));
    std::byte* const memory = scratch.take(rounded.bytes() + a_thread * n_threads).data();
    rounded.round(pool, memory);
    const Activations of[2] = {rounded.of(gate.type), rounded.of(up.type)};

    WorkQueue queue(items.size(), 1);
    pool.parallel([&](int thread, int) {
        std::byte* const own = memory + rounded.bytes() + a_thread * size_t(thread);
        std::byte* const panels[2] = {own, own + unpacked[0]};
        auto* const first = reinterpret_cast<float*>(own + unpacked[0] + unpacked[1]);
        float* const factors[2] = {first, first + n_value};
        while (const WorkQueue::Piece piece = queue.next()) {
            const Range rows = items.rows(piece.begin), tokens = items.tokens(piece.begin);
            for (size_t i = 0; i < 2; ++i) products[i].unpack(rows, panels[i]);
            for (size_t begin = tokens.begin; begin < tokens.end; begin += kSwiGluTokens) {
                const Range some = {begin, std::min(begin + kSwiGluTokens, tokens.end)};
                for (size_t i = 0; i < 2; ++i)
                    products[i].multiply(rows, some, of[i], panels[i], factors[i], rows.size());
                for (size_t t = 0; t < some.size(); ++t)
                    kernels.swiglu_row(factors[0] + t * rows.size(), factors[1] + t * rows.size(),
                                       &out[(some.begin + t) * n_out + rows.begin], rows.size());
            }
        }
    });
}

}  // namespace minfer::cpu
