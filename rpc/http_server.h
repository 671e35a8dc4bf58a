// A small HTTP/1.1 server for /metrics and /healthz: GET and HEAD of fixed paths.
//
// Bounds: 8 KiB of request head, no body, and HttpLimits: by default 10 s for a request to arrive whole (a
// kept connection that sends nothing included) and for an answer to leave, 256 connections at once. Anything
// beyond is answered 4xx, or closed: a connection above the limit takes the place of one that has sent no
// request, the longest silent of the peer that has most of them, so that no caller shuts others out with
// connections.
//
// On loopback a request must name a host of loopback: a page in a browser on this machine must not read what
// is served here by giving its own name this machine's address (DNS rebinding).
//
// Thread safety: none. Everything runs on the one thread that runs the io_context; calls may also be made while
// no thread runs it.
#ifndef INLIER_RPC_HTTP_SERVER_H_
#define INLIER_RPC_HTTP_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/time.h"

namespace inlier {

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

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

  // Answers GET `path` (a query is ignored) with the result of `handler`. REQUIRES: before Start.
  void Get(const std::string& path, std::function<HttpResponse()> handler);

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

#endif  // INLIER_RPC_HTTP_SERVER_H_
