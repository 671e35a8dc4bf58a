#include "coordinator/artifacts/artifact_collector.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/log.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr Duration kYoung = std::chrono::hours(1);
constexpr Duration kPartKept = std::chrono::hours(24);
constexpr int kFilesTold = 10000;
constexpr char kSuperseded[] = "a later checkpoint has taken its place";
constexpr char kHasResult[] = "its training has its result";
constexpr char kNotReported[] = "no attempt has reported it";

// Files named in the database.
struct Known {
  std::set<std::string> needed;                 // Digests, and paths relative to the state folder.
  std::map<std::string, const char*> unneeded;  // The same, with the reason.
  std::set<std::string> live_stages;            // "st-12"
  std::set<std::string> stages;                 // Every TRAIN stage with an attempt.
  std::optional<WallTime> oldest_live;          // Start of the oldest live attempt.
};

absl::StatusOr<Known> LoadKnown(Reader& reader) {
  Known known;
  // First what is live: an attempt that ends in between has its rows read below.
  ASSIGN_OR_RETURN(const SqlRows live,
                   reader.Select("SELECT stage, started_ms FROM attempt WHERE ended_ms IS NULL"));
  for (const auto& row : live.rows) {
    known.live_stages.insert(StageId(Integer(row[0])).ToString());
    const WallTime started{Integer(row[1])};
    known.oldest_live = known.oldest_live ? std::min(*known.oldest_live, started) : started;
  }
  ASSIGN_OR_RETURN(const SqlRows stages, reader.Select("SELECT DISTINCT stage FROM attempt"));
  for (const auto& row : stages.rows) known.stages.insert(StageId(Integer(row[0])).ToString());
  // Of each stage the checkpoint to resume from comes first.
  ASSIGN_OR_RETURN(
      const SqlRows rows,
      reader.Select("SELECT stage.id, stage.result_token IS NOT NULL, stage.checkpoint = artifact.sha256, "
                    "artifact.final, artifact.sha256, artifact.path FROM artifact JOIN attempt ON "
                    "attempt.token = artifact.token JOIN stage ON stage.id = attempt.stage "
                    "ORDER BY stage.id, artifact.final, artifact.step DESC, artifact.id DESC"));
  std::int64_t last_stage = 0;
  for (const auto& row : rows.rows) {
    const bool first = std::exchange(last_stage, Integer(row[0])) != Integer(row[0]);
    const bool has_result = Integer(row[1]) == 1, is_result = Integer(row[2]) == 1;
    const bool final = Integer(row[3]) == 1;
    const bool live_stage = known.live_stages.contains(StageId(Integer(row[0])).ToString());
    const bool needed = live_stage || (has_result ? is_result : first && !final);
    for (const std::string& name : {Text(row[4]), Text(row[5])}) {
      if (needed) {
        known.needed.insert(name);
      } else if (!name.empty()) {
        known.unneeded[name] = has_result ? kHasResult : kSuperseded;
      }
    }
  }
  return known;
}

class Collector {
 public:
  Collector(const fs::path& state_dir, ArtifactStore& store, const Known& known,
            const v1::CollectRequest& request, WallTime now)
      : state_dir_(state_dir), store_(store), known_(known), dry_run_(request.dry_run()), now_(now) {
    not_reported_age_ = std::max<Duration>(kYoung, std::chrono::hours(24) * request.keep_days());
    if (known.oldest_live) {
      // A live attempt may still report files that it has made.
      const Duration live = std::chrono::milliseconds(now.unix_ms - known.oldest_live->unix_ms);
      not_reported_age_ = std::max(not_reported_age_, live + kYoung);
    }
  }

  absl::Status Artifacts() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(store_.folder(), error)) {
      const fs::path& path = entry.path();
      const std::string sha256 = path.filename().string().substr(0, 64);
      if (!IsSha256Hex(sha256)) continue;  // Not ours to judge.
      if (path == store_.PathOf(sha256)) {
        RETURN_IF_ERROR(Judge(path, sha256));
      } else if (path == PartFile::NameOf(store_.PathOf(sha256))) {
        RETURN_IF_ERROR(Remove(path, kPartKept, "an upload that was not continued for a day"));
      }
    }
    return absl::OkStatus();
  }

  // attempts/<stage>/<token>/<file>
  absl::Status Attempts() {
    std::error_code error;
    for (const auto& stage : fs::directory_iterator(state_dir_ / "attempts", error)) {
      const std::string name = stage.path().filename().string();
      if (!IsFolder(stage) || !StageId::Parse(name) || known_.live_stages.contains(name)) continue;
      std::error_code inner;
      for (const auto& attempt : fs::directory_iterator(stage.path(), inner)) {
        if (!IsFolder(attempt)) continue;
        std::error_code innermost;
        for (const auto& entry : fs::directory_iterator(attempt.path(), innermost)) {
          if (entry.path().extension() != ".safetensors") continue;  // Logs and specs are kept.
          RETURN_IF_ERROR(Judge(entry.path(), entry.path().lexically_relative(state_dir_).string()));
        }
      }
    }
    return absl::OkStatus();
  }

  v1::CollectResponse TakeResponse() { return std::move(response_); }

 private:
  static bool IsFolder(const fs::directory_entry& entry) {
    std::error_code error;
    return fs::is_directory(entry.symlink_status(error));
  }

  absl::Status Judge(const fs::path& path, const std::string& name) {
    if (known_.needed.contains(name)) {
      Keep(path);
      return absl::OkStatus();
    }
    const auto unneeded = known_.unneeded.find(name);
    if (unneeded != known_.unneeded.end()) return Remove(path, kYoung, unneeded->second);
    return Remove(path, not_reported_age_, kNotReported);
  }

  absl::Status Remove(const fs::path& path, Duration age, const char* reason) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (error) return absl::OkStatus();
    ASSIGN_OR_RETURN(const bool removed, store_.RemoveIfOlder(path, age, now_, dry_run_));
    if (!removed) {
      Keep(path);
      return absl::OkStatus();
    }
    const std::string shown = path.lexically_relative(state_dir_).string();
    if (!dry_run_) spdlog::info("artifact_collected path={} bytes={} reason=\"{}\"", shown, bytes, reason);
    response_.set_files_total(response_.files_total() + 1);
    response_.set_bytes_total(response_.bytes_total() + bytes);
    if (response_.files_size() >= kFilesTold) return absl::OkStatus();
    v1::CollectedFile* file = response_.add_files();
    file->set_path(shown);
    file->set_bytes(bytes);
    file->set_reason(reason);
    return absl::OkStatus();
  }

  void Keep(const fs::path& path) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    response_.set_files_kept(response_.files_kept() + 1);
    if (!error) response_.set_bytes_kept(response_.bytes_kept() + bytes);
  }

  const fs::path& state_dir_;
  ArtifactStore& store_;
  const Known& known_;
  const bool dry_run_;
  const WallTime now_;
  Duration not_reported_age_{};
  v1::CollectResponse response_;
};

}  // namespace

absl::StatusOr<v1::CollectResponse> CollectArtifacts(const fs::path& state_dir, ArtifactStore& store,
                                                     Reader& reader, const v1::CollectRequest& request,
                                                     WallTime now) {
  if (request.keep_days() > 36500) return absl::InvalidArgumentError("keep_days: at most 36500");
  ASSIGN_OR_RETURN(const Known known, LoadKnown(reader));
  Collector collector(state_dir, store, known, request, now);
  RETURN_IF_ERROR(collector.Artifacts());
  RETURN_IF_ERROR(collector.Attempts());
  return collector.TakeResponse();
}

}  // namespace inlier
