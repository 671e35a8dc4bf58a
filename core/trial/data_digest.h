// The digest of a trial's data: of the content of all files that its specification names (spec/trial/data_source.h),
// as they are on this machine. docs/decisions/0018-data-in-the-identity.md lists what it covers.
//
// Users name the files, so they are read below the declared roots only (base/data/data_roots.h).
#ifndef INLIER_CORE_TRIAL_DATA_DIGEST_H_
#define INLIER_CORE_TRIAL_DATA_DIGEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/text/corpus.h"
#include "core/train/checkpoint.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Where the files that the attempt's spec names may be.
DataRoots RootsOf(const v1::AttemptSpec& attempt);

// The folders and roots of the attempt, to open its data.
TextOpenOptions FoldersOf(const v1::AttemptSpec& attempt);

// The digest of the files that training.start_from names; empty without it, and for a training of the coordinator, whose
// fingerprint names its model. NotFound where the files are not there.
absl::StatusOr<std::string> StartDigest(const v1::TrialSpec& spec, const TextOpenOptions& folders);

// The digests of the scripts of attention that `spec` names, a line each; empty without any.
absl::StatusOr<std::string> ScriptDigests(const v1::TrialSpec& spec, const TextOpenOptions& folders);

// FailedPrecondition where the scripts of `spec` are others than those of the training that wrote `checkpoint`.
absl::Status CheckSameScripts(const v1::TrialSpec& spec, const Checkpoint& checkpoint,
                              const TextOpenOptions& folders);

// The digest of the data, vocabularies and scripts of `spec`, and of `start_digest`. Errors as those of opening the data.
absl::StatusOr<std::string> DataDigest(const v1::TrialSpec& spec, const std::string& start_digest,
                                       const TextOpenOptions& folders);

// Of the spec of `request`, which need not be resolved, with its folders and roots: the command
// `inlier-trial digest`. InvalidArgument for a path outside the roots.
absl::StatusOr<std::string> DigestOf(const v1::AttemptSpec& request, const DigestProgress& progress = {});

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_DATA_DIGEST_H_
