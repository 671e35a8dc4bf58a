#include "worker/outbox.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/log.h"
#include "base/status.h"

namespace inlier {
namespace {

// A journal smaller than this is not worth rewriting.
constexpr std::uint64_t kCompactAboveBytes = 16 << 20;
constexpr std::uint32_t kRecordBytesMax = 64 << 20;

// FNV-1a, 64 bits; detects a torn record.
std::uint64_t Checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

struct RecordHead {
  std::uint32_t bytes = 0;
  std::uint32_t reserved = 0;
  std::uint64_t checksum = 0;
};

void AppendRecord(const v1::NumberedEvent& event, std::string& records) {
  const std::string body = event.SerializeAsString();
  const RecordHead head{static_cast<std::uint32_t>(body.size()), 0, Checksum(body)};
  records.append(reinterpret_cast<const char*>(&head), sizeof(head));
  records.append(body);
}

std::uint64_t RecordBytes(const v1::NumberedEvent& event) {
  return sizeof(RecordHead) + event.ByteSizeLong();
}

// The whole records of a journal, up to the first that is torn.
std::vector<v1::NumberedEvent> ParseJournal(std::string_view bytes) {
  std::vector<v1::NumberedEvent> events;
  while (bytes.size() >= sizeof(RecordHead)) {
    RecordHead head;
    std::memcpy(&head, bytes.data(), sizeof(head));
    bytes.remove_prefix(sizeof(head));
    if (head.bytes > kRecordBytesMax || head.bytes > bytes.size()) break;
    const std::string_view body = bytes.substr(0, head.bytes);
    v1::NumberedEvent event;
    if (Checksum(body) != head.checksum || !event.ParseFromArray(body.data(), static_cast<int>(body.size())))
      break;
    events.push_back(std::move(event));
    bytes.remove_prefix(head.bytes);
  }
  return events;
}

}  // namespace

bool MustKeep(const v1::TrialEvent& event) {
  switch (event.event_case()) {
    case v1::TrialEvent::kStarted:
    case v1::TrialEvent::kCheckpoint:
    case v1::TrialEvent::kOutcome:
      return true;
    case v1::TrialEvent::kMeasurement:
      return event.measurement().final();
    case v1::TrialEvent::kProgress:
    case v1::TrialEvent::kLog:
    case v1::TrialEvent::EVENT_NOT_SET:
      return false;
  }
  return false;
}

absl::StatusOr<std::unique_ptr<Outbox>> Outbox::Open(const std::filesystem::path& state_dir,
                                                     const std::string& incarnation, std::size_t events_max) {
  const std::filesystem::path parent = state_dir / "outbox";
  std::unique_ptr<Outbox> outbox(new Outbox(parent / incarnation, events_max));
  RETURN_IF_ERROR(outbox->OpenFiles());
  for (const std::filesystem::path& other : EntriesOf(parent)) {
    std::error_code ignored;
    if (std::filesystem::is_directory(other, ignored) && other != outbox->folder_)
      RETURN_IF_ERROR(outbox->TakeOver(other));
  }
  return outbox;
}

absl::Status Outbox::OpenFiles() {
  RETURN_IF_ERROR(MakeWritableFolder(folder_));
  // The lock comes first, and is held before it has its name: other workers skip a folder without a lock,
  // which is still being made, and take over one whose lock is free.
  std::string unnamed = (folder_ / "lock.XXXXXX").string();
  lock_ = Descriptor(::mkostemp(unnamed.data(), O_CLOEXEC));
  if (lock_.fd() < 0 || !TryLock(lock_.fd()).value_or(false) ||
      ::rename(unnamed.c_str(), (folder_ / "lock").c_str()) != 0) {
    return ErrnoStatus(absl::StrCat("cannot lock ", (folder_ / "lock").string()));
  }
  journal_ = Descriptor(::open((folder_ / "journal").c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (journal_.fd() < 0) return ErrnoStatus(absl::StrCat("cannot open ", (folder_ / "journal").string()));
  RETURN_IF_ERROR(SyncPath(folder_));
  return SyncPath(folder_.parent_path());
}

absl::Status Outbox::TakeOver(const std::filesystem::path& folder) {
  const Descriptor lock(::open((folder / "lock").c_str(), O_RDWR | O_CLOEXEC));
  // Its worker lives, or it was never finished.
  if (lock.fd() < 0 || !TryLock(lock.fd()).value_or(false)) return absl::OkStatus();
  absl::Status status;
  const absl::StatusOr<std::string> bytes = ReadFile(folder / "journal");
  if (bytes.ok()) {
    std::vector<Entry> entries;
    for (v1::NumberedEvent& event : ParseJournal(*bytes)) {
      entries.push_back(
          {event.token(), event.stage_id(), std::move(*event.mutable_event()), event.database_id()});
    }
    if (!entries.empty()) {
      spdlog::info("outbox_taken_over incarnation={} events={}", folder.filename().string(), entries.size());
      status = Append(std::move(entries));
    }
  } else if (!absl::IsNotFound(bytes.status())) {
    status = bytes.status();
  }
  if (status.ok()) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    if (error) spdlog::warn("outbox_left_behind folder={} reason=\"{}\"", folder.string(), error.message());
  }
  return Annotate(status, absl::StrCat("taking over the outbox ", folder.string()));
}

absl::Status Outbox::WriteJournal(const std::string& records, bool sync) {
  if (!WriteAll(journal_.fd(), records)) {
    const absl::Status status = ErrnoStatus(absl::StrCat("cannot write ", (folder_ / "journal").string()));
    // A half-written record would hide what comes after it.
    [[maybe_unused]] const int cut = ::ftruncate(journal_.fd(), static_cast<off_t>(journal_bytes_));
    return status;
  }
  journal_bytes_ += records.size();
  if (sync) Failpoint("outbox.sync.before");
  if (sync && ::fdatasync(journal_.fd()) != 0) {
    return ErrnoStatus(absl::StrCat("cannot write ", (folder_ / "journal").string(), " to the disk"));
  }
  return absl::OkStatus();
}

absl::Status Outbox::Append(std::vector<Entry> entries, std::uint64_t* last_sequence) {
  if (entries.empty()) return absl::OkStatus();
  std::uint64_t sequence = 0;
  {
    const std::lock_guard lock(mutex_);
    sequence = next_sequence_;
    next_sequence_ += entries.size();
  }
  std::vector<PendingEvent> numbered;
  std::string records;
  bool results = false;
  for (Entry& entry : entries) {
    PendingEvent pending;
    pending.event.set_sequence(sequence++);
    pending.event.set_token(entry.token);
    pending.event.set_stage_id(std::move(entry.stage_id));
    *pending.event.mutable_event() = std::move(entry.event);
    const std::string& database = entry.database_id.empty() ? database_id_ : entry.database_id;
    if (!database.empty()) pending.event.set_database_id(database);
    pending.result = MustKeep(pending.event.event());
    results = results || pending.result;
    AppendRecord(pending.event, records);
    numbered.push_back(std::move(pending));
  }
  const absl::Status status = WriteJournal(records, results);
  if (results) Failpoint("outbox.sync.after");
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    for (PendingEvent& pending : numbered) {
      if (pending.result) last_result_ = pending.event.sequence();
      if (!pending.result) ++thinnable_;
      pending_bytes_ += RecordBytes(pending.event);
      pending_.push_back(std::move(pending));
    }
    published_ = sequence - 1;
    if (last_sequence != nullptr) *last_sequence = published_;
    full = pending_.size() > events_max_;
    if (full) Thin();
  }
  // While the coordinator is away nothing is acknowledged: the journal shrinks by what was thinned alone.
  if (full) {
    if (const absl::Status compacted = Compact(); !compacted.ok())
      spdlog::warn("outbox_not_compacted reason={}", LogText(compacted.message()));
  }
  return status;
}

void Outbox::Thin() {
  // Down to nine tenths, so that the next pass is not due at once.
  const size_t target = events_max_ - events_max_ / 10;
  while (pending_.size() > target && thinnable_ > 0) {
    bool drop = false;
    const auto kept_end = std::remove_if(pending_.begin(), pending_.end(), [&](const PendingEvent& pending) {
      if (pending.result) return false;
      drop = !drop;
      if (!drop) return false;
      ++thinned_;
      --thinnable_;
      pending_bytes_ -= RecordBytes(pending.event);
      return true;
    });
    pending_.erase(kept_end, pending_.end());
  }
}

std::vector<v1::NumberedEvent> Outbox::Pending(std::uint64_t after, std::size_t count_max,
                                               std::size_t bytes_max) const {
  const std::lock_guard lock(mutex_);
  std::vector<v1::NumberedEvent> events;
  auto at = std::upper_bound(pending_.begin(), pending_.end(), after,
                             [](std::uint64_t sequence, const PendingEvent& pending) {
                               return sequence < pending.event.sequence();
                             });
  for (size_t bytes = 0; at != pending_.end() && events.size() < count_max; ++at) {
    bytes += at->event.ByteSizeLong();
    if (!events.empty() && bytes > bytes_max) break;
    events.push_back(at->event);
  }
  return events;
}

void Outbox::Acknowledge(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  acknowledged_ = std::max(acknowledged_, std::min(sequence, published_));
  while (!pending_.empty() && pending_.front().event.sequence() <= acknowledged_) {
    if (!pending_.front().result) --thinnable_;
    pending_bytes_ -= RecordBytes(pending_.front().event);
    pending_.pop_front();
  }
}

absl::Status Outbox::Compact() {
  std::string records;
  {
    const std::lock_guard lock(mutex_);
    if (journal_bytes_ == 0) return absl::OkStatus();
    if (!pending_.empty()) {
      if (journal_bytes_ < kCompactAboveBytes || pending_bytes_ > journal_bytes_ / 2) return absl::OkStatus();
      for (const PendingEvent& pending : pending_) AppendRecord(pending.event, records);
    }
  }
  if (records.empty()) {
    if (::ftruncate(journal_.fd(), 0) != 0)
      return ErrnoStatus(absl::StrCat("cannot empty ", (folder_ / "journal").string()));
    journal_bytes_ = 0;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(WriteFileAtomically(folder_ / "journal", records));
  Descriptor journal(::open((folder_ / "journal").c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (journal.fd() < 0) return ErrnoStatus(absl::StrCat("cannot open ", (folder_ / "journal").string()));
  journal_ = std::move(journal);
  journal_bytes_ = records.size();
  return absl::OkStatus();
}

absl::Status Outbox::Remove() {
  {
    const std::lock_guard lock(mutex_);
    if (!pending_.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(pending_.size(), " events are not acknowledged"));
    }
  }
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  if (error)
    return absl::UnknownError(absl::StrCat("cannot remove ", folder_.string(), ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace inlier
