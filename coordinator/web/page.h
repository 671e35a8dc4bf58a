// The page and its JSON on the coordinator's HTTP server: GET / and /page/… (static files), GET /api/about,
// POST /api/….
#ifndef INLIER_COORDINATOR_WEB_PAGE_H_
#define INLIER_COORDINATOR_WEB_PAGE_H_

#include "coordinator/services/access.h"
#include "coordinator/web/api.h"
#include "inlier/v1/config.pb.h"
#include "rpc/http/http_server.h"

namespace inlier {

// Adds the routes. All outlive `http`.
void AddPage(HttpServer& http, Api& api, Access& access, const v1::CoordinatorConfig& config);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_WEB_PAGE_H_
