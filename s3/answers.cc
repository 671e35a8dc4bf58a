#include "s3/answers.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr int kTextBytesMax = 300;

struct Remedy {
  std::string_view code;
  absl::StatusCode status;
  const char* remedy;
};
constexpr std::array kRemedies = {
    Remedy{"NoSuchBucket", absl::StatusCode::kFailedPrecondition, "make the bucket, or correct s3.bucket"},
    Remedy{"AccessDenied", absl::StatusCode::kPermissionDenied,
           "give the key pair the rights of docs/guides/artifacts.md on the bucket"},
    Remedy{"InvalidAccessKeyId", absl::StatusCode::kPermissionDenied,
           "the store does not know AWS_ACCESS_KEY_ID (or the file's): correct it"},
    Remedy{"SignatureDoesNotMatch", absl::StatusCode::kPermissionDenied,
           "the secret key is another than the store's: correct it"},
    Remedy{"ExpiredToken", absl::StatusCode::kPermissionDenied, "renew the temporary credentials"},
    Remedy{"InvalidToken", absl::StatusCode::kPermissionDenied, "renew the temporary credentials"},
    Remedy{"RequestTimeTooSkewed", absl::StatusCode::kFailedPrecondition,
           "set this machine's clock, or the store's"},
    Remedy{"AuthorizationHeaderMalformed", absl::StatusCode::kFailedPrecondition,
           "set s3.region to the bucket's region"},
    Remedy{"PermanentRedirect", absl::StatusCode::kFailedPrecondition,
           "set s3.region and s3.endpoint to those of the bucket"},
    Remedy{"QuotaExceeded", absl::StatusCode::kResourceExhausted, "free space in the bucket: inlier gc"},
    Remedy{"XMinioAdminBucketQuotaExceeded", absl::StatusCode::kResourceExhausted,
           "free space in the bucket: inlier gc"},
    Remedy{"BadDigest", absl::StatusCode::kAborted, "it was damaged in transit, and is sent again"},
    Remedy{"XAmzContentSHA256Mismatch", absl::StatusCode::kAborted,
           "it was damaged in transit, and is sent again"},
    // Another upload replaced the part meanwhile, or half of it arrived.
    Remedy{"InvalidPart", absl::StatusCode::kAborted, "it is sent again"},
    Remedy{"IncompleteBody", absl::StatusCode::kAborted, "it is sent again"},
    Remedy{"RequestTimeout", absl::StatusCode::kUnavailable, "it is tried again"},
};

absl::StatusCode CodeOf(long status) {
  if (status == 404) return absl::StatusCode::kNotFound;
  if (status == 401 || status == 403) return absl::StatusCode::kPermissionDenied;
  if (status == 409 || status == 412) return absl::StatusCode::kAborted;
  if (status == 416) return absl::StatusCode::kOutOfRange;
  if (status == 507) return absl::StatusCode::kResourceExhausted;
  if (status == 301 || status == 302 || status == 307 || status == 308)
    return absl::StatusCode::kFailedPrecondition;
  return status == 408 || status == 429 || status >= 500 || status < 300 ? absl::StatusCode::kUnavailable
                                                                         : absl::StatusCode::kInvalidArgument;
}

// The element `name`, which is the whole of `xml`.
absl::StatusOr<pugi::xml_node> Parse(const std::string& xml, const char* name, pugi::xml_document& document) {
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  const pugi::xml_node root = document.child(name);
  if (parsed && root) return root;
  return absl::UnavailableError(absl::StrCat(
      "the answer must be a whole ", name, ", got ", parsed ? "another element" : parsed.description(),
      " in ", xml.size(), " bytes; s3.endpoint must be that of an S3-compatible store"));
}

bool IsTruncated(const pugi::xml_node& root) {
  return std::string_view(root.child_value("IsTruncated")) == "true";
}

