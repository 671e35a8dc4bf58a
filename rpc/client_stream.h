// A client's TCP connection, with TLS or without, as one stream, so that Beast's algorithms are compiled once.
//
// Thread safety: none; everything on the thread of the socket's io_context.
#ifndef INLIER_RPC_CLIENT_STREAM_H_
#define INLIER_RPC_CLIENT_STREAM_H_

#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"

namespace inlier {

class ClientStream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;
  using ErrorCode = boost::beast::error_code;
  using Moved = std::function<void(ErrorCode, std::size_t bytes)>;
  using Done = std::function<void(ErrorCode)>;

  explicit ClientStream(boost::asio::ip::tcp::socket socket) : tcp_(std::move(socket)) {}

  executor_type get_executor() { return tcp_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  const boost::asio::ip::tcp::socket& socket() const { return tcp_.socket(); }
  // The next three are those of boost::beast::tcp_stream.
  void expires_after(Duration limit) { tcp_.expires_after(limit); }
  void expires_never() { tcp_.expires_never(); }
  void close() { tcp_.close(); }

  void StartTls(std::shared_ptr<boost::asio::ssl::context> context, Done done);
  void EndTls(Done done);
  // nullptr without TLS.
  SSL* tls() { return tls_ ? tls_->native_handle() : nullptr; }

  template <typename Buffers, typename Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    using List = std::vector<boost::asio::mutable_buffer>;
    return boost::asio::async_initiate<Handler, void(ErrorCode, std::size_t)>(
        [this](auto then, List list) { Read(std::move(list), Copyable(std::move(then))); }, handler,
        List(boost::asio::buffer_sequence_begin(buffers), boost::asio::buffer_sequence_end(buffers)));
  }
  template <typename Buffers, typename Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    using List = std::vector<boost::asio::const_buffer>;
    return boost::asio::async_initiate<Handler, void(ErrorCode, std::size_t)>(
        [this](auto then, List list) { Write(std::move(list), Copyable(std::move(then))); }, handler,
        List(boost::asio::buffer_sequence_begin(buffers), boost::asio::buffer_sequence_end(buffers)));
  }

 private:
  // Beast's handlers are move-only.
  template <typename Handler>
  static Moved Copyable(Handler handler) {
    return [kept = std::make_shared<Handler>(std::move(handler))](ErrorCode error, std::size_t bytes) {
      Handler then = std::move(*kept);
      then(error, bytes);
    };
  }
  void Read(std::vector<boost::asio::mutable_buffer> buffers, Moved then);
  void Write(std::vector<boost::asio::const_buffer> buffers, Moved then);

  boost::beast::tcp_stream tcp_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

}  // namespace inlier

#endif  // INLIER_RPC_CLIENT_STREAM_H_
