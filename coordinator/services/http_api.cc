#include "coordinator/services/http_api.h"

#include <string>

namespace inlier {

void AddHttpApi(HttpServer& server, Shell& shell, CoordinatorMetrics& metrics) {
  server.Get("/metrics", [&shell, &metrics](const HttpRequest&) {
    shell.Take([&] { metrics.Update(shell.orchestrator(), shell.StoreHealth()); });
    return HttpResponse{
        .status = 200, .content_type = kMetricsContentType, .body = metrics.registry().Expose()};
  });
  server.Get("/healthz", [](const HttpRequest&) { return HttpResponse{.body = "ok\n"}; });
  server.Get("/readyz", [&shell](const HttpRequest&) {
    const absl::Status status = shell.StoreHealth().status;
    if (status.ok()) return HttpResponse{.body = "ready\n"};
    return HttpResponse{.status = 503, .body = std::string(status.message()) + "\n"};
  });
}

}  // namespace inlier
