#include "s3/client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace inlier {
namespace {

constexpr int kPagesMax = 100'000;  // Ends the list of a server that repeats itself.

}  // namespace

S3Client::S3Client(S3Location location, std::unique_ptr<S3CredentialSource> credentials,
                   const v1::S3Config& config)
    : exchange_(std::move(location), std::move(credentials), config.tls_ca()),
      part_bytes_(std::uint64_t{config.part_mib()} << 20) {}

absl::StatusOr<std::unique_ptr<S3Client>> S3Client::Make(const v1::S3Config& config, bool insecure) {
  ASSIGN_OR_RETURN(S3Location location, S3Location::FromConfig(config));
  ASSIGN_OR_RETURN(std::unique_ptr<S3CredentialSource> credentials,
                   S3CredentialSource::Open(config.credentials_file(), insecure));
  return std::unique_ptr<S3Client>(new S3Client(std::move(location), std::move(credentials), config));
}

std::string S3Client::What(const S3Request& request) const {
  return absl::StrCat(request.method, " ", location().NameOf(request.key), " at ", location().endpoint());
}

absl::StatusOr<S3Answer> S3Client::Call(const S3Request& request) {
  ASSIGN_OR_RETURN(S3Answer answer, exchange_.Send(request));
  if (!answer.ok()) return StatusOf(answer, What(request));
  return answer;
}

absl::Status S3Client::CheckBucket(const S3Watch& watch) {
  // HEAD would answer without S3's code of the error.
  S3Request request{.query = {{"list-type", "2"}, {"max-keys", "1"}, {"prefix", location().KeyPrefix()}},
                    .is_cancelled = watch.is_cancelled};
  ASSIGN_OR_RETURN(const S3Answer answer, Call(request));
  return Annotate(ParseObjects(answer.body).status(), What(request));
}

absl::StatusOr<std::optional<S3Found>> S3Client::Head(const std::string& key) {
  const S3Request request{.method = "HEAD", .key = key};
  ASSIGN_OR_RETURN(const S3Answer answer, exchange_.Send(request));
  if (answer.status == 404) return std::optional<S3Found>();
  // The answer has no body: another call shows the fault of the key pair, the region or the clock.
  if (answer.status >= 400 && answer.status < 500) RETURN_IF_ERROR(CheckBucket());
  if (!answer.ok()) return StatusOf(answer, What(request));
  const bool timed = answer.date_seconds > 0 && answer.last_modified_seconds > 0;
  return std::optional<S3Found>(
      {.bytes = answer.content_length,
       .age_seconds = timed ? answer.date_seconds - answer.last_modified_seconds : 0});
}

absl::Status S3Client::Get(const std::string& key, std::uint64_t offset,
                           std::function<absl::Status(const S3Answer&, std::string_view)> on_body,
                           const S3Watch& watch) {
  S3Request request{.key = key, .is_cancelled = watch.is_cancelled, .on_body = std::move(on_body)};
  if (offset > 0) request.headers.push_back(absl::StrCat("Range: bytes=", offset, "-"));
  return Call(request).status();
}

absl::Status S3Client::Put(const std::string& key, std::string_view body, const S3Watch& watch) {
  return Call({.method = "PUT",
               .key = key,
               .body = body,
               .is_cancelled = watch.is_cancelled,
               .on_sent = watch.on_moved})
      .status();
}

absl::Status S3Client::Copy(const std::string& from, const std::string& to) {
  S3Request request{.method = "PUT", .key = to};
  request.headers.push_back(absl::StrCat("x-amz-copy-source: /", location().bucket(), "/", from));
  ASSIGN_OR_RETURN(const S3Answer answer, Call(request));
  return StatusOf(answer, What(request));
}

absl::Status S3Client::Delete(const std::string& key) {
  const absl::Status deleted = Call({.method = "DELETE", .key = key}).status();
  return absl::IsNotFound(deleted) ? absl::OkStatus() : deleted;
}

template <typename Item>
absl::StatusOr<std::vector<Item>> S3Client::ListAll(S3Request request,
                                                    absl::StatusOr<S3Page<Item>> (*parse)(const std::string&),
                                                    std::int64_t* now_seconds) {
  std::vector<Item> all;
  for (int pages = 0; pages < kPagesMax; ++pages) {
    ASSIGN_OR_RETURN(const S3Answer answer, Call(request));
    if (now_seconds != nullptr && pages == 0) *now_seconds = answer.date_seconds;
    absl::StatusOr<S3Page<Item>> page = parse(answer.body);
    if (!page.ok()) return Annotate(page.status(), What(request));
    std::move(page->items.begin(), page->items.end(), std::back_inserter(all));
    if (page->next.empty()) return all;
    const S3Query asked = request.query;
    for (auto& [name, value] : page->next) request.query[name] = value;
    if (request.query == asked) break;  // The next page would be the same.
  }
  return absl::UnavailableError(absl::StrCat(What(request), ": the list has no end"));
}

absl::StatusOr<std::vector<S3Object>> S3Client::List(const std::string& prefix, std::int64_t* now_seconds) {
  return ListAll<S3Object>({.query = {{"list-type", "2"}, {"prefix", prefix}}}, &ParseObjects, now_seconds);
}

absl::StatusOr<std::string> S3Client::BeginUpload(const std::string& key) {
  const S3Request request{.method = "POST", .key = key, .query = {{"uploads", ""}}};
  ASSIGN_OR_RETURN(const S3Answer answer, Call(request));
  absl::StatusOr<std::string> id = ParseUploadId(answer.body);
  if (!id.ok()) return Annotate(id.status(), What(request));
  return id;
}

absl::StatusOr<S3Part> S3Client::PutPart(const std::string& key, const std::string& id, int number,
                                         std::string_view body, const S3Watch& watch) {
  ASSIGN_OR_RETURN(const S3Answer answer,
                   Call({.method = "PUT",
                         .key = key,
                         .query = {{"partNumber", absl::StrCat(number)}, {"uploadId", id}},
                         .body = body,
                         .is_cancelled = watch.is_cancelled,
                         .on_sent = watch.on_moved}));
  if (answer.etag.empty())
    return absl::UnavailableError(
        absl::StrCat("PUT of part ", number, " of ", location().NameOf(key), ": the answer has no ETag"));
  return S3Part{.number = number, .etag = answer.etag, .bytes = body.size()};
}

absl::StatusOr<std::vector<S3Part>> S3Client::ListParts(const std::string& key, const std::string& id) {
  return ListAll<S3Part>({.key = key, .query = {{"uploadId", id}}}, &ParseParts, nullptr);
}

absl::Status S3Client::CompleteUpload(const std::string& key, const std::string& id,
                                      const std::vector<S3Part>& parts) {
  const std::string body = CompletionXml(parts);
  const S3Request request{.method = "POST", .key = key, .query = {{"uploadId", id}}, .body = body};
  ASSIGN_OR_RETURN(const S3Answer answer, Call(request));
  return StatusOf(answer, What(request));
}

absl::Status S3Client::AbortUpload(const std::string& key, const std::string& id) {
  const absl::Status aborted = Call({.method = "DELETE", .key = key, .query = {{"uploadId", id}}}).status();
  return absl::IsNotFound(aborted) ? absl::OkStatus() : aborted;
}

absl::StatusOr<std::vector<S3MultipartUpload>> S3Client::ListUploads(const std::string& prefix,
                                                                     std::int64_t* now_seconds) {
  return ListAll<S3MultipartUpload>({.query = {{"prefix", prefix}, {"uploads", ""}}}, &ParseUploads,
                                    now_seconds);
}

}  // namespace inlier
