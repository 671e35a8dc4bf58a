// A client that is not one of ours: no TLS, no token, no version.
#ifndef INLIER_TESTS_SUPPORT_PLAIN_CHANNEL_H_
#define INLIER_TESTS_SUPPORT_PLAIN_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "rpc/rpc.h"

namespace inlier {

inline std::shared_ptr<grpc::Channel> PlainChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kRpcMessageBytesMax);
  arguments.SetMaxSendMessageSize(kRpcMessageBytesMax);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace inlier

#endif  // INLIER_TESTS_SUPPORT_PLAIN_CHANNEL_H_
