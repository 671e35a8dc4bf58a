// inlier-coordinator: the daemon that owns the database and decides what runs where.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_lock.h"
#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/process/coordinator.h"
#include "coordinator/process/show_stored.h"
#include "coordinator/process/standby.h"
#include "coordinator/queries/query_answerer.h"
#include "inlier/v1/config.pb.h"
#include "notify/hook_check.h"
#include "notify/notify_service.h"
#include "rpc/config.h"
#include "rpc/daemon.h"
#include "rpc/metrics_registry.h"
#include "rpc/service_manager.h"

namespace inlier {
namespace {

constexpr char kProgram[] = "inlier-coordinator";
// Also when its file has been replaced by another version meanwhile.
constexpr char kThisProgram[] = "/proc/self/exe";
constexpr char kSummary[] =
    "Keeps sweeps and their results in <state_dir>/inlier.db, leases stages to workers, and serves gRPC and "
    "HTTP. With --test-hooks it sends a notification of the event \"test\" to each hook of the "
    "configuration, prints the results, and ends. With --new-database it makes an empty database in a folder "
    "whose own is missing, and keeps the files of that one in <state_dir>/set-aside.";
constexpr char kTestHooksFlag[] = "--test-hooks";
constexpr char kNewDatabaseFlag[] = "--new-database";
// TimeoutStartSec of deploy/systemd.
constexpr Duration kTakeoverMax = std::chrono::minutes(30);

// Runs `io` until the state folder is this process's alone, and sets `lock`, or until a signal stops it.
absl::Status WaitAsStandby(boost::asio::io_context& io, const v1::CoordinatorConfig& config,
                           const ServiceManager& manager, std::optional<FileLock>& lock) {
  RETURN_IF_ERROR(Coordinator::Check(config));  // Not only when it has to take over.
  absl::Status status;
  Standby standby(io, config, [&](absl::StatusOr<FileLock> taken) {
    if (taken.ok()) lock.emplace(*std::move(taken));
    status = taken.status();
    io.stop();
  });
  RETURN_IF_ERROR(standby.Start());
  LogStarted({{"standby", "true"}, {"http", standby.http_address()}, {"state_dir", config.state_dir()}});
  const Watchdog watchdog(io, manager, [&manager] { manager.Alive(); });
  manager.Ready();
  io.run();
  if (lock) io.restart();
  return status;
}

int Run(const DaemonOptions& options, bool test_hooks, bool new_database) {
  const ServiceManager manager = ServiceManager::FromEnvironment();
  InitLog(kProgram, options.log_level);
  v1::CoordinatorConfig config;
  if (const absl::Status status = LoadConfig(options.config_file, options.overrides, config); !status.ok())
    return ReportFatal(kProgram, status);
  if (const absl::Status status = SetLogFormat(config.log_format()); !status.ok())
    return ReportFatal(kProgram, status);
  if (!config.has_query_program()) config.set_query_program(kThisProgram);
  if (test_hooks) {
    absl::Status status = CheckHooks(config);
    if (status.ok()) status = TestHooks(config);
    return status.ok() ? kExitOk : ReportFatal(kProgram, status);
  }
  spdlog::info("config {}", DescribeConfig(WithoutSecrets(config)));
  RaiseOpenFileLimit();

  boost::asio::io_context io;
  absl::Status fatal;
  std::string reason;
  const auto stop = [&io, &reason](const std::string& why) {
    if (reason.empty()) reason = why;
    io.stop();
  };
  StopSignals signals(io, [&stop](const std::string& name, int count) { stop(name); });
  std::optional<FileLock> lock;
  if (config.standby()) {
    const absl::Status waited = WaitAsStandby(io, config, manager, lock);
    if (!waited.ok()) return ReportFatal(kProgram, waited);
    if (!lock) {
      LogStopped(reason);
      return kExitOk;
    }
  }
  const auto on_fatal = [&](absl::Status status) {
    boost::asio::post(io, [&, status] {
      fatal = status;
      stop("fatal");
    });
  };
  // The manager counts a standby as started: without this its watchdog would end the start.
  if (lock) manager.SetWatchdog(kTakeoverMax);
  auto coordinator =
      Coordinator::Start(config, on_fatal, Coordinator::Mode::kRun, std::move(lock), new_database);
  if (!coordinator.ok()) return ReportFatal(kProgram, coordinator.status());
  LogStarted({{"listen", (*coordinator)->grpc_address()},
              {"http", (*coordinator)->http_address()},
              {"state_dir", config.state_dir()}});
  // A stuck thread of decisions or a port that does not answer reports nothing, and the manager restarts the
  // coordinator.
  const Watchdog watchdog(io, manager, [&] {
    if ((*coordinator)->Serves()) (*coordinator)->Post([&manager] { manager.Alive(); });
  });
  if (config.standby() && manager.watchdog()) manager.SetWatchdog(*manager.watchdog());
  manager.Ready();
  io.run();
  manager.Stopping();
  coordinator->reset();
  LogStopped(reason);
  if (fatal.ok()) return kExitOk;
  ReportFatal(kProgram, fatal);
  return kExitDatabase;
}

int Main(int argc, char** argv) {
  if (argc == 3 && argv[1] == std::string(kAnswerQueriesFlag)) return AnswerQueries(argv[2]);
  if (argc == 3 && argv[1] == std::string(kShowStoredFlag)) return ShowStored(argv[2], kThisProgram);
  std::vector<const char*> arguments(argv, argv + argc);
  const bool test_hooks = std::erase(arguments, std::string_view(kTestHooksFlag)) > 0;
  const bool new_database = std::erase(arguments, std::string_view(kNewDatabaseFlag)) > 0;
  const absl::StatusOr<DaemonOptions> options =
      ParseDaemonOptions(static_cast<int>(arguments.size()), arguments.data());
  if (!options.ok()) return ReportFatal(kProgram, options.status());
  switch (options->action) {
    case DaemonOptions::Action::kHelp:
      std::fputs(DaemonHelp(kProgram, kSummary).c_str(), stdout);
      return kExitOk;
    case DaemonOptions::Action::kVersion:
      std::printf("%s %s\n", kProgram, BuildId().c_str());
      return kExitOk;
    case DaemonOptions::Action::kMetricsReference:
      std::fputs(MetricsReference(kProgram, CoordinatorMetricTable()).c_str(), stdout);
      return kExitOk;
    case DaemonOptions::Action::kRun:
      break;
  }
  return Run(*options, test_hooks, new_database);
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc, argv); }
