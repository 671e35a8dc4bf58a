#include "base/service/http_server.h"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/service/rpc.h"
#include "base/status.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::uint32_t kHeadBytesMax = 8 << 10;

using AsyncHandler = std::function<void(const HttpRequest&, HttpRespond)>;

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Percent escapes (and "+" in a query) to bytes; nullopt when an escape is not one.
std::optional<std::string> DecodeUrl(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || HexValue(text[i + 1]) < 0 || HexValue(text[i + 2]) < 0) return std::nullopt;
      decoded.push_back(static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2])));
      i += 2;
    } else {
      decoded.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

std::optional<HttpRequest> ParseTarget(std::string_view target) {
  HttpRequest request;
  const size_t question = target.find('?');
  const auto path = DecodeUrl(target.substr(0, question), false);
  if (!path || path->empty() || path->front() != '/') return std::nullopt;
  request.path = *path;
  if (question == std::string_view::npos) return request;
  const std::string query(target.substr(question + 1));
  for (const absl::string_view part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::string_view pair(part.data(), part.size());
    const size_t equals = pair.find('=');
    const auto key = DecodeUrl(pair.substr(0, equals), true);
    const auto value =
        equals == std::string_view::npos ? std::string() : DecodeUrl(pair.substr(equals + 1), true);
    if (!key || !value) return std::nullopt;
    request.query[*key] = *value;
  }
  return request;
}

}  // namespace

struct HttpServer::State {
  class Connection;

  State(asio::io_context& io, HttpLimits limits) : io(io), limits(limits) {}

  const AsyncHandler* Find(const std::string& path) const {
    if (const auto exact = routes.find(path); exact != routes.end()) return &exact->second;
    const AsyncHandler* best = nullptr;
    size_t length = 0;
    for (const auto& [prefix, handler] : prefixes) {
      if (path.compare(0, prefix.size(), prefix) == 0 && prefix.size() >= length) {
        best = &handler;
        length = prefix.size();
      }
    }
    return best;
  }

  asio::io_context& io;
  const HttpLimits limits;
  std::map<std::string, AsyncHandler> routes, prefixes;
  std::optional<tcp::acceptor> acceptor;
  std::string address;
  std::uint16_t port = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  std::map<Connection*, std::weak_ptr<Connection>> connections;  // Guarded by mutex.
};

// One client: reads a request, hands it to its route, writes the answer, and again while the client keeps the
// connection.
class HttpServer::State::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<State> state)
      : stream_(std::move(socket)), state_(std::move(state)) {}
  ~Connection() {
    const std::lock_guard lock(state_->mutex);
    state_->connections.erase(this);
  }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kHeadBytesMax);
    parser_->body_limit(0);
    stream_.expires_after(state_->limits.transfer);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, size_t) { self->OnRead(error); });
  }

  void Close() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.close(); });
  }

  void Refuse(HttpResponse response) {
    keep_alive_ = false;
    Write(std::move(response));
  }

 private:
  void OnRead(beast::error_code error) {
    keep_alive_ = false;
    if (error == http::error::header_limit)
      return Write({431, {}, "the request's head is larger than 8 KiB\n"});
    if (error == http::error::body_limit) return Write({413, {}, "a request has no body here\n"});
    if (error && error.category() == make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return Write({400, {}, absl::StrCat("not an HTTP request: ", error.message(), "\n")});
    }
    if (error) return stream_.close();  // Gone, or too slow.
    const auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    head_only_ = message.method() == http::verb::head;
    if (message.method() != http::verb::get && !head_only_) {
      HttpResponse response{405, {}, "only GET and HEAD are answered here\n"};
      response.headers["Allow"] = "GET, HEAD";
      return Write(std::move(response));
    }
    const auto target = message.target();
    const std::optional<HttpRequest> request = ParseTarget(std::string_view(target.data(), target.size()));
    if (!request) return Write({400, {}, "the address of the request cannot be read\n"});
    const AsyncHandler* handler = state_->Find(request->path);
    if (handler == nullptr) {
      std::string known;
      for (const auto& [path, unused] : state_->routes) absl::StrAppend(&known, " ", path);
      return Write({404, {}, absl::StrCat("nothing at ", request->path, "; there is", known, "\n")});
    }
    stream_.expires_never();
    (*handler)(*request, [self = shared_from_this()](HttpResponse response) {
      asio::post(self->stream_.get_executor(),
                 [self, response = std::move(response)]() mutable { self->Write(std::move(response)); });
    });
  }

  void Write(HttpResponse response) {
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(response.status));
    response_.set(http::field::content_type,
                  response.content_type.empty() ? "text/plain; charset=utf-8" : response.content_type);
    for (const auto& [name, value] : response.headers) response_.set(name, value);
    response_.keep_alive(keep_alive_);
    response_.body() = std::move(response.body);
    response_.prepare_payload();
    if (head_only_) response_.body().clear();
    stream_.expires_after(state_->limits.transfer);
    const auto done = [self = shared_from_this()](beast::error_code error, size_t) {
      if (error || !self->keep_alive_ || self->state_->stopped) return self->CloseWriting();
      self->Read();
    };
    http::async_write(stream_, response_, done);
  }

  void CloseWriting() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  std::shared_ptr<State> state_;
  beast::flat_buffer buffer_{kHeadBytesMax + 1024};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  bool keep_alive_ = false;
  bool head_only_ = false;
};

