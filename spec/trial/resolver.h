// From a written spec to the one that runs: with every value that follows from others.
#ifndef INLIER_SPEC_TRIAL_RESOLVER_H_
#define INLIER_SPEC_TRIAL_RESOLVER_H_

#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Fills what is not given, never changes what is:
// - sizes from model.*.preset, then vocab_size from the tokenizer, max_positions from the data's sequence_length,
//   image_size, channels and classes from a data set that is known by name, and embedding_size from hidden_size;
// - data.text.objective from the architecture;
// - training.best_every, with BEST, from the period of the curve;
// - sub-messages, and the default member of each choice; `quantization`, its weights and its activations stay absent,
//   and `quantization.calibration` is made only with activations.
// Scalars with a declared default stay unset. Idempotent: Resolve(Resolve(x)) == Resolve(x).
//
// InvalidArgument: an unknown preset; an empty `quantization`. All else is the validator's.
absl::StatusOr<v1::TrialSpec> Resolve(const v1::TrialSpec& spec);
// The same without a copy; after an error its content is undefined.
absl::Status ResolveInPlace(v1::TrialSpec* spec);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_RESOLVER_H_
