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
  Agent::Options options;
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

std::optional<absl::Status> WorkerRig::WaitForEnd() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::minutes(1), [this] { return ended_.has_value(); });
  return ended_;
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

v1::Assignment TrainAssignment(std::uint64_t token, std::uint32_t steps, std::uint32_t slot) {
  v1::Assignment assignment;
  assignment.set_token(token);
  assignment.set_stage_id("train-stage");
  assignment.set_kind(v1::TRAIN_STAGE);
  v1::TrialSpec spec;
  spec.mutable_training()->set_steps(steps);
  spec.mutable_training()->set_checkpoint_every(steps + 1);
  assignment.set_spec(spec.SerializeAsString());
  assignment.set_slot(slot);
  assignment.set_attempt(1);
  return assignment;
}

v1::Assignment EvaluateAssignment(std::uint64_t token, const std::string& checkpoint_sha256,
                                  std::uint32_t slot) {
  v1::Assignment assignment;
  assignment.set_token(token);
  assignment.set_stage_id("evaluate-stage");
  assignment.set_kind(v1::EVALUATE_STAGE);
  v1::TrialSpec spec;
  spec.set_seed(1);
  assignment.set_spec(spec.SerializeAsString());
  assignment.set_slot(slot);
  assignment.set_attempt(1);
  assignment.set_checkpoint_sha256(checkpoint_sha256);
  return assignment;
}

}  // namespace inlier
