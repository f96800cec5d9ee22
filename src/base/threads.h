// Threads that wait for work: one pool a process, made once, asked many times a second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace minfer {

// How many CPUs this process may run on: the affinity mask, so taskset and containers' cpusets count.
int usable_cpus();

class ThreadPool {
  public:
    // `n_threads` counts the caller; 0 means usable_cpus(). Throws UsageError below 0 and above kMaxThreads.
    explicit ThreadPool(int n_threads = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    static constexpr int kMaxThreads = 1024;

    int size() const { return int(workers_.size()) + 1; }

    // Calls fn(thread, n_threads) once on each thread, thread 0 being the caller, and returns when all have returned.
    // What fn wrote is visible to the caller. If calls throw, the exception of the lowest thread is rethrown here,
    // after all have ended. Allocates nothing. One call at a time: not from inside fn, nor from two threads at once.
    template <class Function>
    void parallel(Function&& fn) {
        using Target = std::remove_reference_t<Function>;
        run([](void* target, int thread, int n_threads) { (*static_cast<Target*>(target))(thread, n_threads); },
            const_cast<void*>(static_cast<const void*>(&fn)));
    }

  private:
    using Call = void (*)(void* target, int thread, int n_threads);

    void run(Call call, void* target);
    void next_round();
    void stop();
    void work(int thread);
    void call_one(int thread) noexcept;

    // The job, written by run() before `round_` is raised and read by workers after they saw it.
    int spins_ = 0;
    Call call_ = nullptr;
    void* target_ = nullptr;
    std::vector<std::exception_ptr> errors_;  // [thread]

    alignas(64) std::atomic<uint32_t> round_ = 0;  // raised once a job, and once more to stop
    alignas(64) std::atomic<int> running_ = 0;     // workers that have not finished the job
    std::atomic<int> sleepers_ = 0;                // workers at, or on their way to, the condition variable
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::thread> workers_;
};

// Hands out the items 0 .. n_items - 1 in pieces of `grain`, each once, to whoever asks next. Which thread gets what
// depends on timing: what is computed for an item must not depend on it.
class WorkQueue {
  public:
    WorkQueue(size_t n_items, size_t grain) : n_items_(n_items), grain_(grain ? grain : 1) {}

    struct Piece {
        size_t begin, end;
        explicit operator bool() const { return begin < end; }
    };
    Piece next() {
        const size_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
        if (begin >= n_items_) return {n_items_, n_items_};
        return {begin, n_items_ - begin < grain_ ? n_items_ : begin + grain_};
    }

  private:
    size_t n_items_, grain_;
    alignas(64) std::atomic<size_t> next_ = 0;
};

}  // namespace minfer
