// libFuzzer: any bytes as a safetensors file are a list of tensors within the file, or a FormatError.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "convert/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // The first bytes say how much data follows the header: files are larger than what a fuzzer likes to make.
    uint64_t data_bytes = 0;
    if (size < sizeof data_bytes) return 0;
    std::memcpy(&data_bytes, data, sizeof data_bytes);
    data_bytes >>= 16;
    const std::string_view json(reinterpret_cast<const char*>(data) + sizeof data_bytes, size - sizeof data_bytes);
    const uint64_t file_size = 8 + json.size() + data_bytes;
    try {
        uint64_t sum = 0;
        for (const auto& tensor : minfer::convert::parse_safetensors_header(json, file_size, "fuzz")) {
            if (tensor.offset < 8 + json.size() || tensor.offset + tensor.nbytes > file_size) std::abort();
            sum += tensor.nbytes;
        }
        if (sum != data_bytes) std::abort();
    } catch (const minfer::FormatError&) {
    }
    return 0;
}
