// libFuzzer: any bytes as the front matter of a README.md become metadata, or a FormatError.
#include <cstdint>
#include <string>

#include "base/error.h"
#include "convert/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace minfer::convert;
    const std::string text = "---\n" + std::string(reinterpret_cast<const char*>(data), size);
    try {
        authorship_metadata(parse_model_card(text, "fuzz"), "", "folder", 1'000'000);
    } catch (const minfer::FormatError&) {
    }
    return 0;
}
