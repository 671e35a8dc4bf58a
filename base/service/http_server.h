// A small HTTP/1.1 server for /metrics, /healthz and the page: GET and HEAD only, on an io_context that
// somebody else runs.
//
// Bounds: 8 KiB of request head, no body, and HttpLimits: by default 10 s for a request to arrive whole
// (however it trickles; a kept connection that says nothing as well) and for an answer to leave, 256
// connections at once; what goes beyond is answered 4xx/503 or closed.
//
// Thread safety: routes are added before Start; handlers run on the io_context's threads; an HttpRespond may
// be called on any thread, once.
#ifndef INLIER_BASE_SERVICE_HTTP_SERVER_H_
#define INLIER_BASE_SERVICE_HTTP_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/time.h"

namespace inlier {

struct HttpRequest {
  std::string path;                          // Decoded, without the query: "/metrics".
  std::map<std::string, std::string> query;  // Decoded.
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::map<std::string, std::string> headers = {};  // Further ones, such as Cache-Control.
};

using HttpRespond = std::function<void(HttpResponse)>;

struct HttpLimits {
  Duration transfer = std::chrono::seconds(10);
  std::size_t connections = 256;
};

class HttpServer {
 public:
  explicit HttpServer(boost::asio::io_context& io, HttpLimits limits = {});
  ~HttpServer();  // Stops.
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Answers GET `path` with what `handler` returns. The exact path wins over a prefix, the longest prefix
  // over a shorter one.
  void Get(const std::string& path, std::function<HttpResponse(const HttpRequest&)> handler);
  // The same for a handler that answers later, from any thread.
  void GetAsync(const std::string& path, std::function<void(const HttpRequest&, HttpRespond)> handler);
  // Every path that begins with `prefix`.
  void GetPrefix(const std::string& prefix, std::function<void(const HttpRequest&, HttpRespond)> handler);

  // Listens on `address` ("127.0.0.1:7421", port 0 for a free one). `field` is the configuration's name for
  // the address, for the message: AlreadyExists when it is in use (named, with the remedy), InvalidArgument
  // when it cannot be read.
  absl::Status Start(const std::string& address, const std::string& field);

  // "127.0.0.1:34567". REQUIRES: Start succeeded.
  const std::string& address() const;
  std::uint16_t port() const;

  // Closes the listener and every connection. May be called twice.
  void Stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace inlier

#endif  // INLIER_BASE_SERVICE_HTTP_SERVER_H_
