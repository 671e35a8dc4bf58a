// The user-facing gRPC service: submits, shows, watches, queries and changes sweeps.
//
// Calls that change or show the state in memory run on the coordinator's thread, calls that read the database
// on pools. A submitted or edited sweep is first checked on the thread of heavy messages.
#ifndef INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_
#define INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_

#include "coordinator/queries/query_processes.h"
#include "coordinator/services/calls.h"
#include "coordinator/services/door.h"
#include "coordinator/services/watch_hub.h"
#include "coordinator/store/reader.h"
#include "fleet/service.h"

namespace inlier {

// All outlive `door`.
void AddSweepService(Door& door, Calls& calls, WatchHub& watches, Reader& reader, QueryProcesses& queries,
                     FleetService& fleet);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_
