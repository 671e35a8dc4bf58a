#include "coordinator/web/api_gate.h"

#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

// "https://host:7421" -> "host:7421".
std::string_view HostOf(std::string_view origin) {
  const std::size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

}  // namespace

absl::Status CheckTransport(const HttpRequest& request, const v1::CoordinatorConfig& config) {
  if (!config.tls_client_ca().empty()) {
    if (config.tokens_file().empty()) {
      return absl::PermissionDeniedError(
          "this coordinator identifies callers by their certificates, which HTTP does not check; for the "
          "page set tokens_file too (`inlier token add`), or save a sweep as a file: inlier page SWEEP -o "
          "sweep.html");
    }
    if (!request.certified) {
      return absl::PermissionDeniedError(
          "this coordinator requires a certificate that tls_client_ca signed; set http_tls, and add the "
          "certificate to the browser");
    }
  }
  if (!request.encrypted && !request.from_loopback && !config.insecure()) {
    return absl::PermissionDeniedError(
        "the page is not served in plain text to other machines, where tokens and results could be read; set "
        "http_tls with tls_certificate and tls_key, or use an ssh tunnel to http_listen");
  }
  return absl::OkStatus();
}

absl::Status CheckOrigin(const HttpRequest& request) {
  const bool same_site = request.fetch_site == "same-origin" || HostOf(request.origin) == request.host;
  if (!request.origin.empty() && !same_site) {
    return absl::PermissionDeniedError(absl::StrCat("the request comes from a page of ", request.origin,
                                                    " and not from that of this coordinator, ", request.host,
                                                    " (a proxy: keep the header Host)"));
  }
  if (!absl::StartsWithIgnoreCase(request.content_type, "application/json"))
    return absl::InvalidArgumentError("a request is JSON: set Content-Type: application/json");
  return absl::OkStatus();
}

}  // namespace inlier
