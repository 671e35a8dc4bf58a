#include "coordinator/notifications/http_try.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/version.hpp>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "coordinator/notifications/hook_check.h"
#include "coordinator/notifications/signature.h"
#include "coordinator/store/hook_key.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using Request = http::request<http::string_body>;

constexpr auto kLookEvery = std::chrono::milliseconds(20);
constexpr std::uint32_t kHeadBytesMax = 8 << 10;
constexpr int kRequestTimeout = 408, kTooManyRequests = 429;

struct Deadline {
  Timestamp at;
  const MustStop& must_stop;
  bool Over() const { return MonotonicNow() >= at || must_stop(); }
};

// The addresses of the host. A look-up cannot be ended: one that takes too long is left to its thread.
std::vector<tcp::endpoint> Resolve(const HookUrl& url, const Deadline& deadline, std::string& error) {
  beast::error_code code;
  if (const auto address = asio::ip::make_address(url.host, code); !code) return {{address, url.port}};
  using Found = std::pair<std::vector<tcp::endpoint>, std::string>;
  const auto promise = std::make_shared<std::promise<Found>>();
  std::future<Found> found = promise->get_future();
  std::thread([promise, host = url.host, port = std::to_string(url.port)] {
    asio::io_context io;
    tcp::resolver resolver(io);
    beast::error_code failed;
    Found result;
    for (const auto& entry : resolver.resolve(host, port, failed)) result.first.push_back(entry.endpoint());
    if (failed) result.second = failed.message();
    promise->set_value(std::move(result));
  }).detach();
  while (found.wait_for(kLookEvery) != std::future_status::ready) {
    if (!deadline.Over()) continue;
    error = absl::StrCat("the look-up of ", url.host, " took too long");
    return {};
  }
  Found result = found.get();
  if (result.first.empty()) error = absl::StrCat("the look-up of ", url.host, " failed: ", result.second);
  return std::move(result.first);
}

// Writes the request and reads the head of the answer: its status.
template <typename Stream>
asio::awaitable<int> Exchange(Stream& stream, const Request& request) {
  beast::flat_buffer buffer(kHeadBytesMax + 1024);
  http::response_parser<http::empty_body> parser;
  parser.header_limit(kHeadBytesMax);
  parser.body_limit(boost::none);  // It is not read.
  co_await http::async_write(stream, request, asio::use_awaitable);
  co_await http::async_read_header(stream, buffer, parser, asio::use_awaitable);
  co_return parser.get().result_int();
}

asio::awaitable<int> Plain(asio::io_context& io, const std::vector<tcp::endpoint>& endpoints,
                           const Request& request) {
  beast::tcp_stream stream(io);
  co_await stream.async_connect(endpoints, asio::use_awaitable);
  const int status = co_await Exchange(stream, request);
  co_return status;
}

asio::awaitable<int> Secure(asio::io_context& io, ssl::context& tls, const HookUrl& url,
                            const std::vector<tcp::endpoint>& endpoints, const Request& request) {
  ssl::stream<beast::tcp_stream> stream(io, tls);
  stream.set_verify_mode(ssl::verify_peer);
  stream.set_verify_callback(ssl::host_name_verification(url.host));
  beast::error_code no_name;
  asio::ip::make_address(url.host, no_name);
  if (no_name) SSL_set_tlsext_host_name(stream.native_handle(), url.host.c_str());
  co_await beast::get_lowest_layer(stream).async_connect(endpoints, asio::use_awaitable);
  co_await stream.async_handshake(ssl::stream_base::client, asio::use_awaitable);
  const int status = co_await Exchange(stream, request);
  co_return status;
}

Request MakeRequest(const HookUrl& url, const std::string& secret, const Notification& notification) {
  Request request(http::verb::post, url.target, 11);
  request.set(http::field::host, url.host_header);
  request.set(http::field::user_agent, absl::StrCat("inlier-coordinator/", Version()));
  request.set(http::field::content_type, "application/json");
  request.set(http::field::connection, "close");
  request.set("X-Inlier-Event", notification.event);
  request.set("X-Inlier-Delivery", NotificationId(notification.number, notification.at));
  if (!secret.empty())
    request.set("X-Inlier-Signature", absl::StrCat("sha256=", HmacSha256Hex(secret, notification.body)));
  request.body() = notification.body;
  request.prepare_payload();
  return request;
}

TryOutcome OutcomeOf(int status) {
  if (status >= 200 && status < 300) return {.kind = TryOutcome::Kind::kTaken};
  const bool busy = status >= 500 || status == kRequestTimeout || status == kTooManyRequests;
  return {.kind = busy ? TryOutcome::Kind::kFailed : TryOutcome::Kind::kRefused,
          .error = absl::StrCat(
              "the receiver answered with status ", status,
              status >= 300 && status < 400 ? ", and redirects are not followed: name the final url" : "")};
}

// The reason, that of OpenSSL for a certificate.
std::string ErrorText(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    return error.code().message();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TryOutcome PostNotification(const v1::HookConfig& hook, bool insecure, const Notification& notification,
                            const MustStop& must_stop) {
  const Deadline deadline{MonotonicNow() + std::chrono::seconds(hook.timeout_seconds()), must_stop};
  const absl::StatusOr<HookUrl> url = ParseHookUrl(hook.url());
  const absl::StatusOr<std::string> secret = ReadSecret(hook.secret_file(), insecure);
  for (const absl::Status& status : {url.status(), secret.status()})
    if (!status.ok()) return {.error = std::string(status.message())};

  ssl::context tls(ssl::context::tls_client);
  if (url->tls) {
    beast::error_code failed;
    if (hook.has_tls_ca()) {
      tls.load_verify_file(hook.tls_ca(), failed);
    } else {
      tls.set_default_verify_paths(failed);
    }
    if (failed) return {.error = absl::StrCat("tls_ca: ", hook.tls_ca(), ": ", failed.message())};
    tls.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  }

  std::string error;
  const std::vector<tcp::endpoint> endpoints = Resolve(*url, deadline, error);
  if (endpoints.empty()) return {.error = error};
  const Request request = MakeRequest(*url, *secret, notification);
  std::optional<TryOutcome> outcome;
  asio::io_context io;  // After everything that its coroutine uses.
  const auto ended = [&](const std::exception_ptr& failure, int status) {
    outcome = failure ? TryOutcome{.error = ErrorText(failure)} : OutcomeOf(status);
  };
  if (url->tls) {
    asio::co_spawn(io, Secure(io, tls, *url, endpoints, request), ended);
  } else {
    asio::co_spawn(io, Plain(io, endpoints, request), ended);
  }
  while (!outcome && !deadline.Over()) io.run_for(kLookEvery);
  if (outcome) return *outcome;
  return {.error = absl::StrCat("no answer within ", hook.timeout_seconds(), " s")};
}

}  // namespace inlier
