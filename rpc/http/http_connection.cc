#include "rpc/http/http_connection.h"

#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

// A client's machine that has vanished is noticed within two minutes.
void KeepAlive(int socket) {
  const int on = 1, idle_seconds = 60, interval_seconds = 15, probes = 4;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof(idle_seconds));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof(interval_seconds));
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

bool HasCertificate(SSL* connection) {
  X509* const certificate = SSL_get_peer_certificate(connection);
  X509_free(certificate);
  return certificate != nullptr;  // An unverified one ends the handshake.
}

// `host` is a Host header: "localhost:7421", "127.0.0.1", "[::1]:7421".
bool NamesLoopback(std::string_view host) {
  if (!host.empty() && host.front() == '[') {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.rfind(':'));
  }
  if (beast::iequals({host.data(), host.size()}, "localhost")) return true;
  beast::error_code error;
  const asio::ip::address address = asio::ip::make_address(std::string(host), error);
  return !error && address.is_loopback();
}

}  // namespace

template <typename Message>
void HttpConnection::FillHead(Message& message, const HttpResponse& response) {
  message.version(11);
  message.result(static_cast<unsigned>(response.status));
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
}

// Hands over to the server's thread, where the connection is also released.
class HttpServer::State::Call final : public HttpCall {
 public:
  Call(std::shared_ptr<HttpConnection> connection, std::shared_ptr<const HttpRequest> request)
      : connection_(std::move(connection)), request_(std::move(request)) {}
  ~Call() override {
    asio::io_context& io = connection_->state()->io;
    asio::post(io, [connection = std::move(connection_)] { connection->Abandon(); });
  }

  const HttpRequest& request() const override { return *request_; }
  void WhenGone(std::function<void()> gone) override {
    Post([gone = std::move(gone)](HttpConnection& one) mutable { one.WhenGone(std::move(gone)); });
  }
  void Reply(HttpResponse response) override {
    Post([response = std::move(response)](HttpConnection& one) mutable { one.Write(std::move(response)); });
  }
  void Begin(HttpResponse head, std::function<void()> gone) override {
    Post([head = std::move(head), gone = std::move(gone)](HttpConnection& one) mutable {
      one.BeginStream(head, std::move(gone));
    });
  }
  void Send(std::string bytes, std::function<void()> sent) override {
    Post([bytes = std::move(bytes), sent = std::move(sent)](HttpConnection& one) mutable {
      one.Send(std::move(bytes), std::move(sent));
    });
  }
  void End() override {
    Post([](HttpConnection& one) { one.EndStream(); });
  }

 private:
  template <typename Do>
  void Post(Do action) {
    asio::post(connection_->state()->io,
               [connection = connection_, action = std::move(action)]() mutable { action(*connection); });
  }

  std::shared_ptr<HttpConnection> connection_;
  const std::shared_ptr<const HttpRequest> request_;
};

void HttpConnection::Begin() {
  if (state_->tls == nullptr) return Read();
  waiting_since_ = MonotonicNow();
  stream_.expires_after(state_->limits.transfer);
  stream_.StartTls(state_->tls->Current(), [self = shared_from_this()](beast::error_code error) {
    error ? self->stream_.close() : self->Read();
  });
}

void HttpConnection::Close() {
  waiting_since_.reset();
  stream_.close();
  if (const auto gone = std::exchange(gone_, nullptr)) gone();
}

void HttpConnection::Write(HttpResponse response) {
  waiting_since_ = MonotonicNow();
  answered_ = true;
  gone_ = nullptr;
  held_ = std::move(response.held);
  FillHead(response_, response);
  if (response.status == 405) response_.set(http::field::allow, "GET, HEAD");
  response_.keep_alive(keep_alive_);
  response_.body() = std::move(response.body);
  response_.prepare_payload();
  if (head_only_) response_.body().clear();
  stream_.expires_after(state_->limits.transfer);
  const auto then = [self = shared_from_this()](beast::error_code error, std::size_t) {
    self->response_ = {};
    self->held_.reset();
    if (error) return self->Close();
    self->keep_alive_ && !self->state_->stopped ? self->Read() : self->Shutdown();
  };
  http::async_write(stream_, response_, then);
}

