// A connection to a server whose credentials may be renewed meanwhile; a channel itself keeps its first ones.
//
// Thread safety: any thread.
#ifndef INLIER_RPC_RENEWED_CHANNEL_H_
#define INLIER_RPC_RENEWED_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <mutex>
#include <string>

#include "base/time.h"
#include "rpc/credentials.h"
#include "rpc/file_stamp.h"

namespace inlier {

class RenewedChannel {
 public:
  // As MakeSecureChannel. REQUIRES: the files of `security` can be used, and its token is that of token_file.
  RenewedChannel(std::string address, ClientSecurity security, int message_bytes_max);

  // The channel for the next call: a new one when the files have changed, which is checked once a second. Invalid
  // files leave the last channel in use; that is logged once for each change.
  std::shared_ptr<grpc::Channel> Get();

 private:
  absl::StatusOr<std::shared_ptr<grpc::Channel>> Make();

  const std::string address_;
  const int message_bytes_max_;
  std::mutex mutex_;
  ClientSecurity security_;
  FileStamp stamp_;
  Timestamp checked_;
  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace inlier

#endif  // INLIER_RPC_RENEWED_CHANNEL_H_
