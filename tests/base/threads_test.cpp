#include "base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace minfer {
namespace {

TEST(ThreadPool, EachThreadRunsOnceAndItsWritesAreSeen) {
    for (const int n : {1, 2, 3, 7, 16}) {
        ThreadPool pool(n);
        EXPECT_EQ(pool.size(), n);
        std::vector<int> calls(size_t(n), 0);  // plain ints: a missing barrier is a race that tsan reports
        const std::thread::id caller = std::this_thread::get_id();
        for (int round = 1; round <= 300; ++round) {
            pool.parallel([&](int thread, int n_threads) {
                EXPECT_EQ(n_threads, n);
                EXPECT_EQ(std::this_thread::get_id() == caller, thread == 0);
                ++calls[size_t(thread)];
            });
            for (const int c : calls) ASSERT_EQ(c, round);
        }
    }
}

TEST(ThreadPool, WakesThreadsThatSleep) {
    ThreadPool pool(3);
    for (int round = 0; round < 5; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than any spinning
        std::atomic<int> calls = 0;
        pool.parallel([&](int, int) { ++calls; });
        EXPECT_EQ(calls, 3);
    }
}

TEST(ThreadPool, WaitsForASlowThread) {
    ThreadPool pool(2);
    bool done = false;
    pool.parallel([&](int thread, int) {
        if (thread == 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        done = true;
    });
    EXPECT_TRUE(done);
}

TEST(ThreadPool, RethrowsTheExceptionOfTheLowestThread) {
    ThreadPool pool(4);
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> calls = 0;
        try {
            pool.parallel([&](int thread, int) {
                ++calls;
                if (thread >= 2) throw std::runtime_error(std::to_string(thread));
            });
            FAIL();
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "2");
        }
        EXPECT_EQ(calls, 4);
        pool.parallel([&](int, int) { ++calls; });  // none is left over for the next call
        EXPECT_EQ(calls, 8);
    }
}

TEST(ThreadPool, RefusesImpossibleNumbers) {
    EXPECT_THROW(ThreadPool(-1), UsageError);
    EXPECT_THROW(ThreadPool(ThreadPool::kMaxThreads + 1), UsageError);
}

TEST(ThreadPool, TakesItsThreadsFromTheAffinityMask) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(usable_cpus(), CPU_COUNT(&before));
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(), 1);
    EXPECT_EQ(ThreadPool().size(), 1);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(WorkQueue, HandsOutEachItemOnce) {
    for (const size_t grain : {0, 1, 3, 100}) {
        std::vector<int> taken(50, 0);
        WorkQueue queue(taken.size(), grain);
        ThreadPool pool(3);
        pool.parallel([&](int, int) {
            while (const WorkQueue::Piece piece = queue.next())
                for (size_t i = piece.begin; i < piece.end; ++i) ++taken[i];
        });
        for (const int t : taken) EXPECT_EQ(t, 1);
        EXPECT_FALSE(queue.next());
    }
}

}  // namespace
}  // namespace minfer
