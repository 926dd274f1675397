#include "thread_pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace cofit {
namespace {

struct Job {
  Piece piece;
  void* context;
  std::size_t pieces;
  std::size_t helpers_wanted;  // guarded by Pool::mutex_
  std::size_t helpers_active = 0;  // guarded by Pool::mutex_
  std::size_t next_slot = 1;   // guarded by Pool::mutex_; the caller has slot 0
  Job* next = nullptr;
  std::atomic<std::size_t> next_piece{0};
  std::condition_variable helpers_left;

  void work(std::size_t slot) {
    for (;;) {
      const std::size_t i = next_piece.fetch_add(1, std::memory_order_relaxed);
      if (i >= pieces) return;
      piece(context, i, slot);
    }
  }
};

class Pool {
 public:
  const pid_t owner = getpid();

  void run(Job& job, std::size_t helpers) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      ensure_workers(helpers);
      job.helpers_wanted = helpers < workers_ ? helpers : workers_;
      if (job.helpers_wanted > 0) push(job);
    }
    if (helpers == 1)
      job_came_.notify_one();
    else
      job_came_.notify_all();
    job.work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    remove(job);
    job.helpers_left.wait(lock, [&job] { return job.helpers_active == 0; });
  }

 private:
  void ensure_workers(std::size_t count) {
    if (workers_ >= count) return;
    sigset_t all, before;  // signals belong to the threads that Python knows
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; workers_ < count; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {  // no more threads to be had: fewer helpers, same result
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      job_came_.wait(lock, [this] { return first_ != nullptr; });
      Job& job = *first_;
      const std::size_t slot = job.next_slot++;
      ++job.helpers_active;
      if (--job.helpers_wanted == 0) remove(job);
      lock.unlock();
      job.work(slot);
      lock.lock();
      if (--job.helpers_active == 0) job.helpers_left.notify_one();
    }
  }

  void push(Job& job) {
    Job** end = &first_;
    while (*end != nullptr) end = &(*end)->next;
    *end = &job;
  }

  void remove(Job& job) {
    for (Job** link = &first_; *link != nullptr; link = &(*link)->next) {
      if (*link == &job) {
        *link = job.next;
        return;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable job_came_;
  Job* first_ = nullptr;  // jobs that want more helpers
  std::size_t workers_ = 0;
};

// Never destroyed: workers may still sleep in it when the process ends. A forked child has none of the workers
// and perhaps a locked mutex, so it abandons its copy and starts afresh.
std::atomic<Pool*> current_pool{nullptr};

Pool* pool() {
  Pool* found = current_pool.load(std::memory_order_acquire);
  while (found == nullptr || found->owner != getpid()) {
    Pool* fresh = new (std::nothrow) Pool;
    if (fresh == nullptr) return nullptr;
    if (current_pool.compare_exchange_strong(found, fresh, std::memory_order_acq_rel)) return fresh;
    delete fresh;
  }
  return found;
}

}  // namespace

void run_pieces(std::size_t threads, std::size_t pieces, Piece piece, void* context) {
  Job job;
  job.piece = piece;
  job.context = context;
  job.pieces = pieces;
  const std::size_t useful = threads < pieces ? threads : pieces;
  Pool* const helpers = useful > 1 ? pool() : nullptr;
  if (helpers != nullptr)
    helpers->run(job, useful - 1);
  else
    job.work(0);
}

}  // namespace cofit
