#include "tests/worker/fake_coordinator.h"

#include <chrono>
#include <cstdio>

#include "base/check.h"

namespace inlier {

FakeCoordinator::FakeCoordinator(Settings settings, const std::string& address)
    : settings_(std::move(settings)) {
  absl::StatusOr<ListeningServer> server = StartServer(address, "listen", {this});
  if (!server.ok()) std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
  INLIER_CHECK(server.ok());
  server_ = *std::move(server);
}

FakeCoordinator::~FakeCoordinator() { server_.Shutdown(); }

void FakeCoordinator::Assign(const v1::Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  desired_[assignment.token()] = assignment;
}

void FakeCoordinator::Withdraw(std::uint64_t token, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  desired_.erase(token);
  withdrawn_[token] = reason;
}

void FakeCoordinator::CheckData(std::vector<v1::DataCheck> checks) {
  const std::lock_guard lock(mutex_);
  checks_ = std::move(checks);
}

void FakeCoordinator::SetSilent(bool silent) {
  const std::lock_guard lock(mutex_);
  silent_ = silent;
}

void FakeCoordinator::SetDatabase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  database_id_ = id;
}

void FakeCoordinator::SetCommitting(bool committing) {
  const std::lock_guard lock(mutex_);
  committing_ = committing;
}

std::vector<v1::TrialEvent> FakeCoordinator::State::EventsOf(std::uint64_t token) const {
  std::vector<v1::TrialEvent> found;
  for (const v1::NumberedEvent& event : events) {
    if (event.token() == token) found.push_back(event.event());
  }
  return found;
}

std::string FakeCoordinator::State::CheckpointOf(std::uint64_t token) const {
  std::string sha256;
  for (const v1::TrialEvent& event : EventsOf(token)) {
    if (event.has_checkpoint()) sha256 = event.checkpoint().sha256();
  }
  return sha256;
}

bool FakeCoordinator::WaitFor(const std::function<bool(const State&)>& ready) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return ready(state_); });
}

v1::Outcome FakeCoordinator::OutcomeOf(std::uint64_t token) {
  EXPECT_TRUE(WaitForOutcome(token)) << "token " << token;
  return state().outcomes[token];
}

v1::Outcome FakeCoordinator::Run(const v1::Assignment& assignment) {
  Assign(assignment);
  return OutcomeOf(assignment.token());
}

bool FakeCoordinator::WaitForSyncs(std::size_t count) {
  const std::size_t before = state().syncs.size();
  return WaitFor([&](const State& state) { return state.syncs.size() >= before + count; });
}

FakeCoordinator::State FakeCoordinator::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

