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

// Arenas and scratch memory are pages of the system's, which operator new does not see: they say themselves that they
// did not grow.
TEST(CpuBackend, ADecodeStepAllocatesNothing) {
    for (const bool repack : {false, true}) {
        TinyShape shape;
        shape.bias = true;
        const TinyModel model(shape, 3);  // of floats, which are repacked at the first steps: a matrix at each
        ThreadPool pool(2);
        CpuBackend cpu(choose_kernels(detect_cpu_features()), pool,
                       {.enabled = repack, .repacked = {}, .bytes_a_step = 1});
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
        if (repack) {
            EXPECT_GT(step({5}), 0u) << "for the panels of a matrix";
            for (int i = 0; i < 20; ++i) step({i});  // there are 15 matrices
        }
        const size_t scratch = cpu.scratch().capacity(), growth = scheduler.statistics().n_arena_growth;
        for (int i = 0; i < 100; ++i) ASSERT_EQ(step({i % 29}), 0u) << "step " << i;
        EXPECT_EQ(cpu.scratch().capacity(), scratch);
        EXPECT_EQ(scheduler.statistics().n_arena_growth, growth);
        EXPECT_EQ(scheduler.statistics().n_build, 2u);
    }
}

}  // namespace
}  // namespace minfer::cpu
