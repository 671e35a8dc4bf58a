#include "rpc/http/http_server.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "rpc/http/http_connection.h"
#include "rpc/open_files.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

}  // namespace

bool HttpServer::State::MakeRoom(const asio::ip::address& newcomer) {
  std::map<asio::ip::address, std::size_t> places;
  for (const HttpConnection* connection : connections) places[connection->peer()] += connection->is_open();
  const std::size_t own = places[newcomer];
  const Timestamp now = MonotonicNow();
  HttpConnection* loser = nullptr;
  for (HttpConnection* connection : connections) {
    const auto rank = [&](const HttpConnection& one) {  // The greatest loses.
      const Duration waited = now - one.waiting_since().value_or(now);
      return std::tuple(places.at(one.peer()), one.waiting_since().has_value(), waited);
    };
    // One whose request is being handled is closed only for an address with fewer places.
    const bool waits = connection->waiting_since().has_value();
    if (!connection->is_open() || (!waits && places.at(connection->peer()) <= own + 1)) continue;
    if (loser == nullptr || rank(*connection) > rank(*loser)) loser = connection;
  }
  if (loser == nullptr) return false;
  loser->Close();
  return true;
}

// Accepts until the listener is closed.
void HttpServer::State::Accept() {
  acceptor->async_accept([state = shared_from_this()](beast::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || state->stopped) return;
    if (error) {  // No descriptor is free, for example.
      state->pause.expires_after(kAcceptPause);
      return state->pause.async_wait([state](beast::error_code ended) {
        if (!ended && !state->stopped) state->Accept();
      });
    }
    const bool has_room = state->connections.size() < state->limits.connections ||
                          state->MakeRoom(socket.remote_endpoint(error).address());
    const auto connection = std::make_shared<HttpConnection>(std::move(socket), state);
    if (!has_room && state->tls != nullptr) {
      connection->Close();
    } else if (!has_room) {
      connection->Write({.status = 503, .body = "too many connections; try again\n"});
    } else {
      connection->Begin();
    }
    state->Accept();
  });
}

HttpServer::HttpServer(asio::io_context& io, HttpLimits limits)
    : state_(std::make_shared<State>(io, limits)) {
  state_->limits.connections = std::min(limits.connections, OpenFileShares::Now().http_connections);
}
HttpServer::~HttpServer() { Stop(); }

void HttpServer::Get(const std::string& path, std::function<HttpResponse()> handler) {
  GetLater(path,
           [handler = std::move(handler)](const std::shared_ptr<HttpCall>& call) { call->Reply(handler()); });
}

void HttpServer::GetLater(const std::string& path, Handler handler) {
  state_->Add(path, {.handler = std::move(handler)});
}

void HttpServer::PostBelow(const std::string& prefix, std::size_t body_bytes_max, Admit admit,
                           Handler handler) {
  INLIER_CHECK(prefix.ends_with('/') && prefix.size() > 1 && body_bytes_max <= kBodyBytesMax);
  state_->Add(prefix, {.post = true,
                       .body_bytes_max = body_bytes_max,
                       .admit = std::move(admit),
                       .handler = std::move(handler)});
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
  state_->pause.cancel();
  for (HttpConnection* connection : state_->connections) connection->Close();
}

}  // namespace inlier
