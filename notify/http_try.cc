#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/version.h"
#include "notify/hook_check.h"
#include "notify/signature.h"
#include "notify/try_outcome.h"
#include "rpc/curl.h"

namespace inlier {
namespace {

constexpr int kPollMilliseconds = 20;
constexpr std::size_t kHeadBytesMax = 8 << 10;
constexpr int kRequestTimeout = 408, kTooManyRequests = 429;

CurlHeaders MakeHeaders(const std::string& secret, const Notification& notification) {
  std::vector<std::string> lines = {
      "Content-Type: application/json", "Connection: close",
      "Expect:", absl::StrCat("X-Inlier-Event: ", notification.event),
      absl::StrCat("X-Inlier-Delivery: ", NotificationId(notification.number, notification.at))};
  if (!secret.empty())
    lines.push_back(absl::StrCat("X-Inlier-Signature: sha256=", HmacSha256Hex(secret, notification.body)));
  CurlHeaders list;
  for (const std::string& line : lines) AddCurlHeader(list, line);
  return list;
}

// One POST and the head of its answer.
class Exchange {
 public:
  Exchange(const v1::HookConfig& hook, const HookUrl& url, const std::string& secret,
           const Notification& notification)
      : headers_(MakeHeaders(secret, notification)) {
    CURL* const handle = handle_.get();
    SetCurlOption(handle, CURLOPT_ERRORBUFFER, error_.data());
    SetCurlOption(handle, CURLOPT_URL,
                  absl::StrCat(url.tls ? "https://" : "http://", url.host_header, url.target).c_str());
    SetCurlOption(handle, CURLOPT_PATH_AS_IS, 1L);
    SetCurlOption(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    SetCurlOption(handle, CURLOPT_PROXY, "");
    SetCurlOption(handle, CURLOPT_NOSIGNAL, 1L);
    SetCurlOption(handle, CURLOPT_QUICK_EXIT, 1L);  // A look-up that takes too long is left to its thread.
    SetCurlOption(handle, CURLOPT_USERAGENT, absl::StrCat("inlier-coordinator/", Version()).c_str());
    SetCurlOption(handle, CURLOPT_HTTPHEADER, headers_.get());
    SetCurlOption(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(notification.body.size()));
    SetCurlOption(handle, CURLOPT_POSTFIELDS, notification.body.c_str());
    SetCurlOption(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    if (hook.has_tls_ca()) {
      SetCurlOption(handle, CURLOPT_CAINFO, hook.tls_ca().c_str());
      SetCurlOption(handle, CURLOPT_CAPATH, nullptr);
    }
    SetCurlOption(handle, CURLOPT_HEADERFUNCTION, &Exchange::TakeHeader);
    SetCurlOption(handle, CURLOPT_HEADERDATA, static_cast<void*>(this));
    SetCurlOption(handle, CURLOPT_WRITEFUNCTION, &Exchange::DropBody);
    INLIER_CHECK(curl_multi_add_handle(multi_.get(), handle) == CURLM_OK);
  }
  ~Exchange() { curl_multi_remove_handle(multi_.get(), handle_.get()); }

  // False once it has ended.
  bool RunOn() {
    int running = 0;
    INLIER_CHECK(curl_multi_perform(multi_.get(), &running) == CURLM_OK);
    if (head_ended_ || running == 0) return false;
    INLIER_CHECK(curl_multi_poll(multi_.get(), nullptr, 0, kPollMilliseconds, nullptr) == CURLM_OK);
    return true;
  }

  // The status of the answer, or 0 and the error. REQUIRES: the exchange has ended.
  long status() const { return head_ended_ ? Status() : 0; }
  std::string ErrorText() const {
    if (head_bytes_ > kHeadBytesMax) return "the head of the answer is longer than 8 KiB";
    long system_error = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_OS_ERRNO, &system_error);
    int left = 0;
    const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left);
    const CURLcode code = message == nullptr ? CURLE_OK : message->data.result;
    return absl::StrCat(
        code == CURLE_SSL_CACERT_BADFILE ? "tls_ca: " : "",
        error_[0] != '\0' ? error_.data() : curl_easy_strerror(code),
        system_error == 0 ? "" : absl::StrCat(": ", std::strerror(static_cast<int>(system_error))));
  }

 private:
  static std::size_t TakeHeader(char* data, std::size_t size, std::size_t count, void* self) {
    auto& exchange = *static_cast<Exchange*>(self);
    const std::string_view line(data, size * count);
    if (line.starts_with("HTTP/")) exchange.head_bytes_ = 0;  // An interim answer may precede.
    exchange.head_bytes_ += line.size();
    if (exchange.head_bytes_ > kHeadBytesMax) return 0;
    if (line == "\r\n" || line == "\n") exchange.head_ended_ = exchange.Status() >= 200;
    return line.size();
  }
  static std::size_t DropBody(char*, std::size_t size, std::size_t count, void*) { return size * count; }
  long Status() const {
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  const CurlMulti multi_{curl_multi_init()};
  const CurlEasy handle_{curl_easy_init()};
  const CurlHeaders headers_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::size_t head_bytes_ = 0;
  bool head_ended_ = false;
};

TryOutcome OutcomeOf(long status) {
  if (status >= 200 && status < 300) return {.kind = TryOutcome::Kind::kTaken};
  const bool busy = status >= 500 || status == kRequestTimeout || status == kTooManyRequests;
  return {.kind = busy ? TryOutcome::Kind::kFailed : TryOutcome::Kind::kRefused,
          .error = absl::StrCat(
              "the receiver answered with status ", status,
              status >= 300 && status < 400 ? ", and redirects are not followed: name the final url" : "")};
}

}  // namespace

TryOutcome PostNotification(const v1::HookConfig& hook, bool insecure, const Notification& notification,
                            const MustStop& must_stop) {
  const Timestamp deadline = MonotonicNow() + std::chrono::seconds(hook.timeout_seconds());
  const absl::StatusOr<HookUrl> url = ParseHookUrl(hook.url());
  const absl::StatusOr<std::string> secret = ReadSecret(hook.secret_file(), insecure);
  for (const absl::Status& status : {url.status(), secret.status()})
    if (!status.ok()) return {.error = std::string(status.message())};
  Exchange exchange(hook, *url, *secret, notification);
  while (exchange.RunOn()) {
    if (must_stop() || MonotonicNow() >= deadline)
      return {.error = absl::StrCat("no answer within ", hook.timeout_seconds(), " s")};
  }
  return exchange.status() == 0 ? TryOutcome{.error = exchange.ErrorText()} : OutcomeOf(exchange.status());
}

}  // namespace inlier
