#include "cli/session.h"

#include <cstdio>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/service/endpoint_file.h"
#include "base/service/rpc.h"
#include "nlohmann/json.hpp"

namespace inlier {

std::string Session::Address() const {
  if (!server.empty()) return server;
  if (absl::StatusOr<v1::Endpoint> endpoint = ReadEndpointFile(dir); endpoint.ok()) return endpoint->grpc();
  return v1::CoordinatorConfig().listen();
}

std::shared_ptr<grpc::Channel> Session::Channel() {
  if (channel_ == nullptr) channel_ = MakeChannel(Address());
  return channel_;
}

v1::SweepService::Stub& Session::Sweeps() {
  if (stub_ == nullptr) stub_ = v1::SweepService::NewStub(Channel());
  return *stub_;
}

absl::Status Session::ExplainRpcError(const grpc::Status& status) const {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError(absl::StrCat("no coordinator answers at ", Address(), " (",
                                               status.error_message(),
                                               "). Start one on this machine with `inlier up --dir ",
                                               dir.string(), "`, or name another with --server HOST:PORT"));
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError(absl::StrCat(
        "the coordinator at ", Address(), " did not answer in time; it may be overloaded: try again"));
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server at ", Address(),
                     " does not know this call: it is another program or another version of inlier"));
  }
  return FromGrpcStatus(status);
}

void Session::Finish(const absl::Status& status) {
  exit_code_ = ExitCodeOf(status);
  if (status.ok()) return;
  const std::string message(status.message());
  if (json) {
    const nlohmann::json error = {
        {"error", {{"code", absl::StatusCodeToString(status.code())}, {"message", message}}}};
    std::cout << error.dump(2) << std::endl;
  } else {
    std::fprintf(stderr, "inlier: %s\n", message.c_str());
  }
}

}  // namespace inlier
