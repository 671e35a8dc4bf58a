#include "coordinator/coordinator.h"

#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/memory.h"
#include "base/service/endpoint_file.h"
#include "base/service/http_server.h"
#include "base/service/rpc.h"
#include "base/status.h"
#include "base/version.h"
#include "coordinator/artifacts/artifact_store.h"
#include "coordinator/metrics.h"
#include "coordinator/orchestration/orchestrator.h"
#include "coordinator/services/access.h"
#include "coordinator/services/artifact_service.h"
#include "coordinator/services/calls.h"
#include "coordinator/services/cooler.h"
#include "coordinator/services/http_api.h"
#include "coordinator/services/shell.h"
#include "coordinator/services/sweep_service.h"
#include "coordinator/services/watch_hub.h"
#include "coordinator/services/worker_service.h"
#include "coordinator/store/committer.h"
#include "coordinator/store/database.h"
#include "coordinator/store/reader.h"
#include "coordinator/store/store.h"

namespace inlier {
namespace {

// How long open calls may go on when the coordinator stops; streams of workers and watchers are cut then.
constexpr std::chrono::milliseconds kCallsEnd{300};
// By then the workers are back, and nobody waits for the start.
constexpr std::chrono::seconds kStartIsOver{10};

}  // namespace

// In the order of construction: what stands later uses what stands before.
struct Coordinator::Parts {
  Parts(const v1::CoordinatorConfig& config, std::function<void(absl::Status)> on_fatal)
      : config(config), on_fatal(std::move(on_fatal)), work(io.get_executor()) {}

  absl::Status OpenStore();
  absl::Status OpenAccess();
  absl::Status OpenPorts();
  void ReturnMemoryLater();
  void Stop();
  void FlushWhileHealthy();
  void Fatal(const absl::Status& status) {
    if (!fatal.exchange(true)) on_fatal(status);
  }
  // Runs `call` on the io_context's thread, having the turn, and waits for it.
  template <typename Call>
  void OnThread(Call call) {
    std::promise<void> done;
    shell->Post([&] {
      call();
      done.set_value();
    });
    done.get_future().wait();
  }

