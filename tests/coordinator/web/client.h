// A blocking HTTP client for the tests of the page.
#ifndef INLIER_TESTS_COORDINATOR_WEB_CLIENT_H_
#define INLIER_TESTS_COORDINATOR_WEB_CLIENT_H_

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <map>
#include <string>

#include "nlohmann/json.hpp"
#include "rpc/rpc.h"

namespace inlier {

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

using Headers = std::map<std::string, std::string>;

class HttpClient {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  explicit HttpClient(const std::string& address) : address_(*ParseAddress(address, "address")) {}

  Socket Connect() {
    Socket socket(io_);
    socket.connect({boost::asio::ip::make_address(address_.host), address_.port});
    return socket;
  }
  // The kernel keeps some kilobytes of an answer that is not read, not megabytes.
  Socket ConnectWithoutBuffer() {
    Socket socket(io_);
    const boost::asio::ip::tcp::endpoint server(boost::asio::ip::make_address(address_.host), address_.port);
    socket.open(server.protocol());
    socket.set_option(boost::asio::socket_base::receive_buffer_size(4096));
    socket.connect(server);
    return socket;
  }
  // One request on a connection of its own.
  Answer Send(const std::string& method, const std::string& path, const Headers& headers = {},
              const std::string& body = "") {
    Socket socket = Connect();
    return Exchange(socket, method, path, headers, body);
  }
  Answer Post(const std::string& method, const std::string& body, Headers headers = {}) {
    headers.emplace("Content-Type", "application/json");
    return Send("POST", "/api/inlier.v1.SweepService/" + method, headers, body);
  }
  Answer SendByTls(boost::asio::ssl::context& context, const std::string& method, const std::string& path,
                   const Headers& headers = {}, const std::string& body = "") {
    boost::asio::ssl::stream<Socket> stream(Connect(), context);
    boost::system::error_code error;
    stream.handshake(boost::asio::ssl::stream_base::client, error);
    if (error) return {.status = 0, .headers = {}, .body = error.message()};
    return Exchange(stream, method, path, headers, body);
  }

  template <typename Stream>
  void Write(Stream& stream, const std::string& method, const std::string& path, const Headers& headers,
             const std::string& body) {
    std::string request = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    for (const auto& [name, value] : headers) request += name + ": " + value + "\r\n";
    if (method == "POST") request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    boost::system::error_code ignored;
    boost::asio::write(stream, boost::asio::buffer(request + "\r\n" + body), ignored);
  }

 private:
  template <typename Stream>
  Answer Exchange(Stream& stream, const std::string& method, const std::string& path, const Headers& headers,
                  const std::string& body) {
    Write(stream, method, path, headers, body);
    boost::beast::flat_buffer buffer;
    boost::beast::http::response_parser<boost::beast::http::string_body> parser;
    parser.body_limit(64 << 20);
    if (method == "HEAD") parser.skip(true);
    boost::system::error_code error;
    boost::beast::http::read(stream, buffer, parser, error);
    Answer answer;
    if (!parser.is_header_done()) return {.status = 0, .headers = {}, .body = error.message()};
    answer.status = parser.get().result_int();
    for (const auto& field : parser.get()) {
      std::string name(field.name_string());
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      answer.headers[name] = std::string(field.value());
    }
    answer.body = parser.get().body();
    return answer;
  }

  boost::asio::io_context io_;
  const Address address_;
};

// Server-sent events of one POST.
class EventStream {
 public:
  EventStream(HttpClient& client, const std::string& method, const std::string& body, Headers headers = {})
      : socket_(client.Connect()) {
    headers.emplace("Content-Type", "application/json");
    client.Write(socket_, "POST", "/api/inlier.v1.SweepService/" + method, headers, body);
    head_ = Until("\r\n\r\n");
  }
  const std::string& head() const { return head_; }
  // The next event, for example {"update", {…}}; {"", null} at the end of the connection.
  std::pair<std::string, nlohmann::json> Next() {
    const std::string block = Until("\n\n");
    const std::size_t data = block.find("\ndata: ");
    if (block.rfind("event: ", 0) != 0 || data == std::string::npos) return {"", nullptr};
    return {block.substr(7, data - 7), nlohmann::json::parse(block.substr(data + 7), nullptr, false)};
  }
  void Close() { socket_.close(); }

 private:
  std::string Until(const std::string& end) {
    boost::system::error_code error;
    const std::size_t size =
        boost::asio::read_until(socket_, boost::asio::dynamic_buffer(buffer_), end, error);
    const std::string block = buffer_.substr(0, error ? buffer_.size() : size);
    buffer_.erase(0, block.size());
    return block;
  }

  HttpClient::Socket socket_;
  std::string buffer_, head_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_WEB_CLIENT_H_
