#include "backend/cpu/repacked_weights.h"

#include <algorithm>

#include "backend/cpu/compact.h"
#include "random_weights.h"
#include "repacked.h"

namespace minfer::cpu::test {
namespace {

struct Span {
    const std::byte *begin, *end;
};

TEST(RepackedWeights, AreThePanelsOfAllWholeGroupsAndEachRowIsReportedOnce) {
    const Kernels& kernels = choose_kernels(detect_cpu_features());
    // Less than a panel; panels and a rest; several items of work, the last of them short.
    const RandomWeights few(gguf::TensorType::Q4_0, 15, 64, 1), rest(gguf::TensorType::Q6_K, 37, 256, 2),
        many(gguf::TensorType::F16, 5000, 1027, 3), odd(gguf::TensorType::F16, 16, 3, 4);
    for (const int n_threads : {1, 3}) {
        std::vector<Weights> weights = {few.weights(), rest.weights(), many.weights(), odd.weights()};
        std::vector<Weights*> matrices;
        for (Weights& w : weights) matrices.push_back(&w);
        ThreadPool pool(n_threads);
        std::vector<Span> reported;
        size_t total = 0;
        const Pages pages = repack(kernels, pool, matrices, [&](std::span<const std::byte> rows, size_t n_bytes) {
            reported.push_back({rows.data(), rows.data() + rows.size()});
            total = n_bytes;
        });

        EXPECT_EQ(weights[0].panels, nullptr);
        for (size_t i = 1; i < weights.size(); ++i) {
            const Weights& w = weights[i];
            ASSERT_GE(w.panels, pages.data());
            EXPECT_EQ((w.panels - pages.data()) % 64, 0);
            const size_t bytes = w.n_out / 16 * compact_bytes(w.type, w.n_in);
            ASSERT_LE(w.panels + bytes, pages.data() + pages.size());
            const Repacked expected(*matrices[i]);
            EXPECT_EQ(std::memcmp(w.panels, expected.weights().panels, bytes), 0) << i;
        }
        // In order, the reports of each matrix follow one another without a gap.
        std::ranges::sort(reported, {}, &Span::begin);
        size_t sum = 0;
        for (size_t i = 0; i < weights.size(); ++i) {
            const Weights& w = weights[i];
            const std::byte* next = w.data;
            for (const Span& s : reported)
                if (s.begin == next && s.end <= w.data + w.n_out * w.row_bytes) next = s.end;
            EXPECT_EQ(next, w.data + w.n_out / 16 * 16 * w.row_bytes) << i;
            sum += size_t(next - w.data);
        }
        size_t all = 0;
        for (const Span& s : reported) all += size_t(s.end - s.begin);
        EXPECT_EQ(all, sum);
        EXPECT_EQ(total, sum) << "what is announced is what is reported in the end";
        EXPECT_GT(reported.size(), 4u);
    }
}

}  // namespace
}  // namespace minfer::cpu::test
