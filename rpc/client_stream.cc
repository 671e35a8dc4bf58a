#include "rpc/client_stream.h"

namespace inlier {

namespace ssl = boost::asio::ssl;

void ClientStream::StartTls(std::shared_ptr<ssl::context> context, Done done) {
  context_ = std::move(context);
  tls_.emplace(tcp_, *context_);
  tls_->async_handshake(ssl::stream_base::server, std::move(done));
}

void ClientStream::EndTls(Done done) { tls_->async_shutdown(std::move(done)); }

void ClientStream::Read(std::vector<boost::asio::mutable_buffer> buffers, Moved then) {
  tls_ ? tls_->async_read_some(buffers, std::move(then)) : tcp_.async_read_some(buffers, std::move(then));
}

void ClientStream::Write(std::vector<boost::asio::const_buffer> buffers, Moved then) {
  tls_ ? tls_->async_write_some(buffers, std::move(then)) : tcp_.async_write_some(buffers, std::move(then));
}

}  // namespace inlier
