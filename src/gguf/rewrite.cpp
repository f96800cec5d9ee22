#include "gguf/rewrite.h"

#include <algorithm>

#include "gguf/split_name.h"

namespace minfer::gguf {
namespace {

constexpr uint64_t kPieceBytes = uint64_t(1) << 16;

}  // namespace

void rewrite_header(const Gguf& source, Writer& out) {
    for (const auto& [key, value] : source.metadata())
        if (!is_split_key(key)) out.set(key, value);
    for (const TensorInfo& tensor : source.tensors()) out.add_tensor(spec_of(tensor));
    out.protect(source);
}

bool is_canonical(const Gguf& source) {
    if (source.parts().size() != 1 || source.has(kSplitNoKey) || source.has(kSplitCountKey) ||
        source.has(kSplitTensorsCountKey))
        return false;
    std::vector<TensorSpec> tensors;
    for (const TensorInfo& tensor : source.tensors()) tensors.push_back(spec_of(tensor));
    const File& file = source.file(0);
    uint64_t end = 0;  // of what was compared
    std::vector<std::byte> found;
    // Pieces of a header can be a vocabulary, and padding any power of two: neither has to fit in memory twice.
    const auto continues_with = [&](uint64_t n, const auto& is_expected) {
        while (n > 0) {
            found.resize(size_t(std::min(n, kPieceBytes)));
            if (found.size() > file.size() - end) return false;
            file.pread_exact(end, found);
            if (!is_expected(std::span<const std::byte>(found))) return false;
            end += found.size();
            n -= found.size();
        }
        return true;
    };
    const auto continues_with_padding = [&] {
        return continues_with((source.alignment() - end % source.alignment()) % source.alignment(), [](auto piece) {
            return std::ranges::all_of(piece, [](std::byte b) { return b == std::byte{0}; });
        });
    };
    bool same = true;
    encode_header(source.metadata(), tensors, source.alignment(), [&](std::span<const std::byte> bytes) {
        same = same && continues_with(bytes.size(), [&](auto piece) {
                   const bool equal = std::ranges::equal(piece, bytes.first(piece.size()));
                   bytes = bytes.subspan(piece.size());
                   return equal;
               });
    });
    if (!same || !continues_with_padding()) return false;
    for (const TensorInfo& tensor : source.tensors()) {
        end = tensor.offset + tensor.nbytes;
        if (!continues_with_padding()) return false;
    }
    return end == file.size();
}

void rewrite_tensors(const Gguf& source, Writer& out, Progress& progress) {
    out.begin();
    for (const TensorInfo& tensor : source.tensors()) {
        progress.item(tensor.name);
        out.begin_tensor(tensor.name);
        out.write_copy(source, tensor, [&](uint64_t bytes) { progress.advance(bytes); });
    }
    out.commit();
}

}  // namespace minfer::gguf