// "2026-11-26T03:09:20.123Z" in seconds since 1970; 0 for an invalid time.
std::int64_t ParseS3Time(const char* text) {
  struct tm broken {};
  if (::strptime(text, "%Y-%m-%dT%H:%M:%S", &broken) == nullptr) return 0;
  return std::max<std::int64_t>(0, ::timegm(&broken));
}

}  // namespace

absl::StatusOr<S3Page<S3Object>> ParseObjects(const std::string& xml) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const pugi::xml_node root, Parse(xml, "ListBucketResult", document));
  S3Page<S3Object> page;
  for (const pugi::xml_node& object : root.children("Contents")) {
    page.items.push_back({.key = object.child_value("Key"),
                          .bytes = object.child("Size").text().as_ullong(),
                          .modified_seconds = ParseS3Time(object.child_value("LastModified"))});
  }
  if (IsTruncated(root)) page.next["continuation-token"] = root.child_value("NextContinuationToken");
  return page;
}

absl::StatusOr<S3Page<S3Part>> ParseParts(const std::string& xml) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const pugi::xml_node root, Parse(xml, "ListPartsResult", document));
  S3Page<S3Part> page;
  for (const pugi::xml_node& part : root.children("Part")) {
    page.items.push_back({.number = part.child("PartNumber").text().as_int(),
                          .etag = part.child_value("ETag"),
                          .bytes = part.child("Size").text().as_ullong(),
                          .modified_seconds = ParseS3Time(part.child_value("LastModified"))});
  }
  if (IsTruncated(root)) page.next["part-number-marker"] = root.child_value("NextPartNumberMarker");
  return page;
}

absl::StatusOr<S3Page<S3MultipartUpload>> ParseUploads(const std::string& xml) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const pugi::xml_node root, Parse(xml, "ListMultipartUploadsResult", document));
  S3Page<S3MultipartUpload> page;
  for (const pugi::xml_node& upload : root.children("Upload")) {
    page.items.push_back({.key = upload.child_value("Key"),
                          .id = upload.child_value("UploadId"),
                          .begun_seconds = ParseS3Time(upload.child_value("Initiated"))});
  }
  if (IsTruncated(root)) {
    page.next["key-marker"] = root.child_value("NextKeyMarker");
    page.next["upload-id-marker"] = root.child_value("NextUploadIdMarker");
  }
  return page;
}

absl::StatusOr<std::string> ParseUploadId(const std::string& xml) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const pugi::xml_node root, Parse(xml, "InitiateMultipartUploadResult", document));
  std::string id = root.child_value("UploadId");
  if (id.empty()) return absl::UnavailableError("the answer names no upload");
  return id;
}

std::string CompletionXml(const std::vector<S3Part>& parts) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  for (const S3Part& part : parts) {
    pugi::xml_node node = root.append_child("Part");
    node.append_child("PartNumber").text().set(part.number);
    node.append_child("ETag").text().set(part.etag.c_str());
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  return text.str();
}

absl::Status StatusOf(const S3Answer& answer, const std::string& what) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(answer.body.data(), answer.body.size());
  const pugi::xml_node error = document.child("Error");
  const std::string code = parsed ? error.child_value("Code") : "";
  const std::string text = std::string(parsed ? error.child_value("Message") : "").substr(0, kTextBytesMax);
  if (answer.ok() && code.empty()) return absl::OkStatus();
  const auto* const known =
      std::ranges::find_if(kRemedies, [&](const Remedy& remedy) { return remedy.code == code; });
  const bool has_remedy = known != kRemedies.end();
  // An answer to HEAD has no body, thus no code.
  const char* const remedy = has_remedy             ? known->remedy
                             : answer.status == 403 ? "compare the key pair and its rights with the store's"
                                                    : "";
  return absl::Status(
      has_remedy ? known->status : CodeOf(answer.status),
      absl::StrCat(what, ": HTTP ", answer.status, code.empty() ? "" : " ", code,
                   text.empty() ? "" : absl::StrCat(" (", text, ")"), remedy[0] == '\0' ? "" : "; ", remedy));
}

}  // namespace inlier
