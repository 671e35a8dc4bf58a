// The training of a new trial: one that is known, or a new one.
//
// A training is known by the fingerprint of its specification and by the digest of its data. The fields of a
// specification are compared at once; the data are files, which only a worker can read. So a known training is
// reused where it has the data with which the sweep began, or those that a worker has found since the sweep was
// submitted or edited; until then the sweep waits (data/data_check.h). A training that no attempt has started
// is shared at once: it will read the data of that time.
//
// The stages of one specification are numbered: the first has the fingerprint of the specification, the n-th that
// of it and n. An evaluation has the number of its training. One with files of its own (evaluation.multiple_choice) is known by
// their digest, with that of the training's files, in its fingerprint: where they change, it runs again, and the training does not.
// Its sweep waits for a worker that finds the digest, known training or not.
#ifndef INLIER_COORDINATOR_SWEEPS_TRAINING_CHOICE_H_
#define INLIER_COORDINATOR_SWEEPS_TRAINING_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/digest.h"
#include "coordinator/state/context.h"

namespace inlier {

// The fingerprint of the n-th stage of a specification with this one.
Digest FingerprintOf(const Digest& specification, std::uint32_t number);

struct TrainingChoice {
  std::uint32_t number = 1;
  DataId data{};             // Of a new training: what it is bound to, or its source where that is not known.
  DataId evaluation_data{};  // The same of the evaluation; zero: it has no files of its own.
};

// Of those that are not freed; the digest of the evaluation's own files becomes a part of its fingerprint. Nullopt: it cannot be
// chosen yet, and the sweep waits for data. REQUIRES: trial.train.
std::optional<TrainingChoice> ChooseTraining(Context& context, Sweep& sweep, ExpandedTrial& trial);

// Fingerprint of the latest stage of the specification, which a waiting trial has if its data are unchanged; empty: none.
std::string LikelyTraining(const State& state, const StagePart& train);

// True when the trial would have a result if the data are unchanged; false where it is not known what it starts from.
bool HasKnownResult(const State& state, const ExpandedTrial& trial);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_TRAINING_CHOICE_H_
