#include "rpc/renewed_channel.h"

#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/status.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

constexpr Duration kCheckPeriod = std::chrono::seconds(1);

FileStamp StampOf(const ClientSecurity& security) {
  return FileStamp({security.tls_ca, security.tls_certificate, security.tls_key, security.token_file});
}

}  // namespace

RenewedChannel::RenewedChannel(std::string address, ClientSecurity security, int message_bytes_max)
    : address_(std::move(address)),
      message_bytes_max_(message_bytes_max),
      security_(std::move(security)),
      stamp_(StampOf(security_)),
      checked_(MonotonicNow()) {
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      MakeSecureChannel(address_, security_, message_bytes_max_);
  INLIER_CHECK(channel.ok());
  channel_ = *std::move(channel);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> RenewedChannel::Make() {
  RETURN_IF_ERROR(CheckRenewable(security_));
  if (!security_.token_file.empty()) {
    ASSIGN_OR_RETURN(security_.token, ReadToken(security_.token_file, "token_file", security_.insecure));
  }
  return MakeSecureChannel(address_, security_, message_bytes_max_);
}

std::shared_ptr<grpc::Channel> RenewedChannel::Get() {
  const std::lock_guard lock(mutex_);
  const Timestamp now = MonotonicNow();
  if (now - checked_ < kCheckPeriod) return channel_;
  checked_ = now;
  FileStamp stamp = StampOf(security_);
  if (stamp == stamp_) return channel_;
  stamp_ = std::move(stamp);
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = Make();
  if (channel.ok()) {
    channel_ = *std::move(channel);
    spdlog::info("credentials_read coordinator={}", address_);
  } else {
    spdlog::error("credentials_not_read reason={} remedy=\"those read before stay in use\"",
                  LogText(channel.status().message()));
  }
  return channel_;
}

}  // namespace inlier
