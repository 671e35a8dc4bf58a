#include "cli/connection/local_mode.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/processes/end_with_parent.h"
#include "base/processes/null_terminated.h"
#include "base/status.h"
#include "cli/connection/local_roots.h"
#include "cli/connection/local_state.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "rpc/endpoint_file.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

constexpr Duration kReadyWithin = std::chrono::seconds(30);
constexpr Duration kShortLife = std::chrono::seconds(3);
constexpr int kShortLivesMax = 3;
constexpr int kPortTries = 8;
constexpr char kNewDatabase[] = "--new-database";
constexpr int kLockTries = 10;  // A command that probes the lock holds it for a moment.
// With --port: the page's port, the same at each start, is this much higher, the worker's one more.
constexpr int kPageAbovePort = 10000;
constexpr Duration kWorkerGrace = std::chrono::seconds(20);
constexpr Duration kCoordinatorGrace = std::chrono::seconds(10);

// `preferred` on loopback at the first launch when it is free, else a free port: for one folder and `preferred` the same at each
// start while it is free. Programs that start at the same moment find the same one free; those that lost it spread over others.
absl::StatusOr<std::string> PickAddress(const std::filesystem::path& dir, uint16_t preferred, int launch,
                                        const std::string& field) {
  const Address wanted{"127.0.0.1", preferred};
  if (launch == 1 && ProbeBind(wanted, field).ok()) return wanted.ToString();
  const std::size_t place = std::hash<std::string>()(dir.string()) % 12000 + preferred * 17;
  for (int tries = 0; tries < 50; ++tries) {
    const Address other{"127.0.0.1",
                        static_cast<uint16_t>(20000 + (place + (launch * 50 + tries) * 131) % 12000)};
    if (ProbeBind(other, field).ok()) return other.ToString();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("no free port on 127.0.0.1 for ", field, "; stop other programs or use --port"));
}

// Of `path=value` settings the value of the last for `path`; empty: none.
std::string SettingIn(const std::vector<std::string>& settings, const std::string& path) {
  std::string value;
  for (const std::string& setting : settings) {
    if (absl::StartsWith(setting, path + "=")) value = setting.substr(path.size() + 1);
  }
  return value;
}

// Where programs of this machine reach a listener.
std::string Reached(Address address) {
  if (address.host == "0.0.0.0" || address.host == "::") address.host = "127.0.0.1";
  return address.ToString();
}

absl::StatusOr<FileLock> TakeUpLock(const std::filesystem::path& dir) {
  for (int tries = 1; tries <= kLockTries; ++tries) {
    ASSIGN_OR_RETURN(std::optional<FileLock> lock, FileLock::TryAcquire(UpLockFile(dir)));
    if (lock) return *std::move(lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return absl::AlreadyExistsError(absl::StrCat("another `inlier up` or `inlier run` starts a coordinator of ",
                                               dir.string(),
                                               "; use that one, stop it, or name another --dir"));
}

// ". Its log, FILE, ends with:" and its last bytes.
std::string EndOfLog(const std::filesystem::path& file) {
  constexpr std::streamoff kBytesMax = 1500;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (in) in.seekg(std::max<std::streamoff>(0, static_cast<std::streamoff>(in.tellg()) - kBytesMax));
  return absl::StrCat(". Its log, ", file.string(), ", ends with:\n",
                      std::string(std::istreambuf_iterator<char>(in), {}));
}

std::string DescribeExit(int status) {
  if (WIFSIGNALED(status)) return absl::StrCat("by signal ", WTERMSIG(status));
  return absl::StrCat("with status ", WEXITSTATUS(status));
}

}  // namespace

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path(".") : self.parent_path();
}

absl::StatusOr<std::unique_ptr<LocalDaemons>> LocalDaemons::Start(const LocalOptions& options) {
  std::unique_ptr<LocalDaemons> daemons(new LocalDaemons(options));
  RETURN_IF_ERROR(daemons->Launch());
  return daemons;
}

