// The user-facing gRPC service: submits, shows, watches, queries and changes sweeps.
//
// Calls that change or show the state in memory run on the coordinator's thread, calls that read the database on
// pools. A submitted or edited sweep is checked on gRPC's thread first.
#ifndef INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_
#define INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_

<<<<<<< HEAD
#include <grpcpp/grpcpp.h>

#include <memory>

#include "coordinator/queries/query_processes.h"
=======
>>>>>>> h2/w2
#include "coordinator/services/calls.h"
#include "coordinator/services/door.h"
#include "coordinator/services/watch_hub.h"
#include "coordinator/store/reader.h"

namespace inlier {

<<<<<<< HEAD
// All outlive it.
std::unique_ptr<grpc::Service> MakeSweepService(Calls& calls, WatchHub& watches, Reader& reader,
                                                QueryProcesses& queries);
=======
// All outlive `door`.
void AddSweepService(Door& door, Calls& calls, WatchHub& watches, Reader& reader);
>>>>>>> h2/w2

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_SWEEP_SERVICE_H_
