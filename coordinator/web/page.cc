#include "coordinator/web/page.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/version.h"
#include "coordinator/web/api_gate.h"
#include "dashboard/page/page_files.h"
#include "nlohmann/json.hpp"
#include "spec/trial/measurements.h"

namespace inlier {
namespace {

constexpr char kFolder[] = "/page/";
constexpr char kIndex[] = "index.html";

// Forbid a browser resources of other sites, inline code, and a frame around the page.
const std::vector<std::pair<std::string, std::string>>& SafetyHeaders() {
  static const std::vector<std::pair<std::string, std::string>> headers = {
      {"Content-Security-Policy",
       "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return headers;
}

// The two forms in which a file is sent.
struct Served {
  std::string tag;
  HttpResponse plain, compressed;
};

std::map<std::string, Served> ServedFiles() {
  std::map<std::string, Served> served;
  for (const PageFile& file : PageFiles()) {
    Served one;
    one.tag = absl::StrCat("\"", Sha256Hex(file.content).substr(0, 32), "\"");
    one.plain = {.content_type = std::string(file.content_type), .body = std::string(file.content)};
    one.plain.headers = SafetyHeaders();
    one.plain.headers.emplace_back("ETag", one.tag);
    // A browser asks each time, and gets it again only from another version.
    one.plain.headers.emplace_back("Cache-Control", "no-cache");
    one.plain.headers.emplace_back("Vary", "Accept-Encoding");
    one.compressed = one.plain;
    Compress({.accept_encoding = "gzip"}, one.compressed);
    served.emplace(file.name, std::move(one));
  }
  return served;
}

void ServeFile(const std::map<std::string, Served>& files, const std::string& name, HttpCall& call) {
  const auto found = files.find(name);
  if (found == files.end())
    return call.Reply({.status = 404, .body = absl::StrCat("the page has no file ", name, "\n")});
  const HttpRequest& request = call.request();
  const bool compress = request.accept_encoding.find("gzip") != std::string::npos;
  HttpResponse response = compress ? found->second.compressed : found->second.plain;
  if (request.if_none_match == found->second.tag) {
    response.status = 304;
    response.body.clear();
  }
  call.Reply(std::move(response));
}

std::string MeasurementsJson() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MeasurementInfo& one : Measurements()) {
    list.push_back({{"name", one.name},
                    {"unit", one.unit},
                    {"axis", one.axis},
                    {"final", one.final},
                    {"curve", one.curve}});
  }
  return list.dump();
}

// The caller, the methods that it may call, and the measurements.
HttpResponse About(const HttpRequest& request, Access& access, const v1::CoordinatorConfig& config) {
  if (const absl::Status allowed = CheckTransport(request, config); !allowed.ok())
    return ErrorResponse(allowed);
  const absl::StatusOr<CallerRights> rights = access.RightsOf(request.authorization, request.peer);
  if (!rights.ok()) return ErrorResponse(rights.status());
  const Caller& who = rights->caller;
  const nlohmann::ordered_json caller = {
      {"name", who.name}, {"role", who.role}, {"admin", who.admin}, {"methods", rights->methods}};
  HttpResponse response{.content_type = "application/json"};
  response.body = absl::StrCat("{\"version\":", nlohmann::json(Version()).dump(),
                               ",\"caller\":", caller.dump(), ",\"measurements\":", MeasurementsJson(), "}");
  response.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
  return response;
}

}  // namespace

void AddPage(HttpServer& http, Api& api, Access& access, const v1::CoordinatorConfig& config) {
  const auto files = std::make_shared<const std::map<std::string, Served>>(ServedFiles());
  http.GetLater("/", [files](const std::shared_ptr<HttpCall>& call) { ServeFile(*files, kIndex, *call); });
  http.GetLater(kFolder, [files](const std::shared_ptr<HttpCall>& call) {
    ServeFile(*files, call->request().path.substr(sizeof(kFolder) - 1), *call);
  });
  http.GetLater("/api/about", [&access, &config](const std::shared_ptr<HttpCall>& call) {
    call->Reply(About(call->request(), access, config));
  });
  http.PostBelow(
      Api::kPrefix, Api::kBodyBytesMax, [&api](const HttpRequest& head) { return api.Refusal(head); },
      [&api](const std::shared_ptr<HttpCall>& call) { api.Handle(call); });
}

}  // namespace inlier