absl::Status LocalDaemons::Launch() {
  options_.dir = std::filesystem::absolute(options_.dir).lexically_normal();
  RETURN_IF_ERROR(CloseStateFolder(options_.dir));
  ASSIGN_OR_RETURN(const FolderCoordinator other, CoordinatorOf(options_.dir));
  if (other.state == FolderCoordinator::kRunning || other.state == FolderCoordinator::kStarting) {
    const bool running = other.state == FolderCoordinator::kRunning;
    return absl::AlreadyExistsError(absl::StrCat(
        "a coordinator of ", options_.dir.string(), " is ",
        running
            ? absl::StrCat("already running at ", other.endpoint.grpc(), " (pid ", other.endpoint.pid(), ")")
            : std::string("starting"),
        "; use it, stop it, or name another --dir"));
  }
  ASSIGN_OR_RETURN(FileLock lock, TakeUpLock(options_.dir));
  lock_.emplace(std::move(lock));
  RETURN_IF_ERROR(MakeWritableFolder(options_.dir / "logs"));
  for (int tries = 1;; ++tries) {
    RETURN_IF_ERROR(PickAddresses(tries));
    SetArguments(tries);
    RETURN_IF_ERROR(SetAccess());
    RETURN_IF_ERROR(Spawn(coordinator_));
    const absl::Status ready = WaitUntilReady();
    if (ready.ok()) {
      std::erase(coordinator_.arguments, kNewDatabase);  // For this start, and no later one.
      ASSIGN_OR_RETURN(const v1::Endpoint endpoint, ReadEndpointFile(options_.dir));
      coordinator_http_ = endpoint.http();
    }
    if (ready.ok() || tries == kPortTries || !LostAnAddress(ready)) return ready;
    Stop();
  }
}

bool LocalDaemons::LostAnAddress(const absl::Status& ready) const {
  // In the log of the one that ended: what had the address may have gone since.
  if (absl::StrContains(ready.message(), "is already in use;")) return true;
  const auto taken = [](const std::string& text) {  // Empty: not known.
    const absl::StatusOr<Address> address = ParseAddress(text, "listen");
    return address.ok() && !ProbeBind(*address, "listen").ok();
  };
  return (coordinator_.pid < 0 && (taken(grpc_address_) || taken(coordinator_http_))) ||
         (worker_.pid < 0 && taken(worker_http_));
}

absl::Status LocalDaemons::PickAddresses(int launch) {
  const v1::CoordinatorConfig coordinator_defaults;
  const v1::WorkerConfig worker_defaults;
  const auto port_of = [](const std::string& address) { return ParseAddress(address, "listen")->port; };
  const int port = options_.port.value_or(0);
  const auto above = [&](int more, const std::string& usual) {
    const int wanted = port + kPageAbovePort + more;
    if (port == 0) return port_of(usual);
    return static_cast<uint16_t>(wanted > 65535 ? wanted - 2 * kPageAbovePort : wanted);
  };
  if (const std::string set = SettingIn(options_.coordinator_set, "listen"); !set.empty()) {
    ASSIGN_OR_RETURN(const Address listen, ParseAddress(set, "listen"));
    grpc_address_ = Reached(listen);
  } else if (port != 0) {
    const Address wanted{"127.0.0.1", static_cast<uint16_t>(port)};
    RETURN_IF_ERROR(ProbeBind(wanted, "--port"));
    grpc_address_ = wanted.ToString();
  } else {
    ASSIGN_OR_RETURN(grpc_address_,
                     PickAddress(options_.dir, port_of(coordinator_defaults.listen()), launch, "listen"));
  }
  ASSIGN_OR_RETURN(coordinator_http_, PickAddress(options_.dir, above(0, coordinator_defaults.http_listen()),
                                                  launch, "http_listen"));
  ASSIGN_OR_RETURN(worker_http_, PickAddress(options_.dir, above(1, worker_defaults.http_listen()), launch,
                                             "worker http_listen"));
  return absl::OkStatus();
}

