#include "base/threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <utility>

#include "base/error.h"
#include "base/held_signals.h"

namespace minfer {

namespace {

// How often a worker looks for the next job before it sleeps: some tens of microseconds, longer than the gap between
// two operators of a token and much shorter than what a sleeping process is noticed for.
constexpr int kSpins = 4000;

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

int usable_cpus() {
    // The mask's size is the kernel's affair: grow until it fits.
    for (int n = 1024; n <= 1 << 20; n *= 2) {
        cpu_set_t* set = CPU_ALLOC(size_t(n));
        if (!set) break;
        const size_t bytes = CPU_ALLOC_SIZE(size_t(n));
        const bool known = sched_getaffinity(0, bytes, set) == 0;
        const int count = known ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (known) return count > 0 ? count : 1;
    }
    const unsigned all = std::thread::hardware_concurrency();
    return all ? int(all) : 1;
}

ThreadPool::ThreadPool(int n_threads) {
    if (n_threads < 0 || n_threads > kMaxThreads)
        throw UsageError(fmt::format("{} threads, expected 1 to {}, or 0 for one a CPU", n_threads, kMaxThreads));
    if (n_threads == 0) n_threads = std::min(usable_cpus(), kMaxThreads);
    // More threads than CPUs: one that spins would keep from running the one it waits for.
    spins_ = n_threads <= usable_cpus() ? kSpins : 0;
    errors_.resize(size_t(n_threads));
    workers_.reserve(size_t(n_threads) - 1);
    const HeldSignals held;  // which workers leave to the main thread
    try {
        for (int t = 1; t < n_threads; ++t) workers_.emplace_back([this, t] { work(t); });
    } catch (...) {
        stop();
        throw;
    }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
    stop_ = true;
    next_round();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::next_round() {
    // A worker counts itself as a sleeper before it looks at round_ for the last time, and round_ is raised before
    // sleepers_ is read: one of the two sees the other, whatever the order.
    round_.fetch_add(1);
    if (sleepers_.load() == 0) return;
    const std::lock_guard lock(mutex_);
    wake_.notify_all();
}

void ThreadPool::call_one(int thread) noexcept {
    try {
        call_(target_, thread, size());
    } catch (...) {
        errors_[size_t(thread)] = std::current_exception();
    }
}

void ThreadPool::run(Call call, void* target) {
    call_ = call;
    target_ = target;
    running_.store(int(workers_.size()), std::memory_order_relaxed);
    if (!workers_.empty()) next_round();
    call_one(0);
    for (int i = 0; running_.load(std::memory_order_acquire) != 0; ++i) {
        if (i < spins_) {
            relax();
        } else {
            const int left = running_.load(std::memory_order_acquire);
            if (left != 0) running_.wait(left, std::memory_order_acquire);
        }
    }
    for (std::exception_ptr& error : errors_) {
        if (!error) continue;
        const std::exception_ptr first = std::exchange(error, nullptr);
        for (std::exception_ptr& e : errors_) e = nullptr;
        std::rethrow_exception(first);
    }
}

void ThreadPool::work(int thread) {
    uint32_t seen = 0;
    for (;;) {
        for (int i = 0; i < spins_ && round_.load(std::memory_order_acquire) == seen; ++i) relax();
        if (round_.load(std::memory_order_acquire) == seen) {
            sleepers_.fetch_add(1);
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return round_.load() != seen; });
            sleepers_.fetch_sub(1);
        }
        ++seen;
        if (stop_) return;
        call_one(thread);
        if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
    }
}

}  // namespace minfer
