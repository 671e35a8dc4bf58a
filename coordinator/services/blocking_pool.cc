#include "coordinator/services/blocking_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace inlier {

BlockingPool::BlockingPool(const Limits& limits, std::string what) : limits_(limits), what_(std::move(what)) {
  for (int i = 0; i < limits_.threads; ++i) threads_.emplace_back([this] { Serve(); });
}

absl::Status BlockingPool::Refusal(const std::string& caller) const {
  if (joined_) return absl::UnavailableError("the coordinator is stopping; call again when it is back");
  if (calls_ >= limits_.calls_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many ", what_, " at once, at most ", limits_.calls_max, "; try again in a moment"));
  }
  const auto known = callers_.find(caller);
  if (known == callers_.end()) return absl::OkStatus();
  const Queue& calls = known->second;
  if (calls.running + static_cast<int>(calls.waiting.size()) < limits_.calls_per_caller_max)
    return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("too many ", what_, " at once by ", caller.empty() ? "callers without a name" : caller,
                   ", at most ", limits_.calls_per_caller_max, "; wait until one has its answer"));
}

void BlockingPool::Run(const std::string& caller, std::function<void()> work,
                       const std::function<void(absl::Status)>& refuse) {
  std::unique_lock lock(mutex_);
  if (absl::Status refusal = Refusal(caller); !refusal.ok()) {
    lock.unlock();
    return refuse(std::move(refusal));
  }
  ++calls_;
  callers_[caller].waiting.push_back(std::move(work));
  lock.unlock();
  changed_.notify_one();
}

std::map<std::string, BlockingPool::Queue>::iterator BlockingPool::Next() {
  auto at = callers_.upper_bound(last_);
  for (std::size_t looked = 0; looked < callers_.size(); ++looked, ++at) {
    if (at == callers_.end()) at = callers_.begin();
    if (!at->second.waiting.empty() && at->second.running < limits_.threads_per_caller) return at;
  }
  return callers_.end();
}

void BlockingPool::Serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto at = Next();
    if (at == callers_.end()) {
      if (joined_ && calls_ == 0) return;
      changed_.wait(lock);
      continue;
    }
    last_ = at->first;
    Queue& calls = at->second;
    std::function<void()> work = std::move(calls.waiting.front());
    calls.waiting.pop_front();
    ++calls.running;
    lock.unlock();
    work();
    work = nullptr;  // Its captures are freed before its place is.
    lock.lock();
    --calls_;
    if (--calls.running == 0 && calls.waiting.empty()) callers_.erase(at);
    // Another thread may serve this caller now, or end.
    changed_.notify_all();
  }
}

void BlockingPool::Join() {
  {
    const std::lock_guard lock(mutex_);
    joined_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace inlier
