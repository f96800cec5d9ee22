// A program of its own: it counts what `operator new` is asked for, which ThreadSanitizer's library defines too.
#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/backend.h"
#include "base/cpu_features.h"
#include "count_allocations.h"
#include "graph/tiny_model.h"
#include "runtime/batch.h"
#include "runtime/scheduler.h"

namespace minfer::cpu {
namespace {

using minfer::test::Batch;
using minfer::test::Cells;
using minfer::test::Sequence;
using minfer::test::TinyModel;
using minfer::test::TinyShape;

constexpr size_t kCells = 256;

TEST(CpuBackend, ADecodeStepAllocatesNothing) {
    TinyShape shape;
    shape.bias = true;
    const TinyModel model(shape, 3);
    ThreadPool pool(2);
    CpuBackend cpu(choose_kernels(detect_cpu_features()), pool);
    runtime::Scheduler scheduler({&cpu}, model.weights(), model.layout(kCells),
                                 [&](const graph::GraphParams& params) { return model.build(params); });
    Cells cells(kCells, 1);
    Sequence sequence;
    const auto step = [&](const std::vector<int32_t>& ids) {
        Batch batch;
        batch.add(sequence, cells, ids, 1);
        const size_t before = test::n_allocations();
        scheduler.run(model.params(ids.size(), 1), batch.inputs());
        return test::n_allocations() - before;
    };
    EXPECT_GT(step({1, 2, 3}), 0u);
    step({4});
    for (int i = 0; i < 100; ++i) ASSERT_EQ(step({i % 29}), 0u) << "step " << i;
    EXPECT_EQ(scheduler.statistics().n_build, 2u);
}

}  // namespace
}  // namespace minfer::cpu