void HttpConnection::WhenGone(std::function<void()> gone) {
  if (!stream_.socket().is_open()) return gone();
  if (answered_) return;
  gone_ = std::move(gone);
  WatchClient();
}

// Nothing is read: the bytes that came may be the next request.
void HttpConnection::WatchClient() {
  const auto readable = [weak = weak_from_this()](beast::error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr || self->gone_ == nullptr) return;
    char byte = 0;
    if (::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
      std::exchange(self->gone_, nullptr)();
  };
  stream_.socket().async_wait(tcp::socket::wait_read, readable);
}

void HttpConnection::BeginStream(const HttpResponse& head, std::function<void()> gone) {
  answered_ = true;
  endless_.gone = std::move(gone);
  KeepAlive(stream_.socket().native_handle());
  endless_.head = {};
  FillHead(endless_.head, head);
  endless_.head.keep_alive(false);
  endless_.serializer.emplace(endless_.head);
  // A client that sends more, or closes, is gone. The read has no time limit; each write has one.
  stream_.expires_never();
  const auto closed = [self = shared_from_this()](beast::error_code, std::size_t) { self->Gone(); };
  stream_.async_read_some(asio::buffer(&endless_.unread, 1), closed);
  stream_.expires_after(state_->limits.transfer);
  endless_.writing = true;
  const auto then = [self = shared_from_this()](beast::error_code error, std::size_t) { self->Sent(error); };
  http::async_write_header(stream_, *endless_.serializer, then);
}

void HttpConnection::Send(std::string bytes, std::function<void()> sent) {
  if (endless_.ended) return;
  endless_.waiting += bytes;
  endless_.sent = std::move(sent);
  if (!endless_.writing) WriteWaiting();
}

void HttpConnection::EndStream() {
  endless_.gone = nullptr;
  endless_.ended = true;
  if (!endless_.writing && endless_.waiting.empty()) Shutdown();
}

void HttpConnection::Abandon() {
  if (!answered_) Close();
}

void HttpConnection::Read() {
  request_ = std::make_shared<HttpRequest>();
  answered_ = false;
  parser_.emplace();
  parser_->header_limit(kHeadBytesMax);
  parser_->body_limit(kBodyBytesMax);
  waiting_since_ = MonotonicNow();
  stream_.expires_after(state_->limits.transfer);
  const auto then = [self = shared_from_this()](beast::error_code error, std::size_t) {
    self->OnHead(error);
  };
  http::async_read_header(stream_, buffer_, *parser_, then);
}

void HttpConnection::OnHead(beast::error_code error) {
  keep_alive_ = head_only_ = false;
  if (!CheckRead(error)) return;
  const auto& message = parser_->get();
  FillRequest();
  head_only_ = request_->method == "HEAD";
  const auto host = message.find(http::field::host);
  if (state_->loopback && host != message.end() && !NamesLoopback(request_->host)) {
    return Refuse(
        403, "this server is for this machine: ask for it as localhost (a proxy: set Host to localhost)");
  }
  route_ = state_->Find(request_->path);
  const bool post = request_->method == "POST";
  const bool posts = route_ != nullptr && route_->post;
  if (!parser_->is_done() && (!post || !posts)) return Refuse(413, "a request has no body here");
  if (posts != post && (post || route_ != nullptr))
    return Refuse(405, posts ? "only POST is answered here" : "only GET and HEAD are answered here");
  if (!post && request_->method != "GET" && !head_only_)
    return Refuse(405, "only GET and HEAD are answered here");
  if (route_ == nullptr) return NotFound();
  if (!post) {
    keep_alive_ = message.keep_alive();
    return Handle();
  }
  const std::size_t most = route_->body_bytes_max;
  if (parser_->content_length().value_or(0) > most) return TooLarge(most);
  if (std::optional<HttpResponse> refusal = route_->admit(*request_)) return Write(*std::move(refusal));
  parser_->body_limit(most);
  const auto then = [self = shared_from_this()](beast::error_code failed, std::size_t) {
    self->OnBody(failed);
  };
  http::async_read(stream_, buffer_, *parser_, then);
}

void HttpConnection::OnBody(beast::error_code error) {
  if (!CheckRead(error)) return;
  keep_alive_ = parser_->get().keep_alive();
  request_->body = std::move(parser_->get().body());
  Handle();
}

