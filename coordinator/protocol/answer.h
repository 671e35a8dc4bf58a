// Content of an answer or a push to a worker.
#ifndef INLIER_COORDINATOR_PROTOCOL_ANSWER_H_
#define INLIER_COORDINATOR_PROTOCOL_ANSWER_H_

#include "coordinator/state/context.h"

namespace inlier {

// Adds to `answer` all attempts that the worker should run, and those that it should end, with the reasons. A
// sync lists the worker's attempts: the answer omits the specifications of listed attempts, and ends listed
// attempts only. Without a sync (a push) both are complete. Adds the checks of data, and the artifacts, that the
// worker is asked for.
void FillAnswer(const State& state, const WorkerEntry& worker, const v1::WorkerSync* sync,
                v1::CoordinatorSync& answer);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_PROTOCOL_ANSWER_H_
