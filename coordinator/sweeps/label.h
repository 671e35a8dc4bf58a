// What people write on a sweep: name, tags, note, archived. Nothing of what it runs changes.
#ifndef INLIER_COORDINATOR_SWEEPS_LABEL_H_
#define INLIER_COORDINATOR_SWEEPS_LABEL_H_

#include "absl/status/statusor.h"
#include "coordinator/state/caller.h"
#include "coordinator/state/context.h"

namespace inlier {

absl::StatusOr<v1::LabelSweepResponse> LabelSweep(Context& context, const v1::LabelSweepRequest& request,
                                                  const Caller& caller);

// Stores the sweep's name and order.
void CommitOrder(Context& context, Sweep& sweep);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SWEEPS_LABEL_H_
