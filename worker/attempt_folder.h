// The files of attempts and artifacts below the state folder, and how they get there.
//
//   attempts/<stage>/<token>/        spec.json, log.txt, checkpoints; one folder an attempt, so that a stale
//                                    attempt can disturb no other
//   artifacts/<sha256>.safetensors   trained models, named by their content
//
// Paths from outside (stage ids, the coordinator's resume path, the child's checkpoint path) cannot leave their folder.
//
// Thread safety: pure functions over the file system; they wait for the disk.
#ifndef INLIER_WORKER_ATTEMPT_FOLDER_H_
#define INLIER_WORKER_ATTEMPT_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {

inline constexpr char kAttemptLogName[] = "log.txt";
inline constexpr char kAttemptSpecName[] = "spec.json";
// What a program asked to keep.
inline constexpr char kAttemptFilesFolder[] = "files";
// Folders of a gang's ranks: rank-2/spec.json, rank-2/log.txt; no checkpoints.
inline constexpr char kRankFolderPrefix[] = "rank-";

// attempts/<stage>/<token> below `state_dir`. InvalidArgument for a stage id that cannot be a folder's name.
absl::StatusOr<std::filesystem::path> AttemptFolder(const std::filesystem::path& state_dir,
                                                    const std::string& stage_id, std::uint64_t token);

// Makes the folder and writes spec.json into it. Waits for no disk: only the attempt's own child reads it.
absl::Status PrepareAttemptFolder(const std::filesystem::path& folder, const v1::AttemptSpec& spec);

// artifacts/<sha256>.safetensors below `state_dir`. InvalidArgument for any other text than a SHA-256.
absl::StatusOr<std::filesystem::path> ArtifactPath(const std::filesystem::path& state_dir,
                                                   const std::string& sha256);

// `relative` below `folder`; InvalidArgument when it is absolute or climbs out.
absl::StatusOr<std::filesystem::path> PathBelow(const std::filesystem::path& folder,
                                                const std::string& relative);

// The file in the folder of a program's attempt for its checkpoint of this step, and the step that such a path has; 0 where it
// has none.
std::string CheckpointName(std::uint64_t step);
std::uint64_t StepOfCheckpoint(const std::filesystem::path& tar);

// Moves `relative`, a file or folder below `output`, to the same path below `kept`, and follows no link: a program may swap
// what is there meanwhile.
absl::Status MoveBelow(const std::filesystem::path& output, const std::filesystem::path& relative,
                       const std::filesystem::path& kept);

// Moves the final checkpoint of the attempt in `folder` to its artifact, both on disk when this returns OK.
// The file's digest must be the one that the child reported. OK too when the artifact exists already.
absl::Status PublishArtifact(const std::filesystem::path& state_dir, const std::filesystem::path& folder,
                             const v1::CheckpointSaved& checkpoint);

// After attempt `token` of a stage succeeded: removes everything but logs, specs and kept files from its folder and those of older
// tokens. Does nothing when there is a newer one, whose attempt may be reading an older checkpoint.
absl::Status RemoveOldCheckpoints(const std::filesystem::path& state_dir, const std::string& stage_id,
                                  std::uint64_t token);

}  // namespace inlier

#endif  // INLIER_WORKER_ATTEMPT_FOLDER_H_
