#include "bench/scale/point_stream.h"

#include <utility>

namespace inlier {

PointStream::PointStream(v1::WorkerService::Stub& stub, Options options, std::function<void()> on_change)
    : stub_(stub), options_(std::move(options)), on_change_(std::move(on_change)) {}

void PointStream::Start() {
  stub_.async()->Session(&context_, this);
  AddHold();
  StartRead(&answer_);
  StartCall();
  const std::lock_guard lock(mutex_);
  SendSync();
}

void PointStream::Rest() {
  const std::lock_guard lock(mutex_);
  resting_ = true;
}

PointStream::Progress PointStream::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void PointStream::Poll(Timestamp now) {
  const std::lock_guard lock(mutex_);
  if (held_) SendIfDue(now);
}

void PointStream::SendIfDue(Timestamp now) {
  if (progress_.token == 0 || !answered_ || writing_ || resting_ || now < due_) return;
  due_ = now + options_.interval;
  SendSync();
}

void PointStream::SendSync() {
  sync_.Clear();
  sync_.set_incarnation(options_.incarnation);
  sync_.set_name(options_.incarnation);
  sync_.set_host("bench");
  sync_.set_version(options_.version);
  sync_.set_sync_id(++sync_id_);
  v1::Slot& slot = *sync_.add_slots();
  slot.set_index(0);
  slot.set_device("cpu");
  slot.set_threads(1);
  if (progress_.token != 0) {
    v1::AttemptReport& report = *sync_.add_attempts();
    report.set_token(progress_.token);
    report.set_stage_id(stage_);
    report.set_slot(0);
    for (std::uint32_t i = 0; i < options_.batch && !resting_; ++i) {
      v1::NumberedEvent& event = *sync_.add_events();
      event.set_sequence(++progress_.sent);
      event.set_token(progress_.token);
      event.mutable_event()->set_time_unix_ms(1'760'000'000'000 + static_cast<std::int64_t>(progress_.sent));
      v1::MeasurementPoint& point = *event.mutable_event()->mutable_measurement();
      point.set_name("train_loss");
      point.set_step(progress_.sent);
      point.set_value(10.0 / static_cast<double>(progress_.sent));
    }
  }
  writing_ = true;
  answered_ = false;
  StartWrite(&sync_);
}

void PointStream::OnReadDone(bool ok) {
  bool leased = false;
  {
    const std::lock_guard lock(mutex_);
    if (!ok) {
      if (std::exchange(held_, false)) RemoveHold();
      return;
    }
    if (progress_.token == 0 && answer_.desired_size() > 0) {
      progress_.token = answer_.desired(0).token();
      stage_ = answer_.desired(0).stage_id();
      leased = true;
    }
    if (!answer_.pushed()) {
      progress_.acknowledged = answer_.acknowledged_sequence();
      answered_ = true;
    }
    SendIfDue(MonotonicNow());
    StartRead(&answer_);
  }
  if (leased) on_change_();
}

void PointStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (!ok) {
    if (std::exchange(held_, false)) RemoveHold();
    return;
  }
  if (held_) SendIfDue(MonotonicNow());
}

void PointStream::OnDone(const grpc::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    progress_.ended = true;
    progress_.problem = status.error_message();
  }
  on_change_();
}

}  // namespace inlier
