#include "worker/attempt_folder.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/digest.h"
#include "base/failpoint.h"
#include "base/files/descriptor.h"
#include "base/files/file.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr char kStepPrefix[] = "step-";

bool IsSafeName(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' &&
         std::ranges::all_of(name, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

// A folder below `root`, made where `make`; no part of the path is a link.
absl::StatusOr<Descriptor> OpenBelow(const fs::path& root, const fs::path& relative, bool make) {
  Descriptor at(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const fs::path& part : relative) {
    if (make) ::mkdirat(at.fd(), part.c_str(), 0755);
    at = Descriptor(::openat(at.fd(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (at.fd() < 0) return ErrnoStatus(absl::StrCat("cannot enter ", (root / relative).string()));
  return at;
}

}  // namespace

absl::StatusOr<fs::path> AttemptFolder(const fs::path& state_dir, const std::string& stage_id,
                                       std::uint64_t token) {
  if (!IsSafeName(stage_id))
    return absl::InvalidArgumentError(absl::StrCat("stage id '", stage_id, "' cannot be a folder's name"));
  return state_dir / "attempts" / stage_id / std::to_string(token);
}

absl::Status PrepareAttemptFolder(const fs::path& folder, const v1::AttemptSpec& spec) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  const auto printed = google::protobuf::util::MessageToJsonString(spec, &json, options);
  if (!printed.ok()) return absl::InternalError(absl::StrCat("spec.json: ", printed.ToString()));
  RETURN_IF_ERROR(WriteFile(folder / kAttemptSpecName, json));
  Failpoint("attempt.folder.written");
  return absl::OkStatus();
}

absl::StatusOr<fs::path> ArtifactPath(const fs::path& state_dir, const std::string& sha256) {
  if (!IsSha256Hex(sha256))
    return absl::InvalidArgumentError(
        absl::StrCat("'", sha256, "' is not a SHA-256 in lower-case hexadecimal"));
  return state_dir / "artifacts" / absl::StrCat(sha256, ".safetensors");
}

absl::StatusOr<fs::path> PathBelow(const fs::path& folder, const std::string& relative) {
  const fs::path path = fs::path(relative).lexically_normal();
  if (relative.empty() || path.is_absolute() || path.begin()->string() == ".." || path == ".") {
    return absl::InvalidArgumentError(
        absl::StrCat("the path '", relative, "' does not stay below ", folder.string()));
  }
  return folder / path;
}

std::string CheckpointName(std::uint64_t step) { return absl::StrCat(kStepPrefix, step, ".tar"); }

std::uint64_t StepOfCheckpoint(const fs::path& tar) {
  std::uint64_t step = 0;
  const std::string stem = tar.stem().string();
  return absl::SimpleAtoi(absl::StripPrefix(stem, kStepPrefix), &step) ? step : 0;
}

absl::Status MoveBelow(const fs::path& output, const fs::path& relative, const fs::path& kept) {
  RETURN_IF_ERROR(MakeFolder(kept));
  ASSIGN_OR_RETURN(const Descriptor from, OpenBelow(output, relative.parent_path(), /*make=*/false));
  ASSIGN_OR_RETURN(const Descriptor to, OpenBelow(kept, relative.parent_path(), /*make=*/true));
  const std::string name = relative.filename().string(), path = (output / relative).string();
  struct stat info {};
  if (::fstatat(from.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return ErrnoStatus(absl::StrCat("cannot keep ", path));
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat("it reported ", path, ", neither a file nor a folder"));
  if (::renameat(from.fd(), name.c_str(), to.fd(), name.c_str()) == 0) return absl::OkStatus();
  return ErrnoStatus(absl::StrCat("cannot keep ", path));
}

absl::Status PublishArtifact(const fs::path& state_dir, const fs::path& folder,
                             const v1::CheckpointSaved& checkpoint) {
  ASSIGN_OR_RETURN(const fs::path from, PathBelow(folder, checkpoint.path()));
  ASSIGN_OR_RETURN(const fs::path to, ArtifactPath(state_dir, checkpoint.sha256()));
  ASSIGN_OR_RETURN(const std::string digest, Sha256HexOfFile(from));
  if (digest != checkpoint.sha256()) {
    return absl::DataLossError(absl::StrCat("the final checkpoint ", from.string(), " has the SHA-256 ",
                                            digest, ", the trial reported ", checkpoint.sha256()));
  }
  RETURN_IF_ERROR(MakeWritableFolder(to.parent_path()));
  RETURN_IF_ERROR(SyncPath(from));
  Failpoint("artifact.rename.before");
  RETURN_IF_ERROR(RenameDurably(from, to));
  Failpoint("artifact.rename.after");
  return absl::OkStatus();
}

absl::Status RemoveOldCheckpoints(const fs::path& state_dir, const std::string& stage_id,
                                  std::uint64_t token) {
  ASSIGN_OR_RETURN(const fs::path newest, AttemptFolder(state_dir, stage_id, token));
  std::vector<fs::path> folders;
  for (const fs::path& folder : EntriesOf(newest.parent_path())) {
    std::uint64_t other = 0;
    if (!absl::SimpleAtoi(folder.filename().string(), &other)) continue;
    if (other > token) return absl::OkStatus();
    folders.push_back(folder);
  }
  for (const fs::path& folder : folders) {
    for (const fs::path& entry : EntriesOf(folder)) {
      const std::string name = entry.filename().string();
      if (name == kAttemptLogName || name == kAttemptSpecName || name == kAttemptFilesFolder ||
          absl::StartsWith(name, kRankFolderPrefix))
        continue;
      std::error_code removed;
      fs::remove_all(entry, removed);
      if (removed)
        return absl::UnknownError(absl::StrCat("cannot remove ", entry.string(), ": ", removed.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace inlier
