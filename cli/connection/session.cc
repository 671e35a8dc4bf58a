#include "cli/connection/session.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/connection/local_state.h"
#include "nlohmann/json.hpp"
#include "rpc/endpoint_file.h"
#include "rpc/rpc.h"
#include "rpc/server_probe.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// How long a command waits for a coordinator that is starting; for one that does not show yet, as after `inlier up &`; and for one
// that was killed and that a service manager may start again.
constexpr Duration kStart = std::chrono::seconds(30);
constexpr Duration kAppears = std::chrono::seconds(3);
constexpr Duration kRestart = std::chrono::seconds(5);
constexpr Duration kSilence = std::chrono::milliseconds(300);  // Before a command reports that it waits.

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The endpoint of the coordinator that runs in `dir` and takes connections. Errors: of an endpoint file that cannot be read.
absl::StatusOr<std::optional<v1::Endpoint>> RunningIn(const fs::path& dir) {
  ASSIGN_OR_RETURN(FolderCoordinator found, CoordinatorOf(dir));
  if (!found.endpoint.has_grpc() || !AcceptsConnections(found.endpoint.grpc(), std::chrono::seconds(5)))
    return std::nullopt;
  return std::move(found.endpoint);
}

// A coordinator is starting in `dir`, or is started by an `inlier up` that is at work there.
bool IsStarting(const fs::path& dir) {
  return FileLock::Probe(StateLockPath(dir)) == LockUse::kHeld ||
         FileLock::Probe(UpLockFile(dir)) == LockUse::kHeld;
}

// A coordinator of this folder was killed, and may be started again. The endpoint file of a copied folder does not count.
bool WasKilledIn(const fs::path& dir) {
  const absl::StatusOr<v1::Endpoint> left = ReadEndpointFile(dir);
  return left.ok() && left->lock_inode() == InodeOf(StateLockPath(dir));
}

std::string DefaultAddress() { return v1::CoordinatorConfig().listen(); }

}  // namespace

