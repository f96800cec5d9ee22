#include "engine/model_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/sha256.h"

namespace minfer::engine {

namespace {

void add(Sha256& hash, std::string_view text) { hash.update(std::as_bytes(std::span(text))); }

}  // namespace

std::string model_identity(const gguf::Gguf& file, ThreadPool& threads) {
    std::vector<const gguf::TensorInfo*> tensors;
    for (const gguf::TensorInfo& tensor : file.tensors()) tensors.push_back(&tensor);
    std::ranges::sort(tensors, {}, &gguf::TensorInfo::name);
    std::vector<std::string> digests(tensors.size());
    WorkQueue queue(tensors.size(), 1);
    threads.parallel([&](int, int) {
        while (const WorkQueue::Piece piece = queue.next()) {
            Sha256 hash;
            hash.update(file.data(*tensors[piece.begin]));
            digests[piece.begin] = hash.hex_digest();
        }
    });
    std::vector<const gguf::KeyValue*> metadata;
    for (const gguf::KeyValue& entry : file.metadata())
        if (!entry.key.starts_with("general.") && !entry.key.starts_with("split.")) metadata.push_back(&entry);
    std::ranges::sort(metadata, {}, &gguf::KeyValue::key);
    Sha256 hash;
    add(hash, file.architecture());
    for (const gguf::KeyValue* entry : metadata) {
        const gguf::Value& value = entry->value;
        add(hash, fmt::format("\n{} {} {} {}:", entry->key, uint32_t(value.type()), uint32_t(value.item_type()),
                              value.bytes().size()));
        hash.update(value.bytes());
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
        const gguf::TensorInfo& t = *tensors[i];
        add(hash, fmt::format("\n{} {} {} {} {} {} {}", t.name, gguf::type_name(t.type), t.ne[0], t.ne[1], t.ne[2],
                              t.ne[3], digests[i]));
    }
    return hash.hex_digest();
}

}  // namespace minfer::engine
