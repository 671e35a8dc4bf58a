#include "s3/exchange.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/digest.h"
#include "rpc/curl.h"

namespace inlier {
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kSilentSeconds = 30;
constexpr std::size_t kBodyBytesMax = 16 << 20;
constexpr long kReadBytes = 512 << 10;  // Handed to on_body at once.

}  // namespace

// The data for the callbacks of one request.
struct S3Exchange::Running {
  Running(const S3Request& request, const std::atomic<bool>& stopped) : request(request), stopped(stopped) {}

  const S3Request& request;
  const std::atomic<bool>& stopped;
  CURL* handle = nullptr;
  S3Answer answer;
  std::size_t sent = 0;
  absl::Status taken;

  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Running*>(self)->TakeHeader(absl::string_view(data, size * count));
    return size * count;
  }
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self) {
    auto& running = *static_cast<Running*>(self);
    curl_easy_getinfo(running.handle, CURLINFO_RESPONSE_CODE, &running.answer.status);
    running.taken = running.TakeBody(std::string_view(data, size * count));
    return running.taken.ok() ? size * count : 0;
  }
  static std::size_t OnRead(char* to, std::size_t size, std::size_t count, void* self) {
    auto& running = *static_cast<Running*>(self);
    const std::string_view rest = running.request.body.substr(running.sent);
    const std::size_t bytes = std::min(rest.size(), size * count);
    std::memcpy(to, rest.data(), bytes);
    running.sent += bytes;
    return bytes;
  }
  static int OnSeek(void* self, curl_off_t offset, int origin) {
    auto& running = *static_cast<Running*>(self);
    if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
    running.sent = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
  }
  static int OnProgress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent) {
    const auto& running = *static_cast<Running*>(self);
    const S3Request& request = running.request;
    if (request.on_sent && sent > 0) request.on_sent(static_cast<std::uint64_t>(sent));
    return running.stopped || (request.is_cancelled && request.is_cancelled()) ? 1 : 0;
  }

  void TakeHeader(absl::string_view line) {
    if (absl::StartsWith(line, "HTTP/")) {  // The headers of an interim answer do not count.
      answer = S3Answer();
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == absl::string_view::npos) return;
    const std::string name = absl::AsciiStrToLower(line.substr(0, colon));
    const std::string value(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    if (name == "etag") answer.etag = value;
    if (name == "content-length") static_cast<void>(absl::SimpleAtoi(value, &answer.content_length));
    if (name == "date") answer.date_seconds = std::max<std::int64_t>(0, curl_getdate(value.c_str(), nullptr));
    if (name == "last-modified")
      answer.last_modified_seconds = std::max<std::int64_t>(0, curl_getdate(value.c_str(), nullptr));
    unsigned long long start = 0, end = 0, total = 0;
    if (name == "content-range" &&
        std::sscanf(value.c_str(), "bytes %llu-%llu/%llu", &start, &end, &total) == 3) {
      answer.range_start = start;
      answer.range_total = total;
    }
  }
  absl::Status TakeBody(std::string_view data) {
    if (request.on_body && answer.ok()) return request.on_body(answer, data);
    if (answer.body.size() + data.size() > kBodyBytesMax)
      return absl::UnavailableError("the answer is longer than any of S3");
    answer.body.append(data);
    return absl::OkStatus();
  }
};

S3Exchange::S3Exchange(S3Location location, std::unique_ptr<S3CredentialSource> credentials,
                       std::string tls_ca)
    : location_(std::move(location)), credentials_(std::move(credentials)), tls_ca_(std::move(tls_ca)) {}

S3Exchange::~S3Exchange() {
  for (void* handle : idle_) curl_easy_cleanup(handle);
}

void* S3Exchange::Take() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) idle_.push_back(curl_easy_init());
  void* const handle = idle_.back();
  INLIER_CHECK(handle != nullptr);
  idle_.pop_back();
  return handle;
}

void S3Exchange::GiveBack(void* handle) {
  curl_easy_reset(handle);  // Keeps the connections.
  const std::lock_guard lock(mutex_);
  idle_.push_back(handle);
}

