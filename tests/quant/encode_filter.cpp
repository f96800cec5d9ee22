// encode_filter SET <REQUESTS >BYTES: minfer's encoders as a filter, for a build for another machine under its
// emulator. A request is six int64 (type, rows, row length, whether importance follows, bytes of the result,
// arithmetic), the values and the importance of one row as float32, all as this machine lays them out.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "base/cpu_features.h"
#include "quant/encode.h"

namespace {

namespace gguf = minfer::gguf;
namespace quant = minfer::quant;

bool read_floats(std::vector<float>& values, size_t n) {
    values.resize(n);
    return std::fread(values.data(), sizeof(float), n, stdin) == n;
}

int encode_requests(const char* set_name) {
    const quant::EncoderSet& set = quant::choose_encoder_set(minfer::detect_cpu_features(), set_name);
    int64_t request[6];
    while (std::fread(request, sizeof request[0], 6, stdin) == 6) {
        std::vector<float> values, importance;
        if (!read_floats(values, size_t(request[1] * request[2]))) return 2;
        if (!read_floats(importance, request[3] != 0 ? size_t(request[2]) : 0)) return 2;
        std::vector<std::byte> out(size_t(request[4]), std::byte(0));
        quant::encode_rows(gguf::TensorType(request[0]), values, request[1], request[2], out,
                           {.arithmetic = quant::Arithmetic(request[5]), .importance = importance, .set = &set});
        if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) return 3;
    }
    return std::fflush(stdout) == 0 ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return encode_requests(argc == 2 ? argv[1] : "");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "encode_filter: %s\n", e.what());
        return 1;
    }
}
