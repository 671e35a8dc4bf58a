// Checks of data: a worker is asked for the digest of a data source, so that a known result is reused only where
// its data are still the same.
//
// A sweep waits for a source when it comes to a training that is known (sweeps/training_choice.h). One worker at a
// time is asked, first the one that found the source last; one that cannot read the files is followed by the next.
// When none of those asked can read them, that is the answer: the trials then run as new ones, and their attempts
// report what is wrong. Questions are not stored: after a restart the sweep asks again.
#ifndef INLIER_COORDINATOR_DATA_DATA_CHECK_H_
#define INLIER_COORDINATOR_DATA_DATA_CHECK_H_

#include <string>

#include "coordinator/state/feature.h"

namespace inlier {

// The row of these names, or of this digest of a source; made where there is none.
DataId FindOrAddSource(Context& context, const std::string& names);
DataId FindOrAddVersion(Context& context, DataId source, const Digest& digest, const std::string& worker);

// `version` (or a source that cannot be read) was found after `as_of`: sweeps that wait for it continue.
void DataFound(Context& context, DataId version, Token as_of);

// The sweep's expansion waits for the source. `ask`: for a digest; else for an attempt that is reading it.
void WaitForData(Context& context, Sweep& sweep, DataId source, bool ask);

// Chooses a worker for each check that has none. `answered`: the answer to it holds its checks, which are not pushed.
void AskForData(Context& context, const WorkerEntry* answered = nullptr);

// Takes the answers of a sync.
void TakeDataChecked(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync);

// Adds the checks that the worker is asked for.
void FillDataChecks(const State& state, const WorkerEntry& worker, v1::CoordinatorSync& answer);

// The worker is gone: its checks are asked of others.
void ForgetDataChecks(State& state, const std::string& incarnation);

// Asks another worker where one has not answered for stall_seconds, and checks again where an attempt that read the data ends.
Feature DataChecks();

// The data that the sweep waits for, and the worker that is asked. REQUIRES: it waits.
std::string WhyWaitsForData(const State& state, const Sweep& sweep);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_DATA_DATA_CHECK_H_