  const v1::CoordinatorConfig config;
  const std::function<void(absl::Status)> on_fatal;
  std::atomic<bool> fatal{false};
  boost::asio::io_context io{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
  CoordinatorMetrics metrics;
  std::unique_ptr<Database> database;
  std::unique_ptr<Store> store;
  std::unique_ptr<Orchestrator> orchestrator;
  Effects recovered;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<ArtifactStore> artifacts;
  std::unique_ptr<Access> access;
  std::unique_ptr<Shell> shell;
  std::unique_ptr<Calls> calls;
  std::unique_ptr<WatchHub> watches;
  std::unique_ptr<SweepService> sweep_service;
  std::unique_ptr<WorkerService> worker_service;
  std::unique_ptr<ArtifactService> artifact_service;
  std::unique_ptr<Cooler> cooler;
  std::unique_ptr<HttpServer> http;
  ListeningServer grpc;
  std::string http_address;
  std::optional<boost::asio::steady_timer> after_start;
  std::thread thread;
  bool endpoint_written = false;
};

absl::Status Coordinator::Parts::OpenStore() {
  ASSIGN_OR_RETURN(database, Database::Open(config.state_dir()));
  store = std::make_unique<Store>(*database);
  ASSIGN_OR_RETURN(Snapshot snapshot, store->Load());
  orchestrator = std::make_unique<Orchestrator>(OrchestratorOptions::FromConfig(config, Version()));
  if (const absl::Status cold = orchestrator->UseScratchFile(config.state_dir()); !cold.ok())
    spdlog::warn("cold_memory_off reason={}", LogText(cold.message()));
  RETURN_IF_ERROR(orchestrator->Recover(std::move(snapshot), Shell::Now(), recovered));
  CommitterOptions options = CommitterOptions::FromConfig(config);
  options.on_commit = [this](const CommitStats& stats) { metrics.ObserveCommit(stats); };
  committer =
      std::make_unique<Committer>(*store, std::move(options), [this](absl::Status status) { Fatal(status); });
  reader = std::make_unique<Reader>(database->path(), Calls::kBlockingThreads);
  ASSIGN_OR_RETURN(artifacts, ArtifactStore::Open(config.state_dir()));
  return absl::OkStatus();
}

// Before anything is bound: who may call, and where it is safe to listen.
absl::Status Coordinator::Parts::OpenAccess() {
  ASSIGN_OR_RETURN(access, Access::Open(config, metrics));
  const Protection protection = access->protection();
  RETURN_IF_ERROR(CheckExposure(config.listen(), "listen", protection));
  RETURN_IF_ERROR(CheckExposure(config.http_listen(), "http_listen", protection));
  if (protection.insecure)
    spdlog::warn("insecure reason=\"whoever reaches the ports may do everything that is not protected\"");
  spdlog::info("access protection=\"{}\"", access->Describe());
  return absl::OkStatus();
}

absl::Status Coordinator::Parts::OpenPorts() {
  shell = std::make_unique<Shell>(io, *orchestrator, *committer, metrics,
                                  [this](absl::Status status) { Fatal(status); });
  calls = std::make_unique<Calls>(*shell, metrics, *access);
  watches = std::make_unique<WatchHub>(io, *calls, *reader);
  sweep_service = std::make_unique<SweepService>(*calls, *watches, *reader);
  worker_service = std::make_unique<WorkerService>(*calls);
  artifact_service =
      std::make_unique<ArtifactService>(*calls, metrics, *artifacts, *reader, config.state_dir());
  cooler = std::make_unique<Cooler>(io, *calls, *orchestrator);
  http = std::make_unique<HttpServer>(io);
  AddHttpApi(*http, *shell, metrics);
  RETURN_IF_ERROR(http->Start(config.http_listen(), "http_listen"));
  http_address = http->address();
  // Calls that arrive from here on wait in the io_context until the thread runs.
  ASSIGN_OR_RETURN(grpc, StartServer(config.listen(), "listen",
                                     {sweep_service.get(), worker_service.get(), artifact_service.get()},
                                     {.certificate = config.tls_certificate(),
                                      .key = config.tls_key(),
                                      .client_ca = config.tls_client_ca()},
                                     static_cast<int>(config.message_bytes_max())));
  v1::Endpoint endpoint;
  endpoint.set_grpc(grpc.address);
  endpoint.set_http(http_address);
  endpoint.set_version(Version());
  endpoint.set_pid(getpid());
  RETURN_IF_ERROR(WriteEndpointFile(config.state_dir(), endpoint));
  endpoint_written = true;
  return absl::OkStatus();
}

// What only the start needed is as much again as what stays of a large state.
void Coordinator::Parts::ReturnMemoryLater() {
  after_start.emplace(io, kStartIsOver);
  after_start->async_wait([this](const boost::system::error_code& error) {
    if (!error) calls->RunBlocking([] { ReturnFreeMemory(); }, [](absl::Status) {});
  });
}

// Waits until everything decided is durable; not while the disk is full, when it might never be.
void Coordinator::Parts::FlushWhileHealthy() {
  for (CommitterHealth health = committer->Health(); health.status.ok() && health.queued_batches > 0;
       health = committer->Health()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Coordinator::Parts::Stop() {
  if (endpoint_written) {
    const absl::Status removed = RemoveEndpointFile(config.state_dir(), getpid());
    if (!removed.ok())
      spdlog::warn("endpoint_file_not_removed reason=\"{}\"", std::string(removed.message()));
    endpoint_written = false;
  }
  if (shell == nullptr) return;
  // A start that failed half-way has no thread yet, but may have calls.
  if (!thread.joinable()) thread = std::thread([this] { io.run(); });
  OnThread([this] {
    shell->Stop();
    if (after_start) after_start->cancel();
    cooler->Stop();
    watches->Stop();
    http->Stop();
    if (const absl::Status health = committer->Health().status; !health.ok()) {
      shell->Abandon(
          absl::UnavailableError("the coordinator is stopping, and its database could not take this"));
    }
  });
  if (grpc.server) grpc.server->Shutdown(std::chrono::system_clock::now() + kCallsEnd);
  if (artifact_service) artifact_service->Join();
  calls->Join();
  FlushWhileHealthy();
  // What the last commits and calls posted runs before the thread ends.
  OnThread([] {});
  work.reset();
  io.stop();
  thread.join();
  grpc.server.reset();
  committer.reset();  // Its callbacks post to the shell.
  shell.reset();
}

Coordinator::Coordinator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Coordinator::~Coordinator() { Stop(); }

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const v1::CoordinatorConfig& config,
                                                                std::function<void(absl::Status)> on_fatal) {
  auto parts = std::make_unique<Parts>(config, std::move(on_fatal));
  std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(parts)));
  Parts& made = *coordinator->parts_;
  RETURN_IF_ERROR(made.OpenAccess());
  RETURN_IF_ERROR(made.OpenStore());
  RETURN_IF_ERROR(made.OpenPorts());
  made.shell->Post([&made] {
    made.shell->Start(std::move(made.recovered));
    made.cooler->Start();
  });
  made.ReturnMemoryLater();
  made.thread = std::thread([&made] { made.io.run(); });
  return coordinator;
}

void Coordinator::Stop() { parts_->Stop(); }

const std::string& Coordinator::grpc_address() const { return parts_->grpc.address; }
const std::string& Coordinator::http_address() const { return parts_->http_address; }

}  // namespace inlier
