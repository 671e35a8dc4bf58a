// One signed request to an object store, and its answer, by libcurl. docs/decisions/0026-s3-by-libcurl.md.
//
// Connections are reused. A request ends when nothing moves for 30 s, without a connection in 10 s, or cancelled.
//
// Thread safety: every function on any thread; each request in progress has a handle of its own.
#ifndef INLIER_S3_EXCHANGE_H_
#define INLIER_S3_EXCHANGE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "s3/credentials.h"
#include "s3/location.h"

namespace inlier {

struct S3Answer {
  long status = 0;     // Of HTTP.
  std::string body{};  // At most 16 MiB; longer ones are an error.
  std::string etag{};  // As sent, with its quotes.
  std::uint64_t content_length = 0;
  std::optional<std::uint64_t> range_start{};  // Of Content-Range.
  std::optional<std::uint64_t> range_total{};
  std::int64_t date_seconds = 0;  // The server's clock; both times are since 1970, or 0 where it sent none.
  std::int64_t last_modified_seconds = 0;

  bool ok() const { return status >= 200 && status < 300; }
};

struct S3Request {
  std::string method = "GET";  // GET, HEAD, PUT, POST or DELETE.
  std::string key{};           // Empty: the bucket.
  S3Query query{};
  std::vector<std::string> headers{};            // "x-amz-…: value" and Range; signed with the rest.
  std::string_view body{};                       // Of a PUT or POST; lives as long as the request.
  std::function<bool()> is_cancelled{};          // Asked several times a second; may be empty.
  std::function<void(std::uint64_t)> on_sent{};  // Bytes of the body sent so far; may be empty.
  // Takes the body of a 2xx answer piece by piece, after its headers; without it, and for any other status, the
  // body is S3Answer::body. Its error ends the request.
  std::function<absl::Status(const S3Answer&, std::string_view)> on_body{};
};

class S3Exchange {
 public:
  // `tls_ca` is a PEM file, or empty for the system's authorities.
  S3Exchange(S3Location location, std::unique_ptr<S3CredentialSource> credentials, std::string tls_ca);
  ~S3Exchange();
  S3Exchange(const S3Exchange&) = delete;
  S3Exchange& operator=(const S3Exchange&) = delete;

  // The answer, of any status. Unavailable without a whole one, FailedPrecondition when the server's certificate is
  // not trusted, Cancelled, or the error of on_body.
  absl::StatusOr<S3Answer> Send(const S3Request& request);
  // Ends the requests in progress within a second or so, and all later ones, as Cancelled.
  void Stop() { stopped_ = true; }

  const S3Location& location() const { return location_; }

 private:
  struct Running;
  void* Take();
  void GiveBack(void* handle);

  const S3Location location_;
  const std::unique_ptr<S3CredentialSource> credentials_;
  const std::string tls_ca_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::vector<void*> idle_;  // Handles of libcurl, with their connections.
};

}  // namespace inlier

#endif  // INLIER_S3_EXCHANGE_H_
