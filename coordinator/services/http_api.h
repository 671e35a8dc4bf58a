// The coordinator's HTTP port: /metrics for Prometheus, /healthz and /readyz for whoever supervises it.
#ifndef INLIER_COORDINATOR_SERVICES_HTTP_API_H_
#define INLIER_COORDINATOR_SERVICES_HTTP_API_H_

#include "base/service/http_server.h"
#include "coordinator/metrics.h"
#include "coordinator/services/shell.h"

namespace inlier {

// Adds the routes. `server` runs on the coordinator's thread, so an answer also says that this thread is
// alive:
//   /metrics  Prometheus' text format
//   /healthz  200 "ok" while the thread answers
//   /readyz   200 "ready" while submissions are taken, else 503 with the reason
// `shell` and `metrics` outlive `server`.
void AddHttpApi(HttpServer& server, Shell& shell, CoordinatorMetrics& metrics);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_HTTP_API_H_
