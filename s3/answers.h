// What an object store answers: XML, by pugixml, and errors as absl::Status.
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

// A page of a list; `next` is the rest of the query for the page after it, empty at the end.
template <typename Item>
struct S3Page {
  std::vector<Item> items;
  S3Query next;
};

// Unavailable where the text is not the whole XML element that the call answers.
absl::StatusOr<S3Page<S3Object>> ParseObjects(const std::string& xml);
absl::StatusOr<S3Page<S3Part>> ParseParts(const std::string& xml);
absl::StatusOr<S3Page<S3MultipartUpload>> ParseUploads(const std::string& xml);
// The id of the multipart upload that was begun.
absl::StatusOr<std::string> ParseUploadId(const std::string& xml);
// The body of a request that puts the parts together.
std::string CompletionXml(const std::vector<S3Part>& parts);

// `what`: the call and its object, for the message, which has the status of HTTP, S3's code and the remedy.
// NotFound: the object or the upload is not there; PermissionDenied: the key pair may not;
// FailedPrecondition: the bucket or the region is another; OutOfRange; ResourceExhausted: no room;
// Unavailable: the store does not work now; InvalidArgument: it never will as it is.
absl::Status StatusOf(const S3Answer& answer, const std::string& what);

// "2026-11-26T03:09:20.123Z" in seconds since 1970; 0 for what is no time.
std::int64_t ParseS3Time(const std::string& text);

}  // namespace inlier

#endif  // INLIER_S3_ANSWERS_H_