grpc::Status FakeCoordinator::Answer(const v1::WorkerSync& sync, v1::CoordinatorSync& answer, bool& silent) {
  const std::lock_guard lock(mutex_);
  if (!settings_.version.empty() && sync.version() != settings_.version) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "worker " + sync.name() + " is of version " +
                                                       sync.version() + ", this coordinator of " +
                                                       settings_.version};
  }
  state_.syncs.push_back(sync);
  silent = silent_;
  std::uint64_t& acknowledged = state_.acknowledged[sync.incarnation()];
  for (const v1::NumberedEvent& event : sync.events()) {
    if (!committing_ || silent) break;
    if (event.sequence() <= acknowledged) {
      ++state_.doubled;
      continue;
    }
    acknowledged = event.sequence();
    state_.events.push_back(event);
    if (event.event().has_outcome()) {
      state_.outcomes[event.token()] = event.event().outcome();
      desired_.erase(event.token());
    }
  }
  answer.set_sync_id(sync.sync_id());
  answer.set_acknowledged_sequence(acknowledged);
  if (!database_id_.empty()) answer.set_database_id(database_id_);
  for (const auto& [token, assignment] : desired_) *answer.add_desired() = assignment;
  *answer.mutable_check_data() = {checks_.begin(), checks_.end()};
  for (const v1::AttemptReport& report : sync.attempts()) {
    const auto reason = withdrawn_.find(report.token());
    if (reason == withdrawn_.end()) continue;
    v1::Stop& stop = *answer.add_stop();
    stop.set_token(report.token());
    stop.set_reason(reason->second);
  }
  answer.set_lease_ttl_ms(settings_.ttl_ms);
  answer.set_next_sync_ms(settings_.next_sync_ms);
  changed_.notify_all();
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::Session(grpc::ServerContext* context,
                                      grpc::ServerReaderWriter<v1::CoordinatorSync, v1::WorkerSync>* stream) {
  if (!settings_.streams) return {grpc::StatusCode::UNIMPLEMENTED, "no streams here"};
  {
    const std::lock_guard lock(mutex_);
    ++state_.sessions;
  }
  v1::WorkerSync sync;
  grpc::Status status;
  while (status.ok() && stream->Read(&sync)) {
    const std::lock_guard writing(write_mutex_);
    stream_ = stream;
    v1::CoordinatorSync answer;
    bool silent = false;
    status = Answer(sync, answer, silent);
    if (status.ok() && !silent && !stream->Write(answer)) break;
  }
  const std::lock_guard writing(write_mutex_);
  if (stream_ == stream) stream_ = nullptr;
  return status;
}

void FakeCoordinator::Push(const v1::Assignment& assignment) {
  const std::lock_guard writing(write_mutex_);
  v1::CoordinatorSync push;
  {
    const std::lock_guard lock(mutex_);
    desired_[assignment.token()] = assignment;
    push.set_sync_id(state_.last().sync_id());
    for (const auto& [token, desired] : desired_) *push.add_desired() = desired;
    *push.mutable_check_data() = {checks_.begin(), checks_.end()};
  }
  push.set_pushed(true);
  stream_->Write(push);
}

// The first attempt of a stage.
v1::Assignment MakeAssignment(std::uint64_t token, const std::string& stage, v1::StageKind kind,
                              const v1::TrialSpec& spec, std::uint32_t slot) {
  v1::Assignment assignment;
  assignment.set_token(token);
  assignment.set_stage_id(stage);
  assignment.set_kind(kind);
  assignment.set_spec(spec.SerializeAsString());
  assignment.set_slot(slot);
  assignment.set_attempt(1);
  return assignment;
}

v1::Assignment TrainAssignment(std::uint64_t token, std::uint32_t steps, std::uint32_t slot) {
  v1::TrialSpec spec;
  spec.mutable_training()->set_steps(steps);
  spec.mutable_training()->set_checkpoint_every(steps + 1);
  return MakeAssignment(token, "train-stage", v1::TRAIN_STAGE, spec, slot);
}

v1::Assignment EvaluateAssignment(std::uint64_t token, const std::string& checkpoint_sha256,
                                  std::uint32_t slot) {
  v1::TrialSpec spec;
  spec.set_seed(1);
  v1::Assignment assignment = MakeAssignment(token, "evaluate-stage", v1::EVALUATE_STAGE, spec, slot);
  assignment.set_checkpoint_sha256(checkpoint_sha256);
  return assignment;
}

testing::AssertionResult Succeeded(const v1::Outcome& outcome) {
  if (outcome.kind() == v1::Outcome::SUCCEEDED) return testing::AssertionSuccess();
  return testing::AssertionFailure() << outcome.message();
}

grpc::Status FakeCoordinator::Sync(grpc::ServerContext* context, const v1::WorkerSync* sync,
                                   v1::CoordinatorSync* answer) {
  {
    const std::lock_guard lock(mutex_);
    ++state_.unary;
  }
  bool silent = false;
  const grpc::Status status = Answer(*sync, *answer, silent);
  if (silent) return {grpc::StatusCode::UNAVAILABLE, "silent"};
  return status;
}

}  // namespace inlier
