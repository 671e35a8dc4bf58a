#include "bench/dispatch/load.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "base/uuid.h"
#include "base/version.h"
#include "bench/dispatch/load_report.h"
#include "rpc/rpc.h"

namespace inlier {

void Die(const std::string& message) {
  std::fprintf(stderr, "dispatch_load: error: %s\n", message.c_str());
  std::exit(1);
}

namespace {

std::shared_ptr<grpc::Channel> ChannelWith(const std::string& token_file, const LoadOptions& options) {
  ClientSecurity security;
  const absl::StatusOr<std::string> token = ReadToken(token_file, "token file");
  if (!token.ok()) Die(std::string(token.status().message()));
  security.token = *token;
  const auto channel = MakeSecureChannel(options.address, security);
  if (!channel.ok()) Die(std::string(channel.status().message()));
  return *channel;
}

}  // namespace

v1::SubmitSweepRequest SweepOf(const LoadOptions& options, const std::string& name, std::uint32_t seed,
                               std::uint32_t trainings) {
  v1::SubmitSweepRequest request;
  request.set_request_id(RandomUuid());
  request.set_max_trials(static_cast<std::uint64_t>(trainings) * options.evaluations);
  v1::SweepSpec& sweep = *request.mutable_sweep();
  sweep.set_name(name);
  *sweep.mutable_base() = LoadTrial();
  v1::Axis& seeds = *sweep.add_axes();
  seeds.set_field("seed");
  for (std::uint32_t i = 0; i < trainings; ++i) seeds.add_values()->set_number_value(seed + i);
  if (options.evaluations > 1) {
    v1::Axis& evaluations = *sweep.add_axes();
    evaluations.set_name("calibration_seed");
    evaluations.set_field("quantization.calibration.seed");
    for (std::uint32_t i = 1; i <= options.evaluations; ++i) evaluations.add_values()->set_number_value(i);
  }
  return request;
}

Load::Load(const LoadOptions& options) : options_(options) {
  for (int i = 0; i < kChannels; ++i)
    workers_.push_back(v1::WorkerService::NewStub(ChannelWith(options.worker_token_file, options)));
  sweeps_ = v1::SweepService::NewStub(ChannelWith(options.token_file, options));
  const std::string run = RandomUuid().substr(0, 8);
  for (std::uint32_t i = 0; i < options.sessions; ++i) {
    LoadSession::Options session;
    session.incarnation = absl::StrCat("load-", run, "-", i);
    session.version = Version();
    session.slots = options.slots;
    session.points = options.points;
    session.holds = options.Paced();
    LoadSession::Hooks hooks;
    hooks.on_lease = [this](const v1::Assignment& assignment) { OnLease(assignment); };
    hooks.on_committed = [this](std::uint64_t count) { OnCommitted(count); };
    hooks.on_end = [this](const grpc::Status& status) { OnEnd(status); };
    sessions_.push_back(
        std::make_unique<LoadSession>(*workers_[i % kChannels], std::move(session), std::move(hooks)));
  }
  for (auto& session : sessions_) session->Start();
  poller_ = std::thread([this] {
    for (Timestamp last = MonotonicNow(); !stop_; ::usleep(1000)) {
      const Timestamp now = MonotonicNow();
      for (auto& session : sessions_) session->Poll(now);
      if (options_.Paced()) EndAttempts(options_.load * ToSeconds(now - last));
      last = now;
    }
  });
}

Load::~Load() {
  stop_ = true;
  poller_.join();
  for (auto& session : sessions_) session->Cancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ == sessions_.size(); });
}

std::string Load::Submit(const v1::SubmitSweepRequest& request) {
  grpc::ClientContext context;
  v1::SubmitSweepResponse response;
  const grpc::Status status = sweeps_->SubmitSweep(&context, request, &response);
  if (!status.ok()) Die(absl::StrCat("SubmitSweep: ", status.error_message()));
  const std::lock_guard lock(mutex_);
  committed_ += response.trials_known();
  return response.sweep_id();
}

