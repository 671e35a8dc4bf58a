// The inside of HttpServer: its routes, and a client's connection. For the .cc files of the server.
#ifndef INLIER_RPC_HTTP_HTTP_CONNECTION_H_
#define INLIER_RPC_HTTP_HTTP_CONNECTION_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "rpc/client_stream.h"
#include "rpc/http/http_server.h"
#include "rpc/http/http_tls.h"

namespace inlier {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

inline constexpr std::uint32_t kHeadBytesMax = 8 << 10;
inline constexpr std::uint64_t kBodyBytesMax = 1 << 20;  // Of any route.

struct HttpRoute {
  bool post = false;
  std::size_t body_bytes_max = 0;
  HttpServer::Admit admit = nullptr;
  HttpServer::Handler handler;
};

class HttpConnection;

struct HttpServer::State : std::enable_shared_from_this<State> {
  class Call;

  State(asio::io_context& io, HttpLimits limits) : io(io), limits(limits), pause(io) {}

  void Accept();
  // Closes the connection that loses its place to one of `newcomer`; false where there is none.
  bool MakeRoom(const asio::ip::address& newcomer);
  void Add(const std::string& path, HttpRoute route) {
    INLIER_CHECK(!acceptor);
    INLIER_CHECK(routes.emplace(path, std::move(route)).second);
  }
  // The route of the path, or of its longest prefix.
  const HttpRoute* Find(std::string_view path) const {
    if (const auto exact = routes.find(path); exact != routes.end()) return &exact->second;
    for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = path.rfind('/', slash - 1)) {
      if (const auto below = routes.find(path.substr(0, slash + 1)); below != routes.end())
        return &below->second;
    }
    return nullptr;
  }

  asio::io_context& io;
  HttpLimits limits;
  asio::steady_timer pause;                              // After a failed accept.
  std::map<std::string, HttpRoute, std::less<>> routes;  // A prefix ends in "/".
  std::unique_ptr<HttpTls> tls;
  std::optional<tcp::acceptor> acceptor;
  std::string address;
  std::uint16_t port = 0;
  bool loopback = false;
  bool stopped = false;
  std::set<HttpConnection*> connections;
};

// One client: reads a request, answers it, and reads the next one while the client keeps the connection.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(tcp::socket socket, std::shared_ptr<HttpServer::State> state)
      : stream_(std::move(socket)), state_(std::move(state)) {
    beast::error_code ignored;
    peer_ = stream_.socket().remote_endpoint(ignored);
    state_->connections.insert(this);
  }
  ~HttpConnection() { state_->connections.erase(this); }

  // Reads the first request, by TLS if the server has it.
  void Begin();

  void Close();
  // Since when it waits for its client to send a request or read an answer; absent while a request is handled.
  std::optional<Timestamp> waiting_since() const { return waiting_since_; }
  bool is_open() const { return stream_.socket().is_open(); }
  const asio::ip::address peer() const { return peer_.address(); }
  const std::shared_ptr<HttpServer::State>& state() const { return state_; }

  void Write(HttpResponse response);
  void WhenGone(std::function<void()> gone);

  // An answer without end.
  void BeginStream(const HttpResponse& head, std::function<void()> gone);
  void Send(std::string bytes, std::function<void()> sent);
  void EndStream();
  // The handler has dropped the call.
  void Abandon();

 private:
  template <typename Message>
  void FillHead(Message& message, const HttpResponse& response);

  void Read();
  void OnHead(beast::error_code error);
  void OnBody(beast::error_code error);
  // False where the request was answered or the connection closed.
  bool CheckRead(beast::error_code error);
  void FillRequest();
  void Handle();
  void WatchClient();

  void NotFound();
  void TooLarge(std::size_t most);
  void Refuse(int status, std::string_view reason);

  void WriteWaiting();
  void Sent(beast::error_code error);
  void Gone();

  void Shutdown();
  // Reads the rest of a refused request: closing a socket with unread bytes would take back an answer on its way.
  void Drain(std::size_t bytes_left);

  ClientStream stream_;
  std::shared_ptr<HttpServer::State> state_;
  tcp::endpoint peer_;
  std::optional<Timestamp> waiting_since_;
  beast::flat_buffer buffer_{kHeadBytesMax + 1024};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<HttpRequest> request_;
  const HttpRoute* route_ = nullptr;
  http::response<http::string_body> response_;
  std::shared_ptr<void> held_;
  std::function<void()> gone_;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool answered_ = false;
  // An answer without end.
  struct Endless {
    http::response<http::empty_body> head;
    std::optional<http::response_serializer<http::empty_body>> serializer;
    std::function<void()> gone, sent;
    std::string waiting, leaving;
    bool writing = false;
    bool ended = false;
    char unread = 0;
  } endless_;
};

}  // namespace inlier

#endif  // INLIER_RPC_HTTP_HTTP_CONNECTION_H_