absl::Status Session::Configure(const ClientSettings& flags) {
  ClientSettings environment;
  environment.server = EnvironmentVariableOr("INLIER_SERVER", "");
  environment.dir = EnvironmentVariableOr("INLIER_DIR", "");
  settings_file_ = ClientFile(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
  ASSIGN_OR_RETURN(const ClientSettings file,
                   ReadClientFile(settings_file_, EnvironmentVariableOr("HOME", "")));
  choice_ = ChooseCoordinator(flags, environment, file, settings_file_.string());
  server = choice_.server;
  dir = choice_.dir;
  return absl::OkStatus();
}

void Session::UseFolder() {
  server.clear();
  if (choice_.server_by == settings_file_.string()) choice_.credentials = {};
}

absl::StatusOr<Answerer> Session::FindAnswerer() const {
  if (!server.empty()) return Answerer{Answerer::kServer, server};
  ASSIGN_OR_RETURN(std::optional<v1::Endpoint> running, RunningIn(dir));
  if (running) return Answerer{Answerer::kFolder, running->grpc(), running->database_id()};
  // A database in the default folder is preferred to any coordinator of this machine, which may be another user's.
  const bool stored = Exists(dir / "inlier.db");
  if (choice_.dir_by.empty() && !stored && !IsStarting(dir) && AcceptsConnections(DefaultAddress()))
    return Answerer{Answerer::kDefault, DefaultAddress()};
  if (stored && reads) return Answerer{Answerer::kStored, ""};
  return NobodyAnswers(stored);
}

absl::Status Session::NobodyAnswers(bool stored) const {
  const std::string named =
      choice_.dir_by.empty() ? dir.string() : absl::StrCat(dir.string(), " (", choice_.dir_by, ")");
  const std::string remedy = absl::StrCat("`inlier up --dir ", dir.string(),
                                          "` starts one there, and --server HOST:PORT names another");
  if (!Exists(dir) && !choice_.dir_by.empty())
    return absl::NotFoundError(absl::StrCat("there is no folder ", named, "; ", remedy));
  std::string what = absl::StrCat(
      IsStarting(dir) ? "the coordinator does not answer yet in " : "no coordinator is running in ", named);
  if (choice_.dir_by.empty())
    absl::StrAppend(
        &what, stored ? ", whose database is meant before the coordinator at " : ", and none answers at ",
        DefaultAddress());
  if (!stored) absl::StrAppend(&what, ", and the folder has no database (inlier.db)");
  return absl::UnavailableError(absl::StrCat(what, "; ", remedy));
}

std::string Session::Address() const {
  if (answerer_) return answerer_->address;
  if (!server.empty()) return server;
  if (absl::StatusOr<v1::Endpoint> endpoint = ReadEndpointFile(dir); endpoint.ok()) return endpoint->grpc();
  return DefaultAddress();
}

bool Session::HasEndpointFile() const {
  if (answerer_) return answerer_->kind == Answerer::kFolder;
  return server.empty() && ReadEndpointFile(dir).ok();
}

absl::StatusOr<Answerer> Session::AwaitAnswerer() const {
  const Timestamp start = MonotonicNow();
  bool told = quiet;
  for (;;) {
    absl::StatusOr<Answerer> found = FindAnswerer();
    const bool starting = IsStarting(dir);
    // A database that is being opened.
    const bool stored = found.ok() && found->kind == Answerer::kStored && starting;
    if (!stored && !absl::IsUnavailable(found.status()) && !absl::IsNotFound(found.status())) return found;
    const Duration patience = starting && !stored           ? kStart
                              : !stored && WasKilledIn(dir) ? kRestart
                                                            : kAppears;
    const Duration waited = MonotonicNow() - start;
    if (waited >= patience) return found;
    if (waited >= kSilence && !std::exchange(told, true)) {
      PrintError(absl::StrCat("no coordinator answers in ", dir.string(), " yet; waiting for one that ",
                              starting ? "is starting" : "may be starting"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

absl::StatusOr<ClientSecurity> Session::Security() const {
  ClientSecurity complete = security;
  const ClientSettings& file = choice_.credentials;
  if (complete.tls_ca.empty()) complete.tls_ca = file.tls_ca;
  if (complete.tls_certificate.empty()) complete.tls_certificate = file.tls_certificate;
  if (complete.tls_key.empty()) complete.tls_key = file.tls_key;
  if (answerer_) complete.database_id = answerer_->database_id;
  if (IsUnnamed() && complete.tls_ca.empty()) return complete;
  if (!token_file.empty()) {
    ASSIGN_OR_RETURN(complete.token, ReadToken(token_file, "--token-file", security.insecure));
    return complete;
  }
  if (HasEndpointFile()) {
    if (!EndpointFileIsTrusted(dir)) return complete;
    const fs::path local = LocalTokenFile(dir);
    if (Exists(local)) {
      ASSIGN_OR_RETURN(complete.token, ReadToken(local.string(), "token", security.insecure));
      return complete;
    }
  }
  const std::string environment_token = EnvironmentVariableOr("INLIER_TOKEN", "");
  if (const std::string path = EnvironmentVariableOr("INLIER_TOKEN_FILE", ""); !path.empty()) {
    ASSIGN_OR_RETURN(complete.token, ReadToken(path, "INLIER_TOKEN_FILE", security.insecure));
  } else if (!environment_token.empty() || file.token_file.empty()) {
    complete.token = environment_token;
  } else {
    ASSIGN_OR_RETURN(complete.token,
                     ReadToken(file.token_file, absl::StrCat("token_file of ", settings_file_.string()),
                               security.insecure));
  }
  return complete;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> Session::Channel() {
  if (channel_ != nullptr) return channel_;
  ASSIGN_OR_RETURN(answerer_, AwaitAnswerer());
  ClientSecurity complete;
  if (answerer_->kind == Answerer::kStored) {
    ASSIGN_OR_RETURN(stored_, StoredState::Open(dir));
    answerer_->address = stored_->address();
    complete.token = stored_->token();
    if (!quiet) PrintError(absl::StrCat("read from ", dir.string(), " (no coordinator is running)"));
  } else {
    ASSIGN_OR_RETURN(complete, Security());
  }
  ASSIGN_OR_RETURN(channel_, MakeSecureChannel(answerer_->address, complete));
  return channel_;
}

absl::StatusOr<SweepStub*> Session::Sweeps() {
  if (stub_ == nullptr) {
    ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Channel());
    stub_ = v1::SweepService::NewStub(channel);
  }
  return stub_.get();
}

absl::StatusOr<v1::SweepStatus> Session::GetSweep(const std::string& sweep, double timeout_seconds) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  return Call(&SweepStub::GetSweep, request, timeout_seconds);
}

absl::StatusOr<v1::ListWorkersResponse> Session::ListWorkers(bool connected, double timeout_seconds) {
  v1::ListWorkersRequest request;
  request.set_connected(connected);
  v1::ListWorkersResponse all;
  do {
    ASSIGN_OR_RETURN(const v1::ListWorkersResponse page,
                     Call(&SweepStub::ListWorkers, request, timeout_seconds));
    all.mutable_workers()->MergeFrom(page.workers());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

std::string Session::NoticeIn(const grpc::ClientContext& context) {
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto found = trailing.find(kNoticeHeader);
  return found == trailing.end() ? "" : std::string(found->second.begin(), found->second.end());
}

absl::Status Session::Answered(const grpc::ClientContext& context, const grpc::Status& status) {
  const std::string notice = NoticeIn(context);
  {
    const std::lock_guard lock(notice_.mutex);
    notice_.text = notice;
  }
  if (status.ok()) return absl::OkStatus();
  if (notice.empty()) return ExplainRpcError(status);
  absl::Status error = FromGrpcStatus(status);
  error.SetPayload(kNoticeHeader, absl::Cord(notice));
  return error;
}

std::string Session::notice() const {
  const std::lock_guard lock(notice_.mutex);
  return notice_.text;
}

void Session::PrintNotice() const {
  const std::string text = notice();
  if (!text.empty() && !quiet && exit_code_ != kExitUnreachable)
    PrintError(absl::StrCat(text, "; this is the stored state"));
}

absl::Status Session::ExplainRpcError(const grpc::Status& status) const {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && !UsesTls() && SpeaksTls(Address())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the coordinator at ", Address(),
        " requires TLS: name the CA of its certificate with --tls-ca FILE (or INLIER_TLS_CA, or tls_ca in ",
        settings_file_.empty() ? "client.yaml" : settings_file_.string(), ")"));
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return absl::UnavailableError(absl::StrCat(
        "no coordinator answers at ", Address(), " (", FromGrpcStatus(status).message(),
        UsesTls() ? "; with TLS also: it has TLS off, or the certificates do not fit together, see its log)"
                  : ")",
        ". Start one on this machine with `inlier up --dir ", dir.string(),
        "`, or name another with --server HOST:PORT"));
  }
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && IsUnnamed() && !UsesTls()) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the coordinator at ", Address(),
        " asks for a token, and none was sent: nothing names this coordinator, and any user of this machine "
        "may listen there. Name it with --server ",
        Address(), " (or INLIER_SERVER), or its folder with --dir"));
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

void Session::ShowNotes(const grpc::ClientContext& context) {
  const auto [first, last] = context.GetServerTrailingMetadata().equal_range(kNoteHeader);
  for (auto note = first; note != last; ++note) {
    const std::string text(note->second.data(), note->second.size());
    const std::lock_guard lock(notice_.mutex);
    if (notice_.notes.insert(text).second) PrintError(text);
  }
}

void Session::Report(const google::protobuf::Message& answer, const std::string& text) const {
  if (json) {
    PrintExact(ToJson(answer));
  } else if (!quiet) {
    Print(text + "\n");
  }
}

void Session::Finish(const absl::Status& status) {
  if (status.ok()) return;
  exit_code_ = ExitCodeOf(status);
  const std::string message(status.message());
  if (json) {
    const nlohmann::json error = {
        {"error", {{"code", absl::StatusCodeToString(status.code())}, {"message", message}}}};
    PrintJson(error);
  } else {
    PrintError(message);
  }
}

}  // namespace inlier
