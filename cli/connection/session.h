// Shared by all commands: the output mode, the connection to the coordinator, and the exit code.
#ifndef INLIER_CLI_CONNECTION_SESSION_H_
#define INLIER_CLI_CONNECTION_SESSION_H_

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/backoff.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cli/connection/client_settings.h"
#include "cli/connection/stored_state.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "grpcpp/grpcpp.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "rpc/credentials.h"
#include "rpc/rpc.h"

namespace inlier {

using SweepStub = v1::SweepService::Stub;

// Who answers the calls of a session.
struct Answerer {
  enum Kind {
    kServer,  // The one that was named.
    kFolder,  // The coordinator that runs in the folder.
    // The default port of this machine: no folder was named, and the default one has no coordinator and no database.
    kDefault,
    kStored,  // None runs in the folder: its database is read.
  };
  Kind kind = kServer;
  std::string address;        // Empty for kStored.
  std::string database_id{};  // The folder's, for kFolder: a coordinator with another one refuses the calls.
};

class Session {
 public:
  std::string server;       // host:port; empty: the coordinator of `dir`.
  ClientSecurity security;  // TLS files; the token is found by Security().
  std::string token_file;
  std::filesystem::path dir = kDefaultDir;  // State folder of a local `inlier up`.
  bool reads = false;  // The verb changes nothing: it may read a folder in which no coordinator runs.
  bool json = false;
  bool quiet = false;

  // Sets server and dir from the flags, then the environment, then the user's file. Errors are those of the file.
  absl::Status Configure(const ClientSettings& flags);
  // For a verb that starts the coordinator of the folder: no other server is asked, or gets its credentials.
  void UseFolder();
  const ClientChoice& choice() const { return choice_; }
  const std::filesystem::path& settings_file() const { return settings_file_; }

  OutputMode mode() const {
    return json ? OutputMode::kJson : quiet ? OutputMode::kQuiet : OutputMode::kPeople;
  }
  bool people() const { return mode() == OutputMode::kPeople; }

  // Finds who answers: the server; else the coordinator of the folder; else, for a verb that reads, the folder's database;
  // else, where no folder was named and the default one has no database, the coordinator at the default port. Unavailable
  // when none does, NotFound when the named folder does not exist.
  absl::StatusOr<Answerer> FindAnswerer() const;
  // The same, after a wait for a coordinator that is starting, of which it prints a line.
  absl::StatusOr<Answerer> AwaitAnswerer() const;

  // The address is that of an endpoint file: the coordinator of the folder answers.
  bool HasEndpointFile() const;
  // The connection is to the database of the folder.
  bool shows_stored() const { return stored_ != nullptr; }
  // The address that was connected to, or would be.
  std::string Address() const;

  // Opens the connection on first use; later failures are reported by each call. Errors: those of FindAnswerer and
  // StoredState::Open, and invalid TLS files and tokens.
  absl::StatusOr<SweepStub*> Sweeps();
  // The same connection for other services.
  absl::StatusOr<std::shared_ptr<grpc::Channel>> Channel();
  // The security flags, completed by the user's file, with the token: that of --token-file; else, for the address of an
  // endpoint file, the one in its folder; else the environment's, else that of the user's file, which are not sent to an
  // address that another user may have written. None, unless by TLS, for the default port, where any user may listen.
  absl::StatusOr<ClientSecurity> Security() const;

  // One unary call with a deadline. The error names the coordinator and how to start one.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (SweepStub::*method)(grpc::ClientContext*, const Request&,
                                                                  Response*),
                                const Request& request, double timeout_seconds = 30) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(static_cast<int64_t>(timeout_seconds * 1000)));
    Response response;
    ASSIGN_OR_RETURN(SweepStub* const sweeps, Sweeps());
    const grpc::Status status = (sweeps->*method)(&context, request, &response);
    ShowNotes(context);
    RETURN_IF_ERROR(Answered(context, status));
    return response;
  }

  // The same for a call with an effect: with a new request_id, unless the request has one, so that it can be repeated
  // safely during a short outage of the coordinator.
  template <typename Request, typename Response>
  absl::StatusOr<Response> CallOnce(grpc::Status (SweepStub::*method)(grpc::ClientContext*, const Request&,
                                                                      Response*),
                                    Request request, double timeout_seconds = 30) {
    if (request.request_id().empty()) request.set_request_id(RandomUuid());
    const Backoff backoff;
    for (int tries = 1;; ++tries) {
      auto response = Call(method, request, timeout_seconds);
      if (response.ok() || !IsRetriable(response.status()) || tries == kTries || channel_ == nullptr ||
          response.status().GetPayload(kNoticeHeader))
        return response;
      std::this_thread::sleep_for(backoff.Wait(tries, 0.5));
    }
  }

  // The sweep of this id or name.
  absl::StatusOr<v1::SweepStatus> GetSweep(const std::string& sweep, double timeout_seconds = 30);
  // All workers, or only those that are connected.
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers(bool connected, double timeout_seconds = 30);

  // The result of a call that has ended, with an error in words for users, which has the coordinator's notice as its
  // payload kNoticeHeader. Keeps the notice.
  absl::Status Answered(const grpc::ClientContext& context, const grpc::Status& status);
  static std::string NoticeIn(const grpc::ClientContext& context);
  // The coordinator's notice with its last answer, for example that its disk is full; empty: none.
  std::string notice() const;
  // Prints it at the end of a command, unless its error has it already.
  void PrintNotice() const;

  // A gRPC error as a message for users.
  absl::Status ExplainRpcError(const grpc::Status& status) const;

  // Prints the answer to a change: as JSON with --json, as `text` and a line feed for users, nothing in quiet mode.
  void Report(const google::protobuf::Message& answer, const std::string& text) const;
  // Prints an error (to stderr, or as {"error": …} with --json) and sets the exit code. OK changes nothing.
  void Finish(const absl::Status& status);
  void Finish(ExitCode code) { exit_code_ = code; }
  int exit_code() const { return exit_code_; }

 private:
  static constexpr int kTries = 5;

  // Nothing named the coordinator: it is the one at the default port.
  bool IsUnnamed() const { return answerer_ && answerer_->kind == Answerer::kDefault; }
  bool UsesTls() const { return !security.tls_ca.empty() || !choice_.credentials.tls_ca.empty(); }
  // Prints what the coordinator notes on a call, each text once.
  void ShowNotes(const grpc::ClientContext& context);
  // The error when no one answers.
  absl::Status NobodyAnswers(bool stored) const;

  ClientChoice choice_;
  std::filesystem::path settings_file_;
  std::optional<Answerer> answerer_;  // Of the connection.
  std::unique_ptr<StoredState> stored_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<SweepStub> stub_;
  mutable struct Notice {
    std::mutex mutex;  // Calls are made on several threads.
    std::string text;
    std::set<std::string> notes;  // That were shown.
  } notice_;
  int exit_code_ = kExitOk;
};

}  // namespace inlier

#endif  // INLIER_CLI_CONNECTION_SESSION_H_
