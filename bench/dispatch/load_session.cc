#include "bench/dispatch/load_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace inlier {

LoadSession::LoadSession(v1::WorkerService::Stub& stub, Options options, Hooks hooks)
    : stub_(stub), options_(std::move(options)), hooks_(std::move(hooks)) {
  sync_.set_incarnation(options_.incarnation);
  sync_.set_name(options_.incarnation);
  sync_.set_host("bench");
  sync_.set_version(options_.version);
  for (std::uint32_t i = 0; i < options_.slots; ++i) {
    v1::Slot& slot = *sync_.add_slots();
    slot.set_index(i);
    slot.set_device("cpu");
    slot.set_threads(1);
  }
}

void LoadSession::Start() {
  stub_.async()->Session(&context_, this);
  AddHold();
  StartRead(&answer_);
  StartCall();
  const std::lock_guard lock(mutex_);
  started_ = true;
  SendSync();
}

void LoadSession::Poll(Timestamp now) {
  const std::lock_guard lock(mutex_);
  if (started_ && !ended_ && !writing_ && !unanswered_ && now >= due_) SendSync();
}

bool LoadSession::EndOldest() {
  const std::lock_guard lock(mutex_);
  if (running_.empty() || ended_) return false;
  End(running_.front());
  running_.pop_front();
  if (!writing_ && !unanswered_) SendSync();
  return true;
}

std::uint64_t LoadSession::points_committed() const {
  const std::lock_guard lock(mutex_);
  return points_committed_;
}

void LoadSession::SendSync() {
  // Constant fields were set once, and cleared fields keep their memory: the load itself should cost little.
  sync_.clear_attempts();
  sync_.clear_events();
  sync_.mutable_events()->Swap(next_.mutable_events());
  sync_.set_sync_id(++sync_id_);
  for (const Running& attempt : running_) {
    v1::AttemptReport& report = *sync_.add_attempts();
    report.set_token(attempt.token);
    report.set_stage_id(attempt.stage_id);
    report.set_slot(attempt.slot);
  }
  writing_ = true;
  unanswered_ = true;
  StartWrite(&sync_);
}

v1::TrialEvent& LoadSession::NextEvent(std::uint64_t token) {
  v1::NumberedEvent& event = *next_.add_events();
  event.set_sequence(++sequence_);
  event.set_token(token);
  return *event.mutable_event();
}

void LoadSession::Run(const v1::Assignment& assignment) {
  if (hooks_.on_lease) hooks_.on_lease(assignment);
  Running attempt{.token = assignment.token(),
                  .slot = assignment.slot(),
                  .stage_id = assignment.stage_id(),
                  .train_steps = std::nullopt};
  if (assignment.kind() == v1::TRAIN_STAGE) {
    v1::TrialSpec spec;
    spec.ParseFromString(assignment.spec());
    attempt.train_steps = spec.training().steps();
  }
  if (options_.holds) {
    running_.push_back(std::move(attempt));
  } else {
    End(attempt);
  }
}

void LoadSession::End(const Running& attempt) {
  if (attempt.train_steps) {
    v1::CheckpointSaved& saved = *NextEvent(attempt.token).mutable_checkpoint();
    saved.set_step(*attempt.train_steps);
    saved.set_path("model.safetensors");
    saved.set_sha256(Sha256Hex(attempt.stage_id));
    saved.set_bytes(1);
    saved.set_final(true);
  } else {
    for (std::uint32_t i = 0; i < options_.points; ++i) {
      v1::MeasurementPoint& point = *NextEvent(attempt.token).mutable_measurement();
      point.set_name("train_loss");
      point.set_step(i + 1);
      point.set_value(1.0 / (i + 1));
      unacknowledged_.push_back({sequence_, false, true});
    }
  }
  NextEvent(attempt.token).mutable_outcome()->set_kind(v1::Outcome::SUCCEEDED);
  if (!attempt.train_steps) unacknowledged_.push_back({sequence_, true, false});
}

void LoadSession::OnReadDone(bool ok) {
  if (!ok) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(ended_, true)) RemoveHold();
    return;
  }
  std::uint64_t committed = 0;
  {
    const std::lock_guard lock(mutex_);
    std::set<std::uint64_t> desired;
    for (const v1::Assignment& assignment : answer_.desired()) {
      desired.insert(assignment.token());
      if (!seen_.contains(assignment.token())) Run(assignment);
    }
    if (answer_.pushed()) {
      seen_.insert(desired.begin(), desired.end());
    } else {
      seen_ = std::move(desired);
      while (!unacknowledged_.empty() &&
             unacknowledged_.front().sequence <= answer_.acknowledged_sequence()) {
        committed += unacknowledged_.front().evaluation;
        points_committed_ += unacknowledged_.front().point;
        unacknowledged_.pop_front();
      }
      unanswered_ = false;
      due_ = MonotonicNow() + std::chrono::milliseconds(answer_.next_sync_ms());
    }
    if (!writing_ && !unanswered_ && next_.events_size() > 0) SendSync();
  }
  if (committed > 0 && hooks_.on_committed) hooks_.on_committed(committed);
  StartRead(&answer_);
}

void LoadSession::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok) {
    if (!std::exchange(ended_, true)) RemoveHold();
    return;
  }
  if (!ended_ && !unanswered_ && next_.events_size() > 0) SendSync();
}

void LoadSession::OnDone(const grpc::Status& status) {
  if (hooks_.on_end) hooks_.on_end(status);
}

}  // namespace inlier
