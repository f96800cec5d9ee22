// Any bytes as a GGUF header: an index that lies within the file, or a FormatError. What is read is written again and
// read again, and must be the same.
#include <cstdlib>

#include "base/error.h"
#include "gguf/reader.h"
#include "gguf/writer.h"

namespace {

using namespace minfer;  // NOLINT(google-build-using-namespace): one file, one function

void require(bool condition) {
    if (!condition) std::abort();
}

void check(const gguf::Header& header, uint64_t size) {
    std::vector<gguf::TensorSpec> specs;
    uint64_t end = header.data_offset, data_bytes = 0;
    for (const gguf::TensorInfo& t : header.tensors) {
        require(t.offset % header.alignment == header.data_offset % header.alignment);
        require(t.offset >= end && t.nbytes > 0 && t.nbytes <= size - t.offset);
        end = t.offset + t.nbytes;
        data_bytes = end - header.data_offset;
        specs.push_back(gguf::spec_of(t));
        require(specs.back().nbytes() == t.nbytes);
    }
    for (const gguf::KeyValue& entry : header.metadata) entry.value.describe();
    if (header.alignment > 4096) return;  // its padding would only take memory
    std::vector<std::byte> again;
    gguf::encode_header(header.metadata, specs, header.alignment, [&](std::span<const std::byte> bytes) {
        again.insert(again.end(), bytes.begin(), bytes.end());
    });
    again.resize((again.size() + header.alignment - 1) / header.alignment * header.alignment);
    const gguf::Header second = gguf::parse_header(again, again.size() + data_bytes, "again");
    require(second.metadata == header.metadata && second.tensors.size() == header.tensors.size());
    for (size_t i = 0; i < specs.size(); ++i) {
        require(second.tensors[i].name == header.tensors[i].name && second.tensors[i].ne == header.tensors[i].ne);
        require(second.tensors[i].offset - second.data_offset == header.tensors[i].offset - header.data_offset);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    // The second length is of a file whose tensors follow the bytes at hand, so that indices of large tensors are read
    // too.
    for (const uint64_t file_size : {uint64_t(size), uint64_t(size) + (uint64_t(1) << 40)}) {
        try {
            check(gguf::parse_header(bytes, file_size, "fuzz"), file_size);
        } catch (const FormatError&) {
        }
    }
    return 0;
}
