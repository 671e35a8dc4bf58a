// Removes files below the state folder, and objects of the bucket where there is one, that are no longer
// needed.
//
// Always kept: the model of every training that has its result and is whole (any sweep may ask for another
// evaluation of it, and a stage with a result never runs again); the checkpoint that a training without a result would
// resume from, and everything of one that runs; logs and specs; what is younger than an hour; what a live
// attempt may have written and not reported yet.
//
// Removed: all files of freed trainings, and models that a rule let go (removal/removal.h); checkpoints that a later one or the result has superseded; uploads without a byte for a day; files
// that no attempt has reported, after `keep_days`. A run that is cut short is harmless.
//
// An object counts as used when it was written, by the server's clock; a worker that makes it again writes it
// again when it is old (s3/object_transfer.h).
//
// Thread safety: any thread; waits for disk, database and bucket.
#ifndef INLIER_COORDINATOR_ARTIFACTS_ARTIFACT_COLLECTOR_H_
#define INLIER_COORDINATOR_ARTIFACTS_ARTIFACT_COLLECTOR_H_

#include <filesystem>
#include <map>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordinator/artifacts/artifact_store.h"
#include "coordinator/store/reader.h"
#include "coordinator/store/rows.h"
#include "inlier/v1/artifact_service.pb.h"
#include "s3/client.h"

namespace inlier {

// The stages that are gone, or are to go: StageFate of stages besides those that have it in the database.
using StageFates = std::map<StageId, StageFate>;

// InvalidArgument for a request with a value out of range.
absl::Status CheckCollection(const v1::CollectRequest& request);

// With request.dry_run it only reports the files that it would remove. `bucket`: null where artifacts are
// only in the folder. An error of the bucket comes after the folder is done.
absl::StatusOr<v1::CollectResponse> CollectArtifacts(const std::filesystem::path& state_dir,
                                                     ArtifactStore& store, S3Client* bucket, Reader& reader,
                                                     const v1::CollectRequest& request,
                                                     const StageFates& to_go, WallTime now);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ARTIFACTS_ARTIFACT_COLLECTOR_H_
