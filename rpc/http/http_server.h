// A small HTTP/1.1 server for /metrics, /healthz and the page: GET and HEAD, and POST with a small body; answers that
// come later, from other threads, and answers without end (server-sent events).
//
// Bounds: 8 KiB of request head, the body that a route allows, and HttpLimits: by default 10 s for a request to
// arrive whole (a kept connection that sends nothing included), for an answer to leave and for each piece of an
// answer without end, 256 connections at once (fewer under a low limit of open files). Anything beyond is answered
// 4xx, or closed. A connection above the limit replaces the longest waiting one of the address that has most
// connections, so that no address shuts others out; only a connection that waits for its client can be replaced.
//
// On loopback a request must name a host of loopback, against pages in a browser on this machine that give their own
// name this machine's address (DNS rebinding).
//
// Thread safety: none, but for HttpCall. Everything runs on the thread of the io_context, or while it does not run.
#ifndef INLIER_RPC_HTTP_HTTP_SERVER_H_
#define INLIER_RPC_HTTP_HTTP_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "rpc/credentials.h"

namespace inlier {

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // Further ones.
  std::shared_ptr<void> held = {};  // Released when the body has left, or never will.
};

struct HttpRequest {
  std::string method;  // "GET", "HEAD", "POST".
  std::string path;    // Without the query.
  std::string body;
  std::string peer;  // "127.0.0.1:40312".
  bool from_loopback = false;
  bool encrypted = false;
  bool certified = false;  // With a certificate that ServerTls::client_ca signed.
  // Headers; empty when absent.
  std::string host, authorization, content_type, origin, fetch_site, accept_encoding, if_none_match;
};

// A request that is being answered: by one Reply, or by Begin, any number of Sends, and End.
//
// Thread safety: any thread, one call at a time; outlived by the io_context. Unanswered ones close their connection.
class HttpCall {
 public:
  virtual ~HttpCall() = default;
  virtual const HttpRequest& request() const = 0;
  // Before the answer, of a POST: `gone` runs on the server's thread when the client closes its side. At most once.
  virtual void WhenGone(std::function<void()> gone) = 0;
  virtual void Reply(HttpResponse response) = 0;
  // Sends the head of an answer without end; the body of `head` is not used. `gone` runs once, on the server's
  // thread, when the client closes or a Send takes too long; not after End.
  virtual void Begin(HttpResponse head, std::function<void()> gone) = 0;
  // `sent` runs on the server's thread when the bytes have left; not when the client is gone. One at a time.
  virtual void Send(std::string bytes, std::function<void()> sent) = 0;
  // Closes, after the Send that is under way.
  virtual void End() = 0;
};

// The calls that wait for one answer, which is made once.
//
// Thread safety: any thread.
class SharedAnswer {
 public:
  // True for the first call, which must have the answer made and then call Reply.
  bool Add(std::shared_ptr<HttpCall> call) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(call));
    return waiting_.size() == 1;
  }
  void Reply(const HttpResponse& answer) {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<HttpCall>& call : waiting_) call->Reply(answer);
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<HttpCall>> waiting_;
};

struct HttpLimits {
  Duration transfer = std::chrono::seconds(10);
  std::size_t connections = 256;
};

class HttpServer {
 public:
  using Handler = std::function<void(std::shared_ptr<HttpCall>)>;
  // The refusal of a request whose body has not been read; nullopt where it is to be read and handled.
  using Admit = std::function<std::optional<HttpResponse>(const HttpRequest&)>;

  explicit HttpServer(boost::asio::io_context& io, HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Answers GET `path` (a query is ignored) with the result of `handler`. REQUIRES: before Start.
  void Get(const std::string& path, std::function<HttpResponse()> handler);
  // The same for an answer that may come later. A path such as "/page/" is for every path that begins with it.
  void GetLater(const std::string& path, Handler handler);
  // Answers POST below `prefix`, which ends in "/", with a body of at most `body_bytes_max`, unless `admit` refuses.
  void PostBelow(const std::string& prefix, std::size_t body_bytes_max, Admit admit, Handler handler);

  // Listens on `address` ("127.0.0.1:7421", port 0 for a free one), by TLS if `tls` names files; its client_ca is
  // optional to callers. `field` is the configuration's name for the address, for the message: AlreadyExists when it
  // is in use (named, with the remedy), InvalidArgument when it cannot be read, or a file of `tls`.
  absl::Status Start(const std::string& address, const std::string& field, const ServerTls& tls = {});

  // "127.0.0.1:34567". REQUIRES: Start succeeded.
  const std::string& address() const;
  std::uint16_t port() const;

  // Closes the listener and every connection. May be called twice.
  void Stop();

  struct State;  // http_connection.h

 private:
  std::shared_ptr<State> state_;
};

}  // namespace inlier

#endif  // INLIER_RPC_HTTP_HTTP_SERVER_H_