namespace {

// Accepts until the listener is closed.
template <typename StatePtr, typename Connection>
void Accept(StatePtr state) {
  const auto on_accept = [state](beast::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || state->stopped) return;
    if (!error) {
      auto connection = std::make_shared<Connection>(std::move(socket), state);
      size_t open = 0;
      {
        const std::lock_guard lock(state->mutex);
        state->connections.emplace(connection.get(), connection);
        open = state->connections.size();
      }
      if (state->stopped) {
        connection->Close();  // Stop() may have looked before it was listed.
      } else if (open > state->limits.connections) {
        connection->Refuse({503, {}, "too many connections; try again\n"});
      } else {
        connection->Read();
      }
    }
    Accept<StatePtr, Connection>(state);
  };
  state->acceptor->async_accept(asio::make_strand(state->io), on_accept);
}

}  // namespace

HttpServer::HttpServer(asio::io_context& io, HttpLimits limits)
    : state_(std::make_shared<State>(io, limits)) {}
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Get(const std::string& path, std::function<HttpResponse(const HttpRequest&)> handler) {
  GetAsync(path, [handler = std::move(handler)](const HttpRequest& request, const HttpRespond& respond) {
    respond(handler(request));
  });
}

void HttpServer::GetAsync(const std::string& path, AsyncHandler handler) {
  INLIER_CHECK(!state_->acceptor);
  INLIER_CHECK(state_->routes.emplace(path, std::move(handler)).second);
}

void HttpServer::GetPrefix(const std::string& prefix, AsyncHandler handler) {
  INLIER_CHECK(!state_->acceptor);
  INLIER_CHECK(state_->prefixes.emplace(prefix, std::move(handler)).second);
}

absl::Status HttpServer::Start(const std::string& address, const std::string& field) {
  INLIER_CHECK(!state_->acceptor);
  ASSIGN_OR_RETURN(Address wanted, ParseAddress(address, field));
  RETURN_IF_ERROR(ProbeBind(wanted, field));
  beast::error_code error;
  tcp::resolver resolver(state_->io);
  const auto endpoints =
      resolver.resolve(wanted.host, std::to_string(wanted.port), tcp::resolver::passive, error);
  if (error || endpoints.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": cannot resolve ", address, ": ", error.message()));
  }
  const tcp::endpoint endpoint = *endpoints.begin();
  tcp::acceptor acceptor(state_->io);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return absl::FailedPreconditionError(
        absl::StrCat(field, ": cannot listen on ", address, ": ", error.message()));
  wanted.port = acceptor.local_endpoint().port();
  state_->port = wanted.port;
  state_->address = wanted.ToString();
  state_->acceptor.emplace(std::move(acceptor));
  Accept<std::shared_ptr<State>, State::Connection>(state_);
  return absl::OkStatus();
}

const std::string& HttpServer::address() const { return state_->address; }
std::uint16_t HttpServer::port() const { return state_->port; }

void HttpServer::Stop() {
  if (!state_->acceptor || state_->stopped.exchange(true)) return;
  // The acceptor belongs to the io_context's thread; closing is asked for there.
  asio::post(state_->io, [state = state_] {
    beast::error_code ignored;
    state->acceptor->close(ignored);
  });
  // The last reference to a connection may go in this thread, and its end takes the lock.
  std::vector<std::shared_ptr<State::Connection>> live;
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [unused, connection] : state_->connections) live.push_back(connection.lock());
  }
  for (const auto& connection : live) {
    if (connection) connection->Close();
  }
}

}  // namespace inlier
