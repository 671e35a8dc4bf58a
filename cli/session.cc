#include "cli/session.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "rpc/endpoint_file.h"
#include "rpc/rpc.h"

namespace inlier {

std::string Session::Address() const {
  if (!server.empty()) return server;
  if (absl::StatusOr<v1::Endpoint> endpoint = ReadEndpointFile(dir); endpoint.ok()) return endpoint->grpc();
  return v1::CoordinatorConfig().listen();
}

bool Session::HasEndpointFile() const { return server.empty() && ReadEndpointFile(dir).ok(); }

absl::StatusOr<ClientSecurity> Session::Security() const {
  ClientSecurity complete = security;
  if (!token_file.empty()) {
    ASSIGN_OR_RETURN(complete.token, ReadToken(token_file, "--token-file", security.insecure));
    return complete;
  }
  if (HasEndpointFile()) {
    if (!EndpointFileIsTrusted(dir)) return complete;
    std::error_code error;
    const std::filesystem::path local = LocalTokenFile(dir);
    if (std::filesystem::exists(local, error)) {
      ASSIGN_OR_RETURN(complete.token, ReadToken(local.string(), "token", security.insecure));
      return complete;
    }
  }
  if (!environment_token_file.empty()) {
    ASSIGN_OR_RETURN(complete.token,
                     ReadToken(environment_token_file, "INLIER_TOKEN_FILE", security.insecure));
  } else {
    complete.token = environment_token;
  }
  return complete;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Session::Channel() {
  if (channel_ == nullptr) {
    ASSIGN_OR_RETURN(const ClientSecurity complete, Security());
    ASSIGN_OR_RETURN(channel_, MakeSecureChannel(Address(), complete));
  }
  return channel_;
}

absl::StatusOr<v1::SweepService::Stub*> Session::Sweeps() {
  if (stub_ == nullptr) {
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Channel());
    stub_ = v1::SweepService::NewStub(channel);
  }
  return stub_.get();
}

absl::StatusOr<v1::ListWorkersResponse> Session::ListWorkers(bool connected, double timeout_seconds) {
  v1::ListWorkersRequest request;
  request.set_connected(connected);
  v1::ListWorkersResponse all;
  do {
    ASSIGN_OR_RETURN(const v1::ListWorkersResponse page,
                     Call(&v1::SweepService::Stub::ListWorkers, request, timeout_seconds));
    all.mutable_workers()->MergeFrom(page.workers());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::Status Session::ExplainRpcError(const grpc::Status& status) const {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError(
        absl::StrCat("no coordinator answers at ", Address(), " (", status.error_message(),
                     security.tls_ca.empty() ? ")"
                                             : "; with TLS also: it has TLS off, or the "
                                               "certificates do not fit together, see its log)",
                     ". Start one on this machine with `inlier up --dir ", dir.string(),
                     "`, or name another with --server HOST:PORT"));
  }
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && token_file.empty() && HasEndpointFile() &&
      !EndpointFileIsTrusted(dir)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the coordinator at ", Address(), " asks for a token, and none was sent: its address is from ",
        EndpointFilePath(dir).string(),
        ", which another user may have written. Name a coordinator that you trust with --server, or "
        "its token with --token-file"));
  }
  // Of the call; what the coordinator did not do in time has words of its own.
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
      status.error_message() == "Deadline Exceeded") {
    return absl::DeadlineExceededError(absl::StrCat(
        "the coordinator at ", Address(), " did not answer in time; it may be overloaded: try again"));
  }
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server at ", Address(),
                     " does not support this call: it is another program or another version of inlier"));
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
    PrintExact(error.dump(2) + "\n");
  } else {
    PrintError(message);
  }
}

}  // namespace inlier
