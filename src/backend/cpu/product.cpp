#include "backend/cpu/product.h"

#include <algorithm>
#include <cstring>

#include "backend/cpu/compact.h"
#include "backend/cpu/panel.h"

namespace minfer::cpu {

namespace {

// From this many tokens on, unpacking a panel costs less than reading the weights once a token does.
constexpr size_t kPanelTokens = 4;

}  // namespace

// Sixteen rows from `row` on, or fewer at the end. A kernel always takes sixteen: where fewer are left it takes the
// last sixteen, and where there are not even those, the same row sixteen times, and the surplus is thrown away.
struct Product::RowGroup {
    const std::byte* rows;
    size_t row_bytes;
    size_t skip;   // of the sixteen results, those before the first wanted
    size_t count;  // wanted
};

Product::Product(const Kernels& kernels, const Weights& weights, size_t n_token)
    : kernels_(&kernels.matmul[weight_index(weights.type)]),
      weights_(weights),
      unpacks_(kernels_->panel && n_token >= (weights.panels ? kUnpackTokens : kPanelTokens)) {}

Product::RowGroup Product::row_group(size_t row) const {
    const Weights& w = weights_;
    const size_t count = std::min(kPanelRows, w.n_out - row);
    if (count == kPanelRows) return {w.data + row * w.row_bytes, w.row_bytes, 0, count};
    if (w.n_out >= kPanelRows) {
        const size_t skip = kPanelRows - count;
        return {w.data + (row - skip) * w.row_bytes, w.row_bytes, skip, count};
    }
    return {w.data + row * w.row_bytes, 0, 0, 1};
}

// The compact panel of the rows from `row` on, where there is one.
const std::byte* Product::compact_panel(size_t row) const {
    if (!weights_.panels || weights_.n_out - row < kPanelRows) return nullptr;
    return weights_.panels + row / kPanelRows * compact_bytes(weights_.type, weights_.n_in);
}

size_t Product::panel_bytes() const {
    const size_t block = std::max<size_t>(panel_layout(weights_.type).block, 1);
    return weights_.n_in / block * kernels_->panel_block_bytes;
}

size_t Product::unpacked_bytes(size_t n_row) const {
    if (!unpacks_) return 0;
    // With fewer than sixteen rows a group is one row.
    return panel_bytes() * (weights_.n_out < kPanelRows ? weights_.n_out : (n_row + kPanelRows - 1) / kPanelRows);
}

void Product::unpack(Range rows, std::byte* to) const {
    if (!unpacks_) return;
    for (size_t row = rows.begin; row < rows.end; to += panel_bytes()) {
        const RowGroup group = row_group(row);
        if (const std::byte* panel = compact_panel(row))
            kernels_->unpack(panel, weights_.n_in, to);
        else
            kernels_->pack(group.rows, group.row_bytes, weights_.n_in, to);
        row += group.count;
    }
}

void Product::multiply(Range rows, Range tokens, const Activations& x, const std::byte* unpacked, float* out,
                       size_t out_stride) const {
    if (unpacks_)
        multiply_panels(rows, tokens, x, unpacked, out, out_stride);
    else
        multiply_rows(rows, tokens, x, out, out_stride);
}

void Product::multiply_rows(Range rows, Range tokens, const Activations& x, float* out, size_t out_stride) const {
    for (size_t row = rows.begin; row < rows.end;) {
        if (const std::byte* panel = compact_panel(row)) {
            kernels_->compact(panel, x, tokens.begin, tokens.size(), out, out_stride);
            row += kPanelRows;
            out += kPanelRows;
            continue;
        }
        const RowGroup group = row_group(row);
        for (size_t t = 0; t < tokens.size(); ++t) {
            float* to = out + t * out_stride;
            if (group.count == kPanelRows) {
                kernels_->rows(group.rows, group.row_bytes, x, tokens.begin + t, to);
            } else {
                alignas(64) float all[kPanelRows];
                kernels_->rows(group.rows, group.row_bytes, x, tokens.begin + t, all);
                std::memcpy(to, all + group.skip, group.count * sizeof(float));
            }
        }
        row += group.count;
        out += group.count;
    }
}

void Product::multiply_panels(Range rows, Range tokens, const Activations& x, const std::byte* unpacked, float* out,
                              size_t out_stride) const {
    const size_t bytes = panel_bytes(), n_full = rows.size() / kPanelRows;
    if (n_full != 0) kernels_->panel(unpacked, bytes, n_full, x, tokens.begin, tokens.size(), out, out_stride);
    // The rows that do not fill a panel.
    unpacked += n_full * bytes;
    out += n_full * kPanelRows;
    for (size_t row = rows.begin + n_full * kPanelRows; row < rows.end; unpacked += bytes) {
        const RowGroup group = row_group(row);
        alignas(64) float all[kTokenGroup * kPanelRows];
        for (size_t t = 0; t < tokens.size(); t += kTokenGroup) {
            const size_t n = std::min(kTokenGroup, tokens.size() - t);
            kernels_->panel(unpacked, bytes, 1, x, tokens.begin + t, n, all, kPanelRows);
            for (size_t i = 0; i < n; ++i)
                std::memcpy(out + (t + i) * out_stride, all + i * kPanelRows + group.skip, group.count * sizeof(float));
        }
        row += group.count;
        out += group.count;
    }
}

}  // namespace minfer::cpu