void LocalDaemons::SetArguments(int launch) {
  const std::filesystem::path programs = ProgramFolder();
  const std::string state = absl::StrCat("state_dir=", options_.dir.string());
  coordinator_.name = "coordinator";
  coordinator_.log = options_.dir / "logs" / "coordinator.log";
  coordinator_.arguments = {(programs / "inlier-coordinator").string()};
  // Another launch finds the database of the first.
  if (options_.new_database && (launch == 1 || SizeOf(options_.dir / "inlier.db") == 0))
    coordinator_.arguments.push_back(kNewDatabase);
  coordinator_.Set(
      {state, absl::StrCat("listen=", grpc_address_), absl::StrCat("http_listen=", coordinator_http_)});
  worker_.name = "worker";
  worker_.log = options_.dir / "logs" / "worker.log";
  worker_.arguments = {(programs / "inlier-worker").string()};
  worker_.Set(
      {state, absl::StrCat("coordinator=", grpc_address_), absl::StrCat("http_listen=", worker_http_)});
  if (const std::string set = SettingIn(options_.worker_set, "http_listen"); !set.empty()) {
    // The worker reports an address that cannot be parsed.
    const absl::StatusOr<Address> listen = ParseAddress(set, "http_listen");
    worker_http_ = listen.ok() && listen->port != 0 ? Reached(*listen) : "";
  }
  if (options_.slots.has_value()) worker_.Set({absl::StrCat("slots=", *options_.slots)});
  if (!options_.data_dir.empty())
    worker_.Set({absl::StrCat("data_dir=", std::filesystem::absolute(options_.data_dir).string())});
}

absl::Status LocalDaemons::SetAccess() {
  const std::vector<std::string>& set = options_.coordinator_set;
  const bool own_callers = std::ranges::any_of(set, [](const std::string& text) {
    return absl::StartsWith(text, "tokens_file=") || absl::StartsWith(text, "tls_client_ca=");
  });
  if (own_callers) {
    RemoveLocalTokens(options_.dir);
  } else {
    ASSIGN_OR_RETURN(options_.security.token, MakeLocalTokens(options_.dir));
    coordinator_.Set({absl::StrCat("tokens_file=", LocalTokensFile(options_.dir).string())});
    worker_.Set({absl::StrCat("token_file=", WorkerTokenFile(options_.dir).string())});
    for (const std::filesystem::path& root : options_.data_roots) {
      if (root.has_relative_path()) worker_.Set({absl::StrCat("program_roots=", root.string())});
    }
    worker_.Set({absl::StrCat("data_roots_file=", LocalRootsFile(options_.dir).string())});
    std::vector<std::filesystem::path> roots = options_.data_roots;
    if (const char* home = std::getenv("HOME"); home != nullptr) roots.emplace_back(home);
    roots.push_back(options_.dir / "artifacts");
    for (const std::filesystem::path& root : roots) {
      // "/" is the home of some users and the folder of some shells, and would be every file.
      if (root.is_absolute() && root.has_relative_path())
        worker_.Set({absl::StrCat("data_roots=", root.string())});
    }
  }
  coordinator_.Set(options_.coordinator_set);
  worker_.Set(options_.worker_set);
  return absl::OkStatus();
}

void LocalDaemons::Daemon::Set(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
}

