#include "rpc/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "rpc/http_connection.h"
#include "rpc/rpc.h"

namespace inlier {

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
      if (!has_room && state->tls != nullptr) {
        connection->Close();
      } else if (!has_room) {
        connection->Write({.status = 503, .body = "too many connections; try again\n"});
      } else {
        connection->Begin();
      }
    }
    state->Accept();
  });
}

HttpServer::HttpServer(asio::io_context& io, HttpLimits limits)
    : state_(std::make_shared<State>(io, limits)) {}
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Get(const std::string& path, std::function<HttpResponse()> handler) {
  GetLater(path,
           [handler = std::move(handler)](const std::shared_ptr<HttpCall>& call) { call->Reply(handler()); });
}

void HttpServer::GetLater(const std::string& path, Handler handler) {
  state_->Add(path, {.handler = std::move(handler)});
}

void HttpServer::GetBelow(const std::string& prefix, Handler handler) {
  INLIER_CHECK(prefix.ends_with('/') && prefix.size() > 1);
  state_->Add(prefix, {.handler = std::move(handler)});
}

void HttpServer::PostBelow(const std::string& prefix, std::size_t body_bytes_max, Handler handler) {
  INLIER_CHECK(prefix.ends_with('/') && prefix.size() > 1 && body_bytes_max <= kBodyBytesMax);
  state_->Add(prefix, {.post = true, .body_bytes_max = body_bytes_max, .handler = std::move(handler)});
}

absl::Status HttpServer::Start(const std::string& address, const std::string& field, const ServerTls& tls) {
  INLIER_CHECK(!state_->acceptor);
  if (!tls.certificate.empty()) {
    ASSIGN_OR_RETURN(state_->tls, HttpTls::Open(tls));
  }
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
