#include "coordinator/artifacts/artifact_collector.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "s3/prefix_owner.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr Duration kYoung = std::chrono::hours(1);
constexpr Duration kPartKept = std::chrono::hours(24);
constexpr int kFilesTold = 10000;
constexpr char kSuperseded[] = "a later checkpoint has taken its place";
constexpr char kHasResult[] = "its training has its result";
constexpr char kNotReported[] = "no attempt has reported it";
constexpr char kNotContinued[] = "an upload that was not continued for a day";
constexpr char kRemoved[] = "its sweep was removed";
constexpr char kLetGo[] = "no rule keeps the model of its training";
constexpr char kDamaged[] = "its content did not have its digest, and it was moved away";

struct Unneeded {
  const char* reason;
  SweepId sweep;  // Whose attempt wrote it.
};

// Files named in the database.
struct Known {
  std::set<std::string> needed;              // Digests, and paths relative to the state folder.
  std::map<std::string, Unneeded> unneeded;  // The same.
  std::set<std::string> live_stages;         // "st-12"
  std::map<std::string, SweepId> freed;  // Stages of which nothing stays, with the sweep of their attempts.
  std::optional<WallTime> oldest_live;   // Start of the oldest live attempt.
};

// Why the model of a training with a result does not stay; null: it does.
const char* WhyGone(StageFate fate) {
  if (fate == StageFate::kWhole) return nullptr;
  return fate == StageFate::kNoModel ? kLetGo : kRemoved;
}

StageFate FateOf(const std::vector<SqlValue>& row, std::size_t stage, std::size_t fate,
                 const StageFates& to_go) {
  if (const auto at = to_go.find(StageId(Integer(row[stage]))); at != to_go.end()) return at->second;
  const std::string name = Text(row[fate]);
  if (name == "WHOLE") return StageFate::kWhole;
  return name == "NO_MODEL" ? StageFate::kNoModel : StageFate::kFreed;
}