absl::StatusOr<S3Answer> S3Exchange::Send(const S3Request& request) {
  if (stopped_) return absl::CancelledError("this program is ending");
  const S3Credentials keys = credentials_->Get();
  CurlHeaders headers;
  // libcurl signs this digest, and S3 checks the body against it.
  AddCurlHeader(headers, absl::StrCat("x-amz-content-sha256: ", Sha256Hex(request.body)));
  if (!keys.session_token.empty())
    AddCurlHeader(headers, absl::StrCat("x-amz-security-token: ", keys.session_token));
  for (const std::string& header : request.headers) AddCurlHeader(headers, header);
  if (request.method == "POST") AddCurlHeader(headers, "Content-Type: application/xml");

  Running running(request, stopped_);
  CURL* const handle = running.handle = Take();
  const std::unique_ptr<void, std::function<void(void*)>> back(handle,
                                                               [this](void* used) { GiveBack(used); });
  std::array<char, CURL_ERROR_SIZE> error{};
  SetCurlOption(handle, CURLOPT_ERRORBUFFER, error.data());
  SetCurlOption(handle, CURLOPT_URL, location_.Url(request.key, request.query).c_str());
  SetCurlOption(handle, CURLOPT_PROTOCOLS_STR, location_.encrypted() ? "https" : "http");
  SetCurlOption(handle, CURLOPT_NOSIGNAL, 1L);
  SetCurlOption(handle, CURLOPT_AWS_SIGV4, absl::StrCat("aws:amz:", location_.region(), ":s3").c_str());
  SetCurlOption(handle, CURLOPT_USERNAME, keys.access_key.c_str());
  SetCurlOption(handle, CURLOPT_PASSWORD, keys.secret_key.c_str());
  SetCurlOption(handle, CURLOPT_HTTPHEADER, headers.get());
  SetCurlOption(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  SetCurlOption(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  SetCurlOption(handle, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  SetCurlOption(handle, CURLOPT_BUFFERSIZE, kReadBytes);
  SetCurlOption(handle, CURLOPT_UPLOAD_BUFFERSIZE, kReadBytes);
  SetCurlOption(handle, CURLOPT_HEADERFUNCTION, &Running::OnHeader);
  SetCurlOption(handle, CURLOPT_HEADERDATA, static_cast<void*>(&running));
  SetCurlOption(handle, CURLOPT_WRITEFUNCTION, &Running::OnBody);
  SetCurlOption(handle, CURLOPT_WRITEDATA, static_cast<void*>(&running));
  SetCurlOption(handle, CURLOPT_NOPROGRESS, 0L);
  SetCurlOption(handle, CURLOPT_XFERINFOFUNCTION, &Running::OnProgress);
  SetCurlOption(handle, CURLOPT_XFERINFODATA, static_cast<void*>(&running));
  if (!tls_ca_.empty()) SetCurlOption(handle, CURLOPT_CAINFO, tls_ca_.c_str());
  if (request.method == "HEAD") SetCurlOption(handle, CURLOPT_NOBODY, 1L);
  if (request.method == "DELETE") SetCurlOption(handle, CURLOPT_CUSTOMREQUEST, "DELETE");
  if (request.method == "POST") {
    SetCurlOption(handle, CURLOPT_POST, 1L);
    SetCurlOption(handle, CURLOPT_POSTFIELDS, request.body.data() == nullptr ? "" : request.body.data());
    SetCurlOption(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  if (request.method == "PUT") {
    SetCurlOption(handle, CURLOPT_UPLOAD, 1L);
    SetCurlOption(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    SetCurlOption(handle, CURLOPT_READFUNCTION, &Running::OnRead);
    SetCurlOption(handle, CURLOPT_READDATA, static_cast<void*>(&running));
    SetCurlOption(handle, CURLOPT_SEEKFUNCTION, &Running::OnSeek);
    SetCurlOption(handle, CURLOPT_SEEKDATA, static_cast<void*>(&running));
  }
  const CURLcode code = curl_easy_perform(handle);
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &running.answer.status);
  if (code == CURLE_OK) return std::move(running.answer);
  if (!running.taken.ok()) return running.taken;
  if (code == CURLE_ABORTED_BY_CALLBACK) return absl::CancelledError("it is not wanted any more");
  const std::string what =
      absl::StrCat(request.method, " ", location_.NameOf(request.key), " at ", location_.endpoint(), ": ",
                   error[0] != '\0' ? error.data() : curl_easy_strerror(code));
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
    return absl::FailedPreconditionError(
        absl::StrCat(what, "; name the authority of its certificate with s3.tls_ca"));
  return absl::UnavailableError(what);
}

}  // namespace inlier
