// The digest of a trial's data: of the content of all files that its specification names (spec/trial/data_source.h),
// as they are on this machine. docs/decisions/0018-data-in-the-identity.md says what it covers.
//
// Thread safety: pure functions of the file system.
#ifndef INLIER_CORE_TRIAL_DATA_DIGEST_H_
#define INLIER_CORE_TRIAL_DATA_DIGEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The digest of training.start_from; empty without it. NotFound where the files are not there.
absl::StatusOr<std::string> StartDigest(const v1::TrialSpec& spec, const std::string& cache_dir);

// The digest of the data and vocabularies of `spec`, and of `start_digest`. Errors as those of opening the data.
absl::StatusOr<std::string> DataDigest(const v1::TrialSpec& spec, const std::string& start_digest,
                                       const std::string& data_dir, const std::string& cache_dir);

// Of the fields spec, data_dir and cache_dir of `request`, whose spec need not be resolved: the command
// `inlier-trial digest`.
absl::StatusOr<std::string> DigestOf(const v1::AttemptSpec& request);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_DATA_DIGEST_H_
