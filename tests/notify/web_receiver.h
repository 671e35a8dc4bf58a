// A webhook's receiver for tests: a real HTTP or HTTPS server on a port of its own, which remembers what it got.
#ifndef INLIER_TESTS_NOTIFY_WEB_RECEIVER_H_
#define INLIER_TESTS_NOTIFY_WEB_RECEIVER_H_

#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace inlier {

class WebReceiver {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  // Status and head of the answer; 0: none, the connection stays open.
  using Answer = std::function<int(const Request&, Response&)>;

  // With a certificate and its key: HTTPS. Port 0: a free one.
  explicit WebReceiver(Answer answer, const std::string& certificate = "", const std::string& key = "",
                       std::uint16_t port = 0)
      : answer_(std::move(answer)), acceptor_(io_) {
    const boost::asio::ip::tcp::endpoint endpoint(boost::asio::ip::address_v4::loopback(), port);
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(boost::asio::socket_base::reuse_address(true));
    acceptor_.bind(endpoint);
    acceptor_.listen();
    if (!certificate.empty()) {
      tls_.use_certificate_chain_file(certificate);
      tls_.use_private_key_file(key, boost::asio::ssl::context::pem);
      secure_ = true;
    }
    thread_ = std::thread([this] { Run(); });
  }
  explicit WebReceiver(int status = 200)
      : WebReceiver([status](const Request&, Response&) { return status; }) {}
  ~WebReceiver() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    thread_.join();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::string url(const std::string& path = "/hook") const {
    return std::string(secure_ ? "https" : "http") + "://127.0.0.1:" + std::to_string(port()) + path;
  }
  std::vector<Request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::vector<std::string> bodies() const {
    std::vector<std::string> bodies;
    for (const Request& request : requests()) bodies.push_back(request.body());
    return bodies;
  }
  // False: there are fewer after 20 s.
  bool WaitFor(std::size_t count) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return requests_.size() >= count; });
  }

 private:
  template <typename Stream>
  void Serve(Stream& stream) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    Request request;
    boost::beast::error_code error;
    http::read(stream, buffer, request, error);
    if (error) return;
    Response response;
    const int status = answer_(request, response);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      changed_.notify_all();
    }
    if (status == 0) return;
    response.result(static_cast<unsigned>(status));
    response.prepare_payload();
    http::write(stream, response, error);
  }

  void Run() {
    std::list<boost::asio::ip::tcp::socket> open;
    for (;;) {
      boost::beast::error_code error;
      boost::asio::ip::tcp::socket socket(io_);
      acceptor_.accept(socket, error);
      if (error) return;
      if (secure_) {
        boost::beast::ssl_stream<boost::beast::tcp_stream> stream(std::move(socket), tls_);
        stream.handshake(boost::asio::ssl::stream_base::server, error);
        if (!error) Serve(stream);
      } else {
        Serve(socket);
        open.push_back(std::move(socket));
      }
    }
  }

  const Answer answer_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ssl::context tls_{boost::asio::ssl::context::tls_server};
  bool secure_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Request> requests_;
  std::thread thread_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_NOTIFY_WEB_RECEIVER_H_
