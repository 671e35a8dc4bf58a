#include "coordinator/services/http_api.h"

#include <string>

namespace inlier {

void AddHttpApi(HttpServer& server, CoordinatorLoop& loop, CoordinatorMetrics& metrics) {
  server.Get("/metrics", [&loop, &metrics] {
    metrics.Update(loop.orchestrator(), loop.StoreHealth());
    return HttpResponse{.content_type = kMetricsContentType, .body = metrics.registry().Expose()};
  });
  server.Get("/healthz", [] { return HttpResponse{.body = "ok\n"}; });
  server.Get("/readyz", [&loop] {
    const absl::Status status = loop.StoreHealth().status;
    if (status.ok()) return HttpResponse{.body = "ready\n"};
    return HttpResponse{.status = 503, .body = std::string(status.message()) + "\n"};
  });
}

}  // namespace inlier
