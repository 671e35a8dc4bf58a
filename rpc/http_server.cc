#include "rpc/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::uint32_t kHeadBytesMax = 8 << 10;

// Of a Host header: "localhost:7421", "127.0.0.1", "[::1]:7421".
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

struct HttpServer::State : std::enable_shared_from_this<State> {
  class Connection;

  State(asio::io_context& io, HttpLimits limits) : io(io), limits(limits) {}

  void Accept();
  // Closes the connection that loses its place to another. False: all of them are being answered.
  bool MakeRoom();

  asio::io_context& io;
  const HttpLimits limits;
  std::map<std::string, std::function<HttpResponse()>, std::less<>> routes;
  std::optional<tcp::acceptor> acceptor;
  std::string address;
  std::uint16_t port = 0;
  bool loopback = false;
  bool stopped = false;
  std::set<Connection*> connections;
};

// One client: reads a request, answers it, and reads the next one while the client keeps the connection.
class HttpServer::State::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<State> state)
      : stream_(std::move(socket)), state_(std::move(state)) {
    beast::error_code ignored;
    peer_ = stream_.socket().remote_endpoint(ignored).address();
    state_->connections.insert(this);
  }
  ~Connection() { state_->connections.erase(this); }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kHeadBytesMax);
    parser_->body_limit(0);
    silent_since_ = MonotonicNow();
    stream_.expires_after(state_->limits.transfer);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = shared_from_this()](beast::error_code error, std::size_t) { self->OnRead(error); });
  }

  void Close() {
    silent_since_.reset();
    stream_.close();
  }

  // Since when it waits for a request; absent: it is being answered.
  std::optional<Timestamp> silent_since() const { return silent_since_; }
  const asio::ip::address& peer() const { return peer_; }

  void Write(HttpResponse response) {
    silent_since_.reset();
    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(response.status));
    response_.set(http::field::content_type, response.content_type);
    if (response.status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.keep_alive(keep_alive_);
    response_.body() = std::move(response.body);
    response_.prepare_payload();
    if (head_only_) response_.body().clear();
    stream_.expires_after(state_->limits.transfer);
    http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
      if (!error && self->keep_alive_ && !self->state_->stopped) return self->Read();
      beast::error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    });
  }

 private:
  void OnRead(beast::error_code error) {
    keep_alive_ = head_only_ = false;
    if (error == http::error::header_limit)
      return Refuse(431, "the head of the request is larger than 8 KiB");
    if (error == http::error::body_limit) return Refuse(413, "a request has no body here");
    if (error && error.category() == make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return Refuse(400, absl::StrCat("not an HTTP request: ", error.message()));
    }
    if (error) return stream_.close();  // Gone, or too slow.
    const auto& message = parser_->get();
    keep_alive_ = message.keep_alive();
    head_only_ = message.method() == http::verb::head;
    const auto host = message.find(http::field::host);
    if (state_->loopback && host != message.end() &&
        !NamesLoopback({host->value().data(), host->value().size()})) {
      return Refuse(
          403, "this server is for this machine: ask for it as localhost (a proxy: set Host to localhost)");
    }
    if (message.method() != http::verb::get && !head_only_)
      return Refuse(405, "only GET and HEAD are answered here");
    const std::string_view target(message.target().data(), message.target().size());
    const std::string_view path = target.substr(0, target.find('?'));
    const auto route = state_->routes.find(path);
    if (route != state_->routes.end()) return Write(route->second());
    std::string known;
    for (const auto& [name, unused] : state_->routes) absl::StrAppend(&known, " ", name);
    Refuse(404, absl::StrCat("nothing at ", std::string(path), "; there is", known));
  }

  void Refuse(int status, std::string_view reason) {
    Write({.status = status, .body = absl::StrCat(std::string(reason), "\n")});
  }

  beast::tcp_stream stream_;
  std::shared_ptr<State> state_;
  asio::ip::address peer_;
  std::optional<Timestamp> silent_since_;
  beast::flat_buffer buffer_{kHeadBytesMax + 1024};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  bool keep_alive_ = false;
  bool head_only_ = false;
};

bool HttpServer::State::MakeRoom() {
  std::map<asio::ip::address, std::size_t> silent;
  for (const Connection* connection : connections) {
    if (connection->silent_since()) ++silent[connection->peer()];
  }
  const Timestamp now = MonotonicNow();
  Connection* loser = nullptr;
  for (Connection* connection : connections) {
    if (!connection->silent_since()) continue;
    const auto rank = [&](const Connection& one) {  // The greatest loses.
      return std::pair(silent.at(one.peer()), now - *one.silent_since());
    };
    if (loser == nullptr || rank(*connection) > rank(*loser)) loser = connection;
  }
  if (loser == nullptr) return false;
  loser->Close();
  return true;
}

// Until the listener is closed.
void HttpServer::State::Accept() {
  acceptor->async_accept([state = shared_from_this()](beast::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || state->stopped) return;
    if (!error) {
      const bool has_room = state->connections.size() < state->limits.connections || state->MakeRoom();
      const auto connection = std::make_shared<Connection>(std::move(socket), state);
      if (!has_room) {
        connection->Write({.status = 503, .body = "too many connections; try again\n"});
      } else {
        connection->Read();
      }
    }
    state->Accept();
  });
}

HttpServer::HttpServer(asio::io_context& io, HttpLimits limits)
    : state_(std::make_shared<State>(io, limits)) {}
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Get(const std::string& path, std::function<HttpResponse()> handler) {
  INLIER_CHECK(!state_->acceptor);
  INLIER_CHECK(state_->routes.emplace(path, std::move(handler)).second);
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
  state_->loopback = endpoint.address().is_loopback();
  state_->port = wanted.port;
  state_->address = wanted.ToString();
  state_->acceptor.emplace(std::move(acceptor));
  state_->Accept();
  return absl::OkStatus();
}

const std::string& HttpServer::address() const { return state_->address; }
std::uint16_t HttpServer::port() const { return state_->port; }

void HttpServer::Stop() {
  if (!state_->acceptor || std::exchange(state_->stopped, true)) return;
  beast::error_code ignored;
  state_->acceptor->close(ignored);
  for (State::Connection* connection : state_->connections) connection->Close();
}

}  // namespace inlier