bool HttpConnection::CheckRead(beast::error_code error) {
  if (!error) return true;
  if (error == http::error::header_limit) {
    Refuse(431, "the head of the request is larger than 8 KiB");
  } else if (error == http::error::body_limit) {
    TooLarge(route_ == nullptr ? 0 : route_->body_bytes_max);
  } else if (error.category() == make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message) {
    Refuse(400, absl::StrCat("not an HTTP request: ", error.message()));
  } else {
    stream_.close();  // Gone, or too slow.
  }
  return false;
}

void HttpConnection::FillRequest() {
  const auto& message = parser_->get();
  const auto header = [&message](http::field name) {
    const auto value = message[name];
    return std::string(value.data(), value.size());
  };
  const std::string_view target(message.target().data(), message.target().size());
  request_->method = std::string(message.method_string());
  request_->path = std::string(target.substr(0, target.find('?')));
  request_->peer = absl::StrCat(peer_.address().is_v6() ? "[" : "", peer_.address().to_string(),
                                peer_.address().is_v6() ? "]:" : ":", peer_.port());
  request_->from_loopback = peer_.address().is_loopback();
  request_->encrypted = stream_.tls() != nullptr;
  request_->certified = request_->encrypted && HasCertificate(stream_.tls());
  request_->host = header(http::field::host);
  request_->authorization = header(http::field::authorization);
  request_->content_type = header(http::field::content_type);
  request_->origin = header(http::field::origin);
  request_->fetch_site = std::string(message["Sec-Fetch-Site"]);
  request_->accept_encoding = header(http::field::accept_encoding);
  request_->if_none_match = header(http::field::if_none_match);
}

void HttpConnection::NotFound() {
  std::string known;
  for (const auto& [name, route] : state_->routes) absl::StrAppend(&known, " ", name);
  keep_alive_ = parser_->get().keep_alive();
  Refuse(404, absl::StrCat("nothing at ", request_->path, "; there is", known));
}

void HttpConnection::TooLarge(std::size_t most) {
  if (most == 0) return Refuse(413, "a request has no body here");
  Refuse(413, absl::StrCat("the body of the request is larger than ", most, " bytes"));
}

void HttpConnection::Refuse(int status, std::string_view reason) {
  Write({.status = status, .body = absl::StrCat(std::string(reason), "\n")});
}

void HttpConnection::WriteWaiting() {
  endless_.writing = true;
  endless_.leaving = std::exchange(endless_.waiting, {});
  waiting_since_ = MonotonicNow();
  stream_.expires_after(state_->limits.transfer);
  const auto then = [self = shared_from_this()](beast::error_code error, std::size_t) { self->Sent(error); };
  asio::async_write(stream_, asio::buffer(endless_.leaving), then);
}

void HttpConnection::Sent(beast::error_code error) {
  endless_.writing = false;
  waiting_since_.reset();
  if (error) return Gone();
  if (!endless_.waiting.empty()) return WriteWaiting();
  if (endless_.ended) return Shutdown();
  if (const auto sent = std::exchange(endless_.sent, nullptr)) sent();
}

void HttpConnection::Gone() {
  if (const auto gone = std::exchange(endless_.gone, nullptr)) gone();
  const bool must_finish = endless_.ended && endless_.writing;  // The client may have closed its side alone.
  endless_.ended = true;
  if (!must_finish) stream_.close();
}

void HttpConnection::Shutdown() {
  if (stream_.tls() != nullptr) {
    stream_.expires_after(state_->limits.transfer);
    return stream_.EndTls([self = shared_from_this()](beast::error_code) { self->stream_.close(); });
  }
  beast::error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  if (!parser_ || parser_->is_done()) return;
  stream_.expires_after(state_->limits.transfer);
  Drain(kBodyBytesMax);
}

void HttpConnection::Drain(std::size_t bytes_left) {
  buffer_.clear();
  const auto then = [self = shared_from_this(), bytes_left](beast::error_code error, std::size_t bytes) {
    error || bytes >= bytes_left ? self->Close() : self->Drain(bytes_left - bytes);
  };
  stream_.async_read_some(buffer_.prepare(kHeadBytesMax), then);
}

void HttpConnection::Handle() {
  waiting_since_.reset();
  route_->handler(std::make_shared<HttpServer::State::Call>(shared_from_this(), request_));
}

}  // namespace inlier
