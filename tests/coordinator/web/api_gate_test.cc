#include "coordinator/web/api_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

HttpRequest FromHere() {
  HttpRequest request;
  request.from_loopback = true;
  request.host = "localhost:7421";
  request.content_type = "application/json";
  return request;
}

TEST(ApiGateTest, PlainTextIsForThisMachineAlone) {
  v1::CoordinatorConfig config;
  HttpRequest request = FromHere();
  EXPECT_TRUE(CheckTransport(request, config).ok());
  request.from_loopback = false;
  EXPECT_THAT(CheckTransport(request, config),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("set http_tls")));
  request.encrypted = true;
  EXPECT_TRUE(CheckTransport(request, config).ok());
  request.encrypted = false;
  config.set_insecure(true);
  EXPECT_TRUE(CheckTransport(request, config).ok());
}

TEST(ApiGateTest, HttpGoesNotAroundCertificatesOfCallers) {
  v1::CoordinatorConfig config;
  config.set_tls_client_ca("ca.pem");
  HttpRequest request = FromHere();
  request.encrypted = request.certified = true;
  EXPECT_THAT(std::string(CheckTransport(request, config).message()), HasSubstr("set tokens_file too"));
  config.set_tokens_file("tokens");
  EXPECT_TRUE(CheckTransport(request, config).ok());
  request.certified = false;
  EXPECT_THAT(std::string(CheckTransport(request, config).message()),
              HasSubstr("a certificate that tls_client_ca"));
}

TEST(ApiGateTest, RequestsOfOtherSitesAreRefused) {
  HttpRequest request = FromHere();
  EXPECT_TRUE(CheckOrigin(request).ok());  // A program.
  request.origin = "http://localhost:7421";
  EXPECT_TRUE(CheckOrigin(request).ok());
  for (const char* other :
       {"http://evil.example", "http://localhost:7422", "https://localhost:74210", "null"}) {
    request.origin = other;
    EXPECT_EQ(CheckOrigin(request).code(), absl::StatusCode::kPermissionDenied) << other;
  }
  request.fetch_site = "cross-site";
  EXPECT_EQ(CheckOrigin(request).code(), absl::StatusCode::kPermissionDenied);
  request.origin = "https://proxy.example";  // A proxy that names this machine in Host.
  request.fetch_site = "same-origin";
  EXPECT_TRUE(CheckOrigin(request).ok());
}

// Of another type a browser would send it for any site without asking first.
TEST(ApiGateTest, ARequestIsJson) {
  HttpRequest request = FromHere();
  for (const char* other : {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"}) {
    request.content_type = other;
    EXPECT_EQ(CheckOrigin(request).code(), absl::StatusCode::kInvalidArgument) << other;
  }
  request.content_type = "Application/JSON; charset=utf-8";
  EXPECT_TRUE(CheckOrigin(request).ok());
}

}  // namespace
}  // namespace inlier
