#include "core/trial/event_writer.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"
#include "google/protobuf/util/json_util.h"

namespace inlier {
namespace {

constexpr Duration kProgressPeriod = std::chrono::milliseconds(250);

}  // namespace

bool EventWriter::IsWritable(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

void EventWriter::Begin() {
  const std::lock_guard lock(mutex_);
  ended_ = false;
  phase_.clear();
  last_progress_.reset();
  log_ = ProgressLog();
}

void EventWriter::OnProgress(const v1::Progress& progress) {
  const Timestamp now = MonotonicNow();
  const std::optional<std::string> line = log_.Line(progress, now);
  const bool edge = progress.phase() != phase_ || progress.step() == progress.steps_total();
  if (edge || !last_progress_ || now - *last_progress_ >= kProgressPeriod) {
    phase_ = progress.phase();
    last_progress_ = now;
    v1::TrialEvent event;
    *event.mutable_progress() = progress;
    Write(std::move(event));
  }
  if (line) Log(*line);
}

void EventWriter::OnMeasurement(const v1::MeasurementPoint& point) {
  v1::TrialEvent event;
  *event.mutable_measurement() = point;
  Write(std::move(event));
}

void EventWriter::OnCheckpoint(const v1::CheckpointSaved& checkpoint) {
  v1::TrialEvent event;
  *event.mutable_checkpoint() = checkpoint;
  Write(std::move(event));
}

void EventWriter::OnStarted(const v1::Started& started) {
  v1::TrialEvent event;
  *event.mutable_started() = started;
  Write(std::move(event));
}

bool EventWriter::OnOutcome(const v1::Outcome& outcome) {
  v1::TrialEvent event;
  *event.mutable_outcome() = outcome;
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return false;
  WriteLine(std::move(event));
  return true;
}

void EventWriter::Log(const std::string& text) {
  v1::TrialEvent event;
  event.mutable_log()->set_text(text);
  Write(std::move(event));
}

void EventWriter::Write(v1::TrialEvent event) {
  const std::lock_guard lock(mutex_);
  if (!ended_ && !outcome_alone_) WriteLine(std::move(event));
}

void EventWriter::WriteLine(v1::TrialEvent event) {
  if (broken_) return;
  event.set_time_unix_ms(WallNow().unix_ms);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string line;
  const auto status = google::protobuf::util::MessageToJsonString(event, &line, options);
  if (!status.ok()) {
    spdlog::error("event_not_written reason={}", status.ToString());
    return;
  }
  line += '\n';
  if (!WriteAll(descriptor_, line)) {
    broken_ = true;
    spdlog::error("events_broken descriptor={} reason={}", descriptor_, std::strerror(errno));
  }
}

}  // namespace inlier
