#include "gguf/rewrite.h"

#include <algorithm>

#include "gguf/split_name.h"

namespace minfer::gguf {

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
    const std::vector<std::byte> header = encode_header(source.metadata(), tensors, source.alignment());
    if (header.size() > file.size()) return false;
    std::vector<std::byte> bytes(header.size());
    file.pread_exact(0, bytes);
    if (bytes != header) return false;
    uint64_t end = header.size();
    for (const TensorInfo& tensor : source.tensors()) {
        end = tensor.offset + tensor.nbytes;
        const uint64_t padding = (source.alignment() - end % source.alignment()) % source.alignment();
        if (padding > file.size() - end) return false;
        bytes.resize(size_t(padding));
        file.pread_exact(end, bytes);
        if (std::ranges::any_of(bytes, [](std::byte b) { return b != std::byte{0}; })) return false;
        end += padding;
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