absl::Status LoadFreed(Reader& reader, const StageFates& to_go, Known& known) {
  std::vector<std::int64_t> ids;
  for (const auto& [id, fate] : to_go) ids.push_back(id.value());
  ASSIGN_OR_RETURN(
      const SqlRows rows,
      reader.Select("SELECT attempt.stage, fate, attempt.sweep FROM stage JOIN attempt ON attempt.stage = "
                    "stage.id WHERE stage.fate <> 'WHOLE' OR stage.id IN (SELECT value FROM json_each(?1))",
                    {nlohmann::json(ids).dump()}));
  for (const auto& row : rows.rows) {
    if (FateOf(row, 0, 1, to_go) == StageFate::kFreed)
      known.freed[StageId(Integer(row[0])).ToString()] = SweepId(Integer(row[2]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Known> LoadKnown(Reader& reader, const StageFates& to_go) {
  Known known;
  // Live attempts first: the rows of one that ends meanwhile are read below.
  ASSIGN_OR_RETURN(const SqlRows live,
                   reader.Select("SELECT stage, started_ms FROM attempt WHERE ended_ms IS NULL"));
  for (const auto& row : live.rows) {
    known.live_stages.insert(StageId(Integer(row[0])).ToString());
    const WallTime started{Integer(row[1])};
    known.oldest_live = known.oldest_live ? std::min(*known.oldest_live, started) : started;
  }
  // The first row of each stage is the checkpoint to resume from.
  ASSIGN_OR_RETURN(
      const SqlRows rows,
      reader.Select("SELECT stage.id, stage.result_token IS NOT NULL, stage.checkpoint = artifact.sha256, "
                    "artifact.final, artifact.sha256, artifact.path, stage.fate, attempt.sweep FROM artifact "
                    "JOIN attempt ON "
                    "attempt.token = artifact.token JOIN stage ON stage.id = attempt.stage "
                    "ORDER BY stage.id, artifact.final, " +
                    std::string(kWasPassedOver) + ", artifact.step DESC, artifact.id DESC"));
  std::int64_t last_stage = 0;
  for (const auto& row : rows.rows) {
    const bool first = std::exchange(last_stage, Integer(row[0])) != Integer(row[0]);
    const bool has_result = Integer(row[1]) == 1, is_result = Integer(row[2]) == 1;
    const bool final = Integer(row[3]) == 1;
    const bool live_stage = known.live_stages.contains(StageId(Integer(row[0])).ToString());
    const char* const gone = WhyGone(FateOf(row, 0, 6, to_go));
    const bool needed = live_stage || (gone == nullptr && (has_result ? is_result : first && !final));
    for (const std::string& name : {Text(row[4]), Text(row[5])}) {
      if (needed) {
        known.needed.insert(name);
      } else if (!name.empty()) {
        const char* const reason = gone != nullptr ? gone : has_result ? kHasResult : kSuperseded;
        known.unneeded[name] = {.reason = reason, .sweep = SweepId(Integer(row[7]))};
      }
    }
  }
  RETURN_IF_ERROR(LoadFreed(reader, to_go, known));
  return known;
}

// A file, an object or an upload that may be removed.
struct Candidate {
  std::string shown{};
  std::uint64_t bytes = 0;
  // Removes it (in a dry run: would) if it was not used for `age`; returns whether it did.
  std::function<absl::StatusOr<bool>(Duration age)> remove_if_older{};
};

class Collector {
 public:
  Collector(const fs::path& state_dir, ArtifactStore& store, S3Client* bucket, const Known& known,
            const v1::CollectRequest& request, WallTime now)
      : state_dir_(state_dir),
        store_(store),
        bucket_(bucket),
        known_(known),
        dry_run_(request.dry_run()),
        now_(now),
        ahead_seconds_((now.unix_ms - WallNow().unix_ms) / 1000) {
    not_reported_age_ = std::max<Duration>(kYoung, std::chrono::hours(24) * request.keep_days());
    if (known.oldest_live) {
      // A live attempt may still report files that it has made.
      const Duration live = std::chrono::milliseconds(now.unix_ms - known.oldest_live->unix_ms);
      not_reported_age_ = std::max(not_reported_age_, live + kYoung);
    }
  }

  absl::Status Artifacts() {
    for (const fs::path& path : EntriesOf(store_.folder())) {
      const std::string sha256 = path.filename().string().substr(0, 64);
      if (!IsSha256Hex(sha256)) continue;  // Not ours.
      if (path == store_.PathOf(sha256)) {
        RETURN_IF_ERROR(Judge(File(path), sha256));
      } else if (path == PartFile::NameOf(store_.PathOf(sha256))) {
        RETURN_IF_ERROR(Remove(File(path), kPartKept, kNotContinued));
      } else if (path.extension() == kDamagedSuffix) {
        RETURN_IF_ERROR(Remove(File(path), not_reported_age_, kDamaged));
      }
    }
    return absl::OkStatus();
  }

  // attempts/<stage>/<token>/<file>
  absl::Status Attempts() {
    for (const fs::path& stage : EntriesOf(state_dir_ / "attempts")) {
      const std::string name = stage.filename().string();
      if (!IsFolder(stage) || !StageId::Parse(name) || known_.live_stages.contains(name)) continue;
      if (const auto freed = known_.freed.find(name); freed != known_.freed.end()) {
        RETURN_IF_ERROR(RemoveFolder(stage, freed->second));
        continue;
      }
      for (const fs::path& attempt : EntriesOf(stage)) {
        if (!IsFolder(attempt)) continue;
        for (const fs::path& file : EntriesOf(attempt)) {
          if (file.extension() != ".safetensors") continue;  // Logs and specs are kept.
          RETURN_IF_ERROR(Judge(File(file), file.lexically_relative(state_dir_).string()));
        }
      }
    }
    return absl::OkStatus();
  }

  // The folder of a freed stage: specifications and logs, too.
  absl::Status RemoveFolder(const fs::path& stage, SweepId sweep) {
    std::error_code not_empty;
    for (const fs::path& attempt : EntriesOf(stage)) {
      if (!IsFolder(attempt)) continue;
      for (const fs::path& file : EntriesOf(attempt))
        RETURN_IF_ERROR(Remove(File(file), kYoung, kRemoved, sweep));
      if (!dry_run_) fs::remove(attempt, not_empty);
    }
    if (!dry_run_) fs::remove(stage, not_empty);
    return absl::OkStatus();
  }

  // <prefix>/<sha256>.safetensors, <prefix>/damaged/…, and uploads in parts that were not put together.
  absl::Status Objects() {
    if (bucket_ == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(ClaimPrefix(*bucket_, state_dir_));
    const S3Location& where = bucket_->location();
    std::int64_t server_seconds = 0;
    ASSIGN_OR_RETURN(const std::vector<S3Object> objects, bucket_->List(where.KeyPrefix(), &server_seconds));
    for (const S3Object& object : objects) {
      const std::string sha256 = where.Sha256Of(object.key);
      if (!sha256.empty()) {
        RETURN_IF_ERROR(Judge(ObjectOf(object, server_seconds), sha256));
      } else if (object.key.starts_with(where.KeyPrefix() + "damaged/")) {
        RETURN_IF_ERROR(Remove(ObjectOf(object, server_seconds), not_reported_age_, kDamaged));
      }
    }
    ASSIGN_OR_RETURN(const std::vector<S3MultipartUpload> uploads,
                     bucket_->ListUploads(where.KeyPrefix(), &server_seconds));
    for (const S3MultipartUpload& upload : uploads) {
      if (where.Sha256Of(upload.key).empty()) continue;  // Not ours.
      ASSIGN_OR_RETURN(const Candidate candidate, UploadOf(upload, server_seconds));
      RETURN_IF_ERROR(Remove(candidate, kPartKept, kNotContinued));
    }
    return absl::OkStatus();
  }

  v1::CollectResponse TakeResponse() {
    for (auto& [id, sum] : by_sweep_) {
      sum.set_sweep_id(id.ToString());
      *response_.add_sweeps() = std::move(sum);
    }
    return std::move(response_);
  }

 private:
  static bool IsFolder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(fs::symlink_status(path, error));
  }

  Candidate File(const fs::path& path) {
    return {.shown = path.lexically_relative(state_dir_).string(),
            .bytes = SizeOf(path),
            .remove_if_older = [this, path](Duration age) {
              return store_.RemoveIfOlder(path, age, now_, dry_run_);
            }};
  }

  // True if what was written at `written`, while the server's clock is at `server`, is `age` old; both are
  // seconds since 1970, 0: not known.
  bool IsOlder(std::int64_t written, std::int64_t server, Duration age) const {
    return written > 0 && server > 0 && std::chrono::seconds(server - written + ahead_seconds_) >= age;
  }

  Candidate ObjectOf(const S3Object& object, std::int64_t server_seconds) {
    const auto remove = [this, object, server_seconds](Duration age) -> absl::StatusOr<bool> {
      if (!IsOlder(object.modified_seconds, server_seconds, age)) return false;
      if (dry_run_) return true;
      // A worker may have written it again since it was listed.
      ASSIGN_OR_RETURN(const std::optional<S3Found> found, bucket_->Head(object.key));
      if (!found || std::chrono::seconds(found->age_seconds + ahead_seconds_) < age) return false;
      RETURN_IF_ERROR(bucket_->Delete(object.key));
      return true;
    };
    return {
        .shown = bucket_->location().NameOf(object.key), .bytes = object.bytes, .remove_if_older = remove};
  }

  absl::StatusOr<Candidate> UploadOf(const S3MultipartUpload& upload, std::int64_t server_seconds) {
    Candidate candidate{.shown = bucket_->location().NameOf(upload.key)};
    absl::StatusOr<std::vector<S3Part>> parts = bucket_->ListParts(upload.key, upload.id);
    if (!parts.ok() && !absl::IsNotFound(parts.status())) return parts.status();
    const bool ended = !parts.ok();
    std::int64_t last_seconds = upload.begun_seconds;
    for (const S3Part& part : ended ? std::vector<S3Part>() : *parts) {
      candidate.bytes += part.bytes;
      last_seconds = std::max(last_seconds, part.modified_seconds);
    }
    candidate.remove_if_older = [this, upload, ended, last_seconds,
                                 server_seconds](Duration age) -> absl::StatusOr<bool> {
      if (ended || !IsOlder(last_seconds, server_seconds, age)) return false;
      if (dry_run_) return true;
      RETURN_IF_ERROR(bucket_->AbortUpload(upload.key, upload.id));
      return true;
    };
    return candidate;
  }

  absl::Status Judge(const Candidate& candidate, const std::string& name) {
    if (known_.needed.contains(name)) return Keep(candidate);
    const auto unneeded = known_.unneeded.find(name);
    if (unneeded != known_.unneeded.end())
      return Remove(candidate, kYoung, unneeded->second.reason, unneeded->second.sweep);
    return Remove(candidate, not_reported_age_, kNotReported);
  }

  absl::Status Remove(const Candidate& candidate, Duration age, const char* reason, SweepId sweep = {}) {
    ASSIGN_OR_RETURN(const bool removed, candidate.remove_if_older(age));
    if (!removed) return Keep(candidate);
    if (!dry_run_)
      spdlog::info("artifact_collected path={} bytes={} reason=\"{}\"", candidate.shown, candidate.bytes,
                   reason);
    response_.set_files_total(response_.files_total() + 1);
    response_.set_bytes_total(response_.bytes_total() + candidate.bytes);
    if (sweep) {
      v1::CollectedSweep& sum = by_sweep_[sweep];
      sum.set_files(sum.files() + 1);
      sum.set_bytes(sum.bytes() + candidate.bytes);
    }
    if (response_.files_size() >= kFilesTold) return absl::OkStatus();
    v1::CollectedFile* file = response_.add_files();
    file->set_path(candidate.shown);
    file->set_bytes(candidate.bytes);
    file->set_reason(reason);
    return absl::OkStatus();
  }

  absl::Status Keep(const Candidate& candidate) {
    response_.set_files_kept(response_.files_kept() + 1);
    response_.set_bytes_kept(response_.bytes_kept() + candidate.bytes);
    return absl::OkStatus();
  }

  const fs::path& state_dir_;
  ArtifactStore& store_;
  S3Client* const bucket_;
  const Known& known_;
  const bool dry_run_;
  const WallTime now_;
  const std::int64_t ahead_seconds_;  // `now` is so far ahead of the clocks.
  Duration not_reported_age_{};
  v1::CollectResponse response_;
  std::map<SweepId, v1::CollectedSweep> by_sweep_;
};

}  // namespace

absl::Status CheckCollection(const v1::CollectRequest& request) {
  return request.keep_days() <= 36500 ? absl::OkStatus()
                                      : absl::InvalidArgumentError("keep_days: at most 36500");
}

absl::StatusOr<v1::CollectResponse> CollectArtifacts(const fs::path& state_dir, ArtifactStore& store,
                                                     S3Client* bucket, Reader& reader,
                                                     const v1::CollectRequest& request,
                                                     const StageFates& to_go, WallTime now) {
  RETURN_IF_ERROR(CheckCollection(request));
  ASSIGN_OR_RETURN(const Known known, LoadKnown(reader, to_go));
  Collector collector(state_dir, store, bucket, known, request, now);
  RETURN_IF_ERROR(collector.Artifacts());
  RETURN_IF_ERROR(collector.Attempts());
  RETURN_IF_ERROR(Annotate(collector.Objects(), "collecting in the bucket"));
  return collector.TakeResponse();
}

}  // namespace inlier
