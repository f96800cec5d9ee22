#include "encode_cases.h"

#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/half.h"

namespace minfer::test {
namespace {

// splitmix64: the standard's distributions differ between libraries.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    double uniform() { return double(next() >> 11) * 0x1p-53; }
    int below(int n) { return int(next() % uint64_t(n)); }
    // The sum of twelve uniforms: near enough to a normal, and exact arithmetic on any machine.
    float normal() {
        double sum = -6.0;
        for (int i = 0; i < 12; ++i) sum += uniform();
        return float(sum);
    }
    float heavy() { return normal() / float(0.02 + uniform() * uniform()); }

  private:
    uint64_t state_;
};

constexpr const char* kKinds[] = {"normal",      "heavy",    "constant", "zero groups", "subnormal",     "f16 values",
                                  "bf16 values", "grid",     "huge",     "offset",      "f16 subnormal", "one outlier",
                                  "tiny range",  "positive", "negative", "two values"};
constexpr int kKindCount = int(std::size(kKinds));

void fill_row(float* x, int64_t n, int kind, Random& random) {
    float group = 0.0f;
    int exponent = 0;
    for (int64_t i = 0; i < n; ++i) {
        const bool starts_group = i % 16 == 0;
        switch (kind) {
            case 0:
                x[i] = 0.05f * random.normal();
                break;
            case 1:
                x[i] = 0.01f * random.heavy();
                break;
            case 2:  // a constant a group of 16 or 32, some of them 0
                if (i % (16 << random.below(2)) == 0) group = random.below(4) == 0 ? 0.0f : random.normal();
                x[i] = group;
                break;
            case 3:  // zero groups, and groups that only count as zero
                if (starts_group) group = random.below(3) == 0 ? 0.0f : random.below(4) == 0 ? 1e-16f : 1.0f;
                x[i] = group * random.normal();
                break;
            case 4:  // subnormal floats, and scales around them
                if (starts_group) exponent = -149 + random.below(30);
                x[i] = std::ldexp(random.normal(), exponent);
                break;
            case 5:
                x[i] = f16_to_f32(f32_to_f16(0.05f * random.normal()));
                break;
            case 6:
                x[i] = bf16_to_f32(f32_to_bf16(0.05f * random.normal()));
                break;
            case 7:  // few steps, so that sums and roundings tie
                x[i] = float(random.below(33) - 16) * 0.125f;
                break;
            case 8:
                if (starts_group) exponent = 60 + random.below(67);
                x[i] = std::ldexp(float(random.uniform() * 2 - 1), exponent);
                break;
            case 9:
                x[i] = 1.0f + 0.001f * random.normal();
                break;
            case 10:  // scales among the subnormal halves
                if (starts_group) exponent = -26 + random.below(14);
                x[i] = std::ldexp(random.normal(), exponent);
                break;
            case 11:
                x[i] = random.below(100) == 0 ? 8.0f * random.normal() : 0.01f * random.normal();
                break;
            case 12:  // a range of a few last places
                x[i] = std::nextafter(0.5f, random.below(2) == 0 ? 0.0f : 1.0f) + 0x1p-24f * float(random.below(5));
                break;
            case 13:
                x[i] = std::fabs(random.normal());
                break;
            case 14:
                x[i] = -std::fabs(random.normal());
                break;
            default:  // +a and -a: which comes first decides the sign of the scale
                x[i] = random.below(2) == 0 ? 0.75f : -0.75f;
                break;
        }
    }
}

// Squares of heavy tails, as activations give; some columns never lit up.
std::vector<float> make_importance(int64_t n, Random& random) {
    std::vector<float> importance(size_t(n), 0.0f);
    for (float& v : importance) {
        const float a = random.heavy();
        v = random.below(20) == 0 ? 0.0f : 0.1f * a * a;
    }
    return importance;
}

}  // namespace

std::string row_kind(int64_t row) { return kKinds[row % kKindCount]; }

std::vector<EncodeCase> encode_cases(gguf::TensorType type, int64_t n_values, uint64_t seed) {
    Random random(seed);
    std::vector<int64_t> lengths;
    for (const int64_t length : {32, 64, 96, 224, 256, 512, 768, 896, 1280, 2048, 4096})
        if (length % int64_t(gguf::block_size(type)) == 0 && (length <= 256 || length * kKindCount <= n_values))
            lengths.push_back(length);
    std::vector<EncodeCase> cases;
    for (const bool weighted : {false, true}) {
        for (const int64_t length : lengths) {
            // At least every kind once, in an odd number of rows, so that blocks do not come in lanes' multiples.
            int64_t rows = n_values / int64_t(lengths.size()) / length;
            rows = rows < kKindCount ? kKindCount + 1 : rows | 1;
            EncodeCase c;
            c.name = std::to_string(rows) + " rows of " + std::to_string(length) + (weighted ? " with importance" : "");
            c.row_length = length;
            c.values.resize(size_t(rows * length));
            for (int64_t row = 0; row < rows; ++row)
                fill_row(c.values.data() + row * length, length, int(row % kKindCount), random);
            if (weighted) c.importance = make_importance(length, random);
            cases.push_back(std::move(c));
        }
    }
    return cases;
}

int64_t test_values(int64_t otherwise) {
    const char* words = std::getenv("MINFER_TEST_VALUES");
    return words != nullptr ? std::atoll(words) : otherwise;
}

}  // namespace minfer::test