absl::Status LocalDaemons::Spawn(Daemon& daemon) {
  if (access(daemon.arguments[0].c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("the program ", daemon.arguments[0],
                                            " is not there or cannot be run; build it with `make build`"));
  }
  const int log = open(daemon.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return ErrnoStatus(absl::StrCat("opening ", daemon.log.string()));
  const std::vector<char*> argv = NullTerminated(daemon.arguments);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    // A daemon of `inlier up` ends with it, even if that is killed; Ctrl-C goes to `inlier` alone, which
    // stops the daemons in order.
    setpgid(0, 0);
    EndWithParent(parent, SIGTERM);
    umask(0077);
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  const absl::Status forked = pid < 0 ? ErrnoStatus("fork") : absl::OkStatus();
  close(log);
  RETURN_IF_ERROR(forked);
  daemon.pid = pid;
  daemon.started = MonotonicNow();
  return absl::OkStatus();
}

absl::Status LocalDaemons::WaitUntilReady() {
  const Timestamp deadline = MonotonicNow() + kReadyWithin;
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                   MakeSecureChannel(grpc_address_, options_.security));
  std::unique_ptr<v1::SweepService::Stub> stub = v1::SweepService::NewStub(channel);
  while (MonotonicNow() < deadline) {
    for (Daemon* daemon : {&coordinator_, &worker_}) {
      int status = 0;
      if (daemon->pid >= 0 && waitpid(daemon->pid, &status, WNOHANG) == daemon->pid) {
        daemon->pid = -1;
        return absl::FailedPreconditionError(absl::StrCat(
            "the ", daemon->name, " ended ", DescribeExit(status), " at its start", EndOfLog(daemon->log)));
      }
    }
    if (worker_.pid < 0) {
      // Before its endpoint is there the coordinator may move attempts/, of another database, out of the folder.
      const absl::StatusOr<v1::Endpoint> endpoint = ReadEndpointFile(options_.dir);
      if (!endpoint.ok() || static_cast<pid_t>(endpoint->pid()) != coordinator_.pid) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      RETURN_IF_ERROR(Spawn(worker_));
    }
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    // A call that fails at once does not drive the channel: gRPC would check the new connection every 5 s only.
    context.set_wait_for_ready(true);
    v1::ListWorkersRequest request;
    request.set_connected(true);
    v1::ListWorkersResponse workers;
    if (stub->ListWorkers(&context, request, &workers).ok() && workers.workers_size() > 0)
      return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  return absl::DeadlineExceededError(absl::StrCat("the daemons were not ready within ",
                                                  FormatDuration(kReadyWithin), "; see ",
                                                  (options_.dir / "logs").string()));
}

absl::Status LocalDaemons::Reap(Daemon& daemon) {
  if (daemon.pid < 0) return absl::OkStatus();
  int status = 0;
  if (waitpid(daemon.pid, &status, WNOHANG) != daemon.pid) return absl::OkStatus();
  daemon.pid = -1;
  if (&daemon == &coordinator_ && WIFEXITED(status) && WEXITSTATUS(status) == kExitDatabase) {
    return absl::DataLossError(
        absl::StrCat("the coordinator's database failed, and it is not started again", EndOfLog(daemon.log)));
  }
  daemon.short_lives = MonotonicNow() - daemon.started < kShortLife ? daemon.short_lives + 1 : 0;
  if (daemon.short_lives >= kShortLivesMax) {
    return absl::InternalError(
        absl::StrCat("the ", daemon.name, " ended ", DescribeExit(status), " ", daemon.short_lives,
                     " times at its start and will not be restarted", EndOfLog(daemon.log)));
  }
  notices_.push_back(absl::StrCat("the ", daemon.name, " ended ", DescribeExit(status), "; restarted"));
  return Spawn(daemon);
}

absl::Status LocalDaemons::Poll() {
  RETURN_IF_ERROR(Reap(coordinator_));
  return Reap(worker_);
}

void LocalDaemons::StopOne(Daemon& daemon, Duration grace) {
  if (daemon.pid < 0) return;
  kill(daemon.pid, SIGTERM);
  const Timestamp deadline = MonotonicNow() + grace;
  while (waitpid(daemon.pid, nullptr, WNOHANG) == 0) {
    if (MonotonicNow() >= deadline) {
      kill(daemon.pid, SIGKILL);
      waitpid(daemon.pid, nullptr, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  daemon.pid = -1;
}

void LocalDaemons::Stop() {
  StopOne(worker_, kWorkerGrace);
  StopOne(coordinator_, kCoordinatorGrace);
}

LocalDaemons::~LocalDaemons() { Stop(); }

std::vector<std::string> LocalDaemons::TakeNotices() { return std::exchange(notices_, {}); }

}  // namespace inlier
