// The coordinator's HTTP port: /metrics for Prometheus, /healthz and /readyz for its supervisor.
#ifndef INLIER_COORDINATOR_SERVICES_HTTP_API_H_
#define INLIER_COORDINATOR_SERVICES_HTTP_API_H_

#include "coordinator/metrics.h"
#include "coordinator/services/coordinator_loop.h"
#include "rpc/http_server.h"

namespace inlier {

// Adds the routes. `server` runs on the coordinator's thread, so an answer also shows that this thread is
// alive:
//   /metrics  Prometheus' text format
//   /healthz  200 "ok" while the thread answers
//   /readyz   200 "ready" while submissions are accepted, else 503 with the reason
// `loop` and `metrics` outlive `server`.
void AddHttpApi(HttpServer& server, CoordinatorLoop& loop, CoordinatorMetrics& metrics);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_HTTP_API_H_
