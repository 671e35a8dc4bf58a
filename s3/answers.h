// The answers of an object store: XML, by pugixml, and errors as absl::Status.
//
// Thread safety: pure functions.
#ifndef INLIER_S3_ANSWERS_H_
#define INLIER_S3_ANSWERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "s3/exchange.h"

namespace inlier {

struct S3Object {
  std::string key{};
  std::uint64_t bytes = 0;
  std::int64_t modified_seconds = 0;  // Since 1970, by the server's clock.
};
struct S3Part {
  int number = 0;  // From 1.
  std::string etag{};
  std::uint64_t bytes = 0;
  std::int64_t modified_seconds = 0;
};
struct S3MultipartUpload {
  std::string key{};
  std::string id{};
  std::int64_t begun_seconds = 0;
};

// A page of a list; `next` completes the query for the page after it, empty at the end.
template <typename Item>
struct S3Page {
  std::vector<Item> items;
  S3Query next;
};

// These fail as Unavailable where the text is not the whole XML element of the answer.
absl::StatusOr<S3Page<S3Object>> ParseObjects(const std::string& xml);
absl::StatusOr<S3Page<S3Part>> ParseParts(const std::string& xml);
absl::StatusOr<S3Page<S3MultipartUpload>> ParseUploads(const std::string& xml);
// The id of the multipart upload that was started.
absl::StatusOr<std::string> ParseUploadId(const std::string& xml);
// The body of a request that puts the parts together.
std::string CompletionXml(const std::vector<S3Part>& parts);

// `what` is the call and its object, for the message, which has HTTP's status, S3's code and the remedy. NotFound: no
// such object or upload; PermissionDenied: the key pair lacks rights; FailedPrecondition: another bucket or region;
// OutOfRange; ResourceExhausted: no room; Unavailable: may be tried again; InvalidArgument: may not.
absl::Status StatusOf(const S3Answer& answer, const std::string& what);

}  // namespace inlier

#endif  // INLIER_S3_ANSWERS_H_