void Load::CancelSweep(const std::string& sweep) {
  grpc::ClientContext context;
  v1::CancelRequest request;
  request.set_sweep(sweep);
  v1::CancelResponse response;
  const grpc::Status status = sweeps_->Cancel(&context, request, &response);
  if (!status.ok()) Die(absl::StrCat("Cancel: ", status.error_message()));
}

void Load::AskInVain() {
  grpc::ClientContext context;
  v1::CancelResponse response;
  const grpc::Status status = sweeps_->Cancel(&context, v1::CancelRequest(), &response);
  if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT)
    Die(absl::StrCat("Cancel of nothing: ", status.error_message()));
}

void Load::WaitForCommitted(std::uint64_t count) {
  std::unique_lock lock(mutex_);
  awaited_ = count;
  if (!changed_.wait_for(lock, std::chrono::minutes(10), [&] { return committed_ >= count || broken_; }) ||
      broken_) {
    Die(absl::StrCat(committed_, " of ", count, " trials committed, then ", broken_ ? problem_ : "nothing"));
  }
}

void Load::ExpectSeed(std::uint32_t seed) {
  const std::lock_guard lock(mutex_);
  expected_ = seed;
  v1::TrialSpec spec;
  spec.set_seed(seed);
  expected_bytes_ = spec.SerializeAsString();
  leased_.reset();
}

Timestamp Load::WaitForExpected() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::minutes(1), [&] { return leased_ || broken_; }) || broken_)
    Die(broken_ ? problem_ : "no lease came");
  return *leased_;
}

std::uint64_t Load::leases() {
  const std::lock_guard lock(mutex_);
  return leases_;
}

std::uint64_t Load::committed() {
  const std::lock_guard lock(mutex_);
  return committed_;
}

std::uint64_t Load::points_committed() const {
  std::uint64_t sum = 0;
  for (const auto& session : sessions_) sum += session->points_committed();
  return sum;
}

void Load::EndAttempts(double count) {
  for (owed_ = std::min(owed_ + count, 1.0 * options_.load); owed_ >= 1; --owed_) {
    std::size_t asked = 0;
    while (asked++ < sessions_.size() && !sessions_[next_ended_++ % sessions_.size()]->EndOldest()) {
    }
    if (asked > sessions_.size()) return;
  }
}

void Load::OnLease(const v1::Assignment& assignment) {
  const Timestamp now = MonotonicNow();
  const std::lock_guard lock(mutex_);
  ++leases_;
  if (expected_ == 0 || leased_ || assignment.spec().find(expected_bytes_) == std::string::npos) return;
  v1::TrialSpec spec;
  if (!spec.ParseFromString(assignment.spec()) || spec.seed() != expected_) return;
  leased_ = now;
  changed_.notify_all();
}

void Load::OnCommitted(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  committed_ += count;
  if (committed_ >= awaited_) changed_.notify_all();
}

void Load::OnEnd(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  ++ended_;
  if (!stop_) {
    broken_ = true;
    problem_ = absl::StrCat("a session ended: ", status.error_message());
  }
  changed_.notify_all();
}

SteadyLoad::SteadyLoad(Load& load, LoadOptions options) : load_(load) {
  if (options.bursts_ms == 0) {
    options.evaluations = kEvaluations;
    v1::SubmitSweepRequest request = SweepOf(options, "steady", SeedsOf(options), kTrainings);
    request.mutable_sweep()->set_max_parallel(std::max(1u, options.sessions * options.slots / 2));
    runs_ = load.Submit(request);
    return;
  }
  options.evaluations = std::max(1u, options.load * options.bursts_ms / 1000);
  const Duration period = std::chrono::milliseconds(options.bursts_ms);
  thread_ = std::thread([this, options, period] {
    Timestamp due = MonotonicNow();
    for (std::uint32_t seed = SeedsOf(options); !stop_; ++seed) {
      load_.Submit(SweepOf(options, "steady", seed, 1));
      submitted_ += options.evaluations;
      due = due + period;
      while (!stop_ && MonotonicNow() < due) ::usleep(1000);
    }
  });
}

void SteadyLoad::Stop() {
  if (stop_.exchange(true)) return;
  if (thread_.joinable()) thread_.join();
  if (!runs_.empty()) load_.CancelSweep(runs_);
}

}  // namespace inlier
