#include "rpc/port_watch.h"

#include <utility>

#include "base/log.h"
#include "rpc/server_probe.h"

namespace inlier {

PortWatch::PortWatch(std::string address, bool tls, Duration period)
    : address_(std::move(address)), tls_(tls), period_(period), thread_([this] { Run(); }) {}

void PortWatch::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PortWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, period_, [this] { return stopped_; })) {
    lock.unlock();
    Ask();
    lock.lock();
  }
}

void PortWatch::Ask() {
  const bool answered_before = answers();
  failures_ = Answers(address_, tls_, period_) ? 0 : failures_ + 1;
  if (answered_before == answers()) return;
  if (answers()) {
    spdlog::info("port_answers_again address={}", address_);
  } else {
    spdlog::error("port_does_not_answer address={} remedy=\"restart the daemon; its service manager does\"",
                  address_);
  }
}

}  // namespace inlier
