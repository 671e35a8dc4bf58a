#include "tests/worker/worker_rig.h"

#include <boost/asio/post.hpp>
#include <fstream>
#include <future>

#include "base/check.h"
#include "base/processes/usable_cpus.h"
#include "base/version.h"

namespace inlier {

WorkerRig::WorkerRig(const std::filesystem::path& state_dir, const std::string& coordinator,
                     RigSettings settings)
    : state_dir_(state_dir) {
  std::filesystem::create_directories(state_dir_ / "data");
  absl::StatusOr<std::unique_ptr<Outbox>> outbox =
      Outbox::Open(state_dir_, settings.incarnation, settings.outbox_events_max);
  INLIER_CHECK(outbox.ok());
  outbox_ = *std::move(outbox);
  AgentOptions options;
  options.incarnation = settings.incarnation;
  options.name = "rig";
  options.host = "here";
  options.version = Version();
  options.slots = PlanSlots(FindUsableCpus().bound_to, {}, settings.slots, std::nullopt);
  for (std::uint32_t i = 0; i < settings.slots_elsewhere; ++i)
    options.slots.push_back({.index = settings.slots + i,
                             .device = "cpu@n2",
                             .machine = "n2",
                             .address = "127.0.0.2",
                             .launch = {"env", "MACHINE=n2"}});
  options.attempts.state_dir = state_dir_;
  options.attempts.data_dir = state_dir_ / "data";
  options.attempts.cache_dir = state_dir_ / "cache";
  options.attempts.trial_program = settings.trial_program;
  options.attempts.trial_environment = {"FAKE_*"};
  options.attempts.line_bytes_max = settings.line_bytes_max;
  options.attempts.stop_grace = settings.stop_grace;
  options.attempts.killed_wait = settings.killed_wait;
  options.attempts.artifact_wait = settings.artifact_wait;
  options.client.hold = settings.hold;
  options.client.address = coordinator;
  options.client.backoff = {std::chrono::milliseconds(10), std::chrono::milliseconds(50)};
  agent_ = std::make_unique<Agent>(io_, std::move(options), *outbox_, metrics_,
                                   [this](const absl::Status& status) {
                                     const std::lock_guard lock(mutex_);
                                     ended_ = status;
                                     changed_.notify_all();
                                   });
  metrics_.registry.OnScrape([this](MetricsRegistry&) { agent_->UpdateMetrics(); });
  boost::asio::post(io_, [this] { agent_->Start(); });
  thread_ = std::thread([this] { io_.run(); });
}

WorkerRig::~WorkerRig() {
  Abort();
  guard_.reset();
  io_.stop();
  thread_.join();
  agent_.reset();
}

template <typename Work>
void WorkerRig::OnThread(Work work) {
  std::promise<void> done;
  boost::asio::post(io_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

void WorkerRig::SetBehaviour(const std::string& behaviour) {
  std::ofstream(state_dir_ / "data" / "fake_trial.behaviour") << behaviour;
}

void WorkerRig::Drain() {
  OnThread([this] { agent_->Drain("the test asks for it"); });
}

void WorkerRig::Abort() {
  OnThread([this] { agent_->Abort("the test asks for it"); });
}

absl::Status WorkerRig::WaitForEnd() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::minutes(1), [this] { return ended_.has_value(); });
  return ended_.value_or(absl::DeadlineExceededError("the agent runs"));
}

std::string WorkerRig::MetricsText() {
  std::string text;
  OnThread([&] { text = metrics_.registry.Expose(); });
  return text;
}

bool WorkerRig::WaitForMetric(const std::string& line) {
  const Timestamp deadline = MonotonicNow() + std::chrono::minutes(1);
  while (MetricsText().find("\n" + line + "\n") == std::string::npos) {
    if (MonotonicNow() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace inlier
