// inlier-worker: runs trials on this machine for a coordinator.
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/status.h"
#include "base/uuid.h"
#include "base/version.h"
#include "inlier/v1/config.pb.h"
#include "rpc/config.h"
#include "rpc/daemon.h"
#include "rpc/http/http_server.h"
#include "rpc/service_manager.h"
#include "worker/agent.h"
#include "worker/gpus/device_monitor.h"
#include "worker/gpus/gpu_inventory.h"
#include "worker/job.h"
#include "worker/machines/describe.h"
#include "worker/machines/find_machines.h"
#include "worker/programs/program_runner.h"
#include "worker/programs/program_trial_run.h"
#include "worker/slots/find_slots.h"
#include "worker/worker_setup.h"

namespace inlier {
namespace {

constexpr char kProgram[] = "inlier-worker";
constexpr Duration kKilledWait = std::chrono::seconds(2);  // In a job.

std::string OfEnvironment(const char* name) { return EnvironmentVariableOr(name, ""); }

// All but the incarnation.
absl::StatusOr<AgentOptions> AgentOptionsOf(const v1::WorkerConfig& config, const TrialProgram& trial,
                                            const GpuInventory& inventory) {
  AgentOptions options;
  options.name = config.name();
  options.host = HostName();
  options.version = Version();
  options.slots = FindSlots(config, inventory, trial.has_cuda);
  options.memory_mib = MemoryForTrials(config);
  RETURN_IF_ERROR(AddMachines(config, OfEnvironment, options.slots, options.memory_mib));
  options.attempts.state_dir = config.state_dir();
  options.attempts.data_dir = config.data_dir();
  options.attempts.cache_dir = config.cache_dir();
  options.attempts.data_roots = {config.data_dir()};
  options.attempts.data_roots.insert(options.attempts.data_roots.end(), config.data_roots().begin(),
                                     config.data_roots().end());
  options.attempts.data_roots_file = config.data_roots_file();
  options.attempts.trial_environment.assign(config.trial_environment().begin(),
                                            config.trial_environment().end());
  options.attempts.trial_program = config.trial_program();
  options.attempts.programs.assign(config.programs().begin(), config.programs().end());
  options.attempts.program_roots.assign(config.program_roots().begin(), config.program_roots().end());
  if (!config.container_runtime().empty()) options.attempts.container = {config.container_runtime()};
  options.attempts.container.insert(options.attempts.container.end(), config.container_options().begin(),
                                    config.container_options().end());
  options.attempts.line_bytes_max = config.line_bytes_max();
  options.attempts.stop_grace = std::chrono::milliseconds(config.stop_grace_ms());
  options.client.hold = std::chrono::seconds(config.hold_seconds());
  options.client.address = config.coordinator();
  options.client.message_bytes_max = static_cast<int>(config.message_bytes_max());
  options.artifacts.artifacts = config.artifacts();
  options.artifacts.s3 = config.s3();
  options.artifacts.insecure = config.insecure();
  options.artifacts.cache_bytes_max = std::uint64_t{config.artifact_cache_mib_max()} << 20;
  ASSIGN_OR_RETURN(options.client.security, SecurityOf(config));
  return options;
}

// The job that this process runs in; it names a worker that has no name.
WorkerJob TakeJob(v1::WorkerConfig& config) {
  WorkerJob job = FindJob(config, OfEnvironment, MonotonicNow());
  // Several workers may share a node.
  if (!config.has_name() && !job.id.empty()) config.set_name(absl::StrCat(HostName(), ".", job.id));
  return job;
}

void DrainAt(Timestamp end, Agent& agent, boost::asio::steady_timer& timer) {
  timer.expires_at(std::chrono::steady_clock::time_point(end.since_start));
  timer.async_wait([&agent](const boost::system::error_code& error) {
    if (!error) agent.Drain("its job ends");
  });
}

absl::Status Run(const DaemonOptions& options) {
  const ServiceManager manager = ServiceManager::FromEnvironment();
  v1::WorkerConfig config;
  RETURN_IF_ERROR(LoadConfig(options.config_file, options.overrides, config));
  RETURN_IF_ERROR(SetLogFormat(config.log_format()));
  const WorkerJob job = TakeJob(config);
  RETURN_IF_ERROR(ResolveWorkerConfig(config));
  spdlog::info("config {}", DescribeConfig(config));
  RETURN_IF_ERROR(PrepareStateFolder(config));
  ASSIGN_OR_RETURN(const TrialProgram trial,
                   CheckTrialProgram(config.trial_program(),
                                     {config.trial_environment().begin(), config.trial_environment().end()}));
  if (!std::filesystem::is_directory(config.data_dir())) {
    spdlog::warn(
        "data_dir_missing folder={} reason=\"trials on corpora by name will fail; get-corpora fetches them, "
        "or set "
        "data_dir\"",
        config.data_dir());
  }
  RaiseOpenFileLimit();

  const std::string incarnation = RandomUuid();
  ASSIGN_OR_RETURN(const std::unique_ptr<Outbox> outbox,
                   Outbox::Open(config.state_dir(), incarnation, config.outbox_events_max()));
  WorkerMetrics metrics;
  absl::Status ended;
  boost::asio::io_context io(1);
  HttpServer http(io);
  const GpuInventory inventory = FindGpus(EnvironmentVariable("CUDA_VISIBLE_DEVICES"));
  ASSIGN_OR_RETURN(AgentOptions agent_options, AgentOptionsOf(config, trial, inventory));
  agent_options.incarnation = incarnation;
  agent_options.job = job;
  if (!job.id.empty()) agent_options.attempts.killed_wait = kKilledWait;
  Agent agent(io, std::move(agent_options), *outbox, metrics, [&](const absl::Status& status) {
    ended = status;
    io.stop();
  });
  metrics.registry.OnScrape([&agent](MetricsRegistry&) { agent.UpdateMetrics(); });
  http.Get("/metrics", [&metrics] {
    return HttpResponse{.content_type = kMetricsContentType, .body = metrics.registry.Expose()};
  });
  http.Get("/healthz", [] { return HttpResponse{.body = "ok\n"}; });
  RETURN_IF_ERROR(http.Start(config.http_listen(), "http_listen"));
  boost::asio::steady_timer job_end(io);
  if (job.ends) DrainAt(*job.ends, agent, job_end);
  StopSignals signals(io, [&agent, &job, &manager](const std::string& name, int count) {
    manager.Stopping();
    // A job of an engine gets several SIGTERMs and then SIGKILL: until that it has time to write checkpoints.
    if (count == 1 || (name == "SIGTERM" && !job.id.empty())) return agent.Drain(name);
    agent.Abort(absl::StrCat("a second ", name));
  });
  LogStarted({{"incarnation", incarnation},
              {"name", config.name()},
              {"coordinator", config.coordinator()},
              {"http", http.address()},
              {"trial", trial.version_text}});
  agent.Start();
  const DeviceMonitor monitor(  // Of all GPUs, also where no slot is on one.
      inventory.gpus, [&agent](const DeviceReadings& readings) { agent.ShowDevices(readings); }, {});
  const Watchdog watchdog(io, manager, [&manager] { manager.Alive(); });
  manager.Ready();
  io.run();
  if (outbox->size() == 0) {
    if (const absl::Status removed = outbox->Remove(); !removed.ok())
      spdlog::warn("outbox_kept reason={}", LogText(removed.message()));
  }
  LogStopped(ended.ok() ? "drained" : std::string(ended.message()),
             {{"undelivered_events", std::to_string(outbox->size())}});
  return ended;
}

int Main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == kDescribeMachine) return DescribeMachine(argv[2]);
  if (argc >= 3 && std::string(argv[1]) == kRunProgram) return RunProgram({argv + 2, argv + argc});
  if (argc >= 3 && std::string(argv[1]) == kTestProgram) return TestProgram({argv + 2, argv + argc});
  if (argc == 3 && std::string(argv[1]) == kProgramDigest) return PrintProgramDigest(argv[2]);
  const absl::StatusOr<DaemonOptions> options = ParseDaemonOptions(argc, argv);
  if (!options.ok()) return ReportFatal(kProgram, options.status());
  switch (options->action) {
    case DaemonOptions::Action::kHelp:
      std::fputs(DaemonHelp(kProgram, "Runs trials on this machine for a coordinator.").c_str(), stdout);
      return kExitOk;
    case DaemonOptions::Action::kVersion:
      std::printf("%s %s\n", kProgram, BuildId().c_str());
      return kExitOk;
    case DaemonOptions::Action::kMetricsReference:
      std::fputs(MetricsReference(kProgram, WorkerMetricsTable()).c_str(), stdout);
      return kExitOk;
    case DaemonOptions::Action::kRun:
      break;
  }
  InitLog(kProgram, options->log_level);
  const absl::Status status = Run(*options);
  return status.ok() ? kExitOk : ReportFatal(kProgram, status);
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) { return inlier::Main(argc, argv); }
