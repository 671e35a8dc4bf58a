#include "coordinator/process/coordinator.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/files/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/uuid.h"
#include "base/version.h"
#include "coordinator/artifacts/artifact_store.h"
#include "coordinator/decisions/orchestrator.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/queries/query_processes.h"
#include "coordinator/services/access.h"
#include "coordinator/services/artifact_service.h"
#include "coordinator/services/call_stream.h"
#include "coordinator/services/calls.h"
#include "coordinator/services/coordinator_loop.h"
#include "coordinator/services/door.h"
#include "coordinator/services/sweep_service.h"
#include "coordinator/services/watch_hub.h"
#include "coordinator/services/worker_service.h"
#include "coordinator/status/explain.h"
#include "coordinator/status/status.h"
#include "coordinator/store/committer.h"
#include "coordinator/store/database.h"
#include "coordinator/store/reader.h"
#include "coordinator/store/store.h"
#include "coordinator/web/api.h"
#include "coordinator/web/page.h"
#include "fleet/config_check.h"
#include "fleet/service.h"
#include "fleet/slurm.h"
#include "notify/hook_check.h"
#include "notify/notify_service.h"
#include "rpc/endpoint_file.h"
#include "rpc/http/http_server.h"
#include "rpc/port_watch.h"
#include "rpc/rpc.h"
#include "rpc/server_tls.h"
#include "s3/bucket_note.h"
#include "s3/client.h"

namespace inlier {
namespace {

// Open calls may end within this time when the coordinator stops; then streams of workers and watchers are
// cut.
constexpr std::chrono::milliseconds kCallsEnd{300};
// A session may be silent for so long, or for four leases where that is longer.
constexpr Duration kSessionSilence = std::chrono::seconds(60);
// Calls that wait too long are sought so often.
constexpr Duration kExpirePeriod = std::chrono::seconds(1);

}  // namespace

struct StorageParts {
  std::unique_ptr<Database> database;
  std::unique_ptr<Store> store;
  std::unique_ptr<Committer> committer;
  std::unique_ptr<Reader> reader;
  std::unique_ptr<SweepResults> results;
  std::unique_ptr<QueryProcesses> queries;
  std::unique_ptr<ArtifactStore> artifacts;
  std::unique_ptr<S3Client> bucket;  // Null: artifacts are in the folder.
};

struct ServiceParts {
  std::unique_ptr<WatchHub> watches;
  std::unique_ptr<ArtifactService> artifacts;
  std::unique_ptr<Door> door;
};

// HTTP has a thread of its own: reading requests and sending files delays no decision.
struct WebParts {
  boost::asio::io_context io{1};
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<Api> api;
  SharedAnswer scrapes;
  std::thread thread;
};

// In the order of construction: each part uses those above it.
struct Coordinator::Parts {
  Parts(const v1::CoordinatorConfig& config, std::function<void(absl::Status)> on_fatal)
      : config(config),
        fail([this, on_fatal = std::move(on_fatal)](const absl::Status& status) {
          if (!failed.exchange(true)) on_fatal(status);
        }),
        work(io.get_executor()),
        metrics(config.metrics_sweeps_max()) {}

  absl::Status OpenStore(std::optional<FileLock> lock, bool new_database);
  void OpenNotify();
  absl::Status OpenFleet(Mode mode);
  absl::Status CheckConfig();
  absl::Status OpenPorts();
  void AddRoutes();
  absl::Status OpenHttp();
  void Stop();
  void FlushWhileHealthy();
  // Ends calls that wait too long, now and every kExpirePeriod.
  void ExpireCalls();
  // Answers every call that waits for a commit. On the coordinator's thread.
  void Abandon() {
    loop->Abandon(
        absl::UnavailableError("the coordinator is stopping, and its database could not store this"));
  }

  const v1::CoordinatorConfig config;
  std::atomic<bool> failed{false};
  const std::function<void(absl::Status)> fail;  // Calls on_fatal once.
  WebParts web;
  boost::asio::io_context io{1};
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work;
  boost::asio::steady_timer expire_timer{io};
  CoordinatorMetrics metrics;
  StorageParts disk;
  std::unique_ptr<Orchestrator> orchestrator;
  Effects recovered;
  std::unique_ptr<Access> access;
  std::unique_ptr<CoordinatorLoop> loop;
  std::unique_ptr<CallBounds> bounds;
  std::unique_ptr<Calls> calls;
  ServiceParts services;
  ListeningServer grpc;
  std::optional<PortWatch> port_watch;
  std::unique_ptr<NotifyService> notify;  // Null: the folder is only shown.
  std::unique_ptr<FleetService> fleet;
  std::thread thread;
};

absl::Status Coordinator::Parts::OpenStore(std::optional<FileLock> lock, bool new_database) {
  if (!lock) {
    RETURN_IF_ERROR(MakeWritableFolder(config.state_dir()));
    ASSIGN_OR_RETURN(FileLock taken, LockStateFolder(config.state_dir()));
    lock.emplace(std::move(taken));
  }
  RETURN_IF_ERROR(RemoveEndpointFile(config.state_dir()));  // A leftover of a kill, or of a copied folder.
  ASSIGN_OR_RETURN(disk.database,
                   Database::Open(config.state_dir(), BuiltinMigrations(), std::move(lock), new_database));
  access->Serve(disk.database->id());
  disk.store = std::make_unique<Store>(*disk.database);
  ASSIGN_OR_RETURN(Snapshot snapshot, disk.store->Load());
  OrchestratorOptions decisions = OrchestratorOptions::FromConfig(config, Version());
  decisions.database_id = disk.database->id();
  orchestrator = std::make_unique<Orchestrator>(std::move(decisions));
  RETURN_IF_ERROR(orchestrator->Recover(std::move(snapshot), CoordinatorLoop::Now(), recovered));
  CommitterOptions options = CommitterOptions::FromConfig(config);
  options.on_commit = [this](const CommitStats& stats) { metrics.ObserveCommit(stats); };
  options.on_wait = [this](const absl::Status& reason) { loop->OnStoreWaits(reason, *disk.store); };
  disk.committer = std::make_unique<Committer>(*disk.store, std::move(options), fail);
  disk.reader =
      std::make_unique<Reader>(disk.database->path(), Calls::kReads.threads + Calls::kTables.threads);
  disk.results = std::make_unique<SweepResults>(disk.database->path());
  disk.queries = std::make_unique<QueryProcesses>(config.query_program(), disk.database->path());
  ASSIGN_OR_RETURN(disk.artifacts, ArtifactStore::Open(config.state_dir()));
  if (!config.has_s3()) return NoteBucket(config.state_dir(), "");
  ASSIGN_OR_RETURN(disk.bucket, S3Client::Make(config.s3(), config.insecure()));
  return NoteBucket(config.state_dir(), disk.bucket->location().Describe());
}

void Coordinator::Parts::OpenNotify() {
  Notifier::Ports ports;
  ports.unplaceable = [this] {
    std::map<SweepId, TrialId> sweeps;
    loop->Run([&] { sweeps = UnplaceableSweeps(orchestrator->state()); });
    return sweeps;
  };
  ports.explain = [this](const v1::ExplainRequest& request) {
    absl::StatusOr<v1::Explanation> why;
    loop->Run([&] { why = Explain(orchestrator->state(), request, CoordinatorLoop::Now()); });
    return why;
  };
  notify = std::make_unique<NotifyService>(
      config, boost::asio::ip::host_name(), disk.database->path(), *disk.committer, std::move(ports),
      [this](const std::string& hook, std::optional<TryOutcome::Kind> tried, std::uint64_t waiting) {
        metrics.ObserveDelivery(hook, tried, waiting);
      });
}

absl::Status Coordinator::Parts::OpenFleet(Mode mode) {
  FleetPorts ports;
  ports.drain = [this](const JobDrain& drain) { return loop->DrainJobs(drain); };
  ports.store = [this](const std::vector<FleetChange>& changes, std::function<void(absl::Status)> done) {
    disk.committer->Submit(BatchOf(changes), [this, done = std::move(done)](const absl::Status& status) {
      if (!status.ok() && !absl::IsUnavailable(status)) fail(status);
      done(status);
    });
  };
  ports.observe = [this](const Fleet& of) { metrics.ObserveFleet(of); };
  FleetOptions options;
  if (config.has_fleet()) options.config = config.fleet();
  if (mode == Mode::kRun) options.new_id = RandomUuid().substr(0, 8);
  ASSIGN_OR_RETURN(StoredFleet stored, LoadFleet(*disk.reader, config.state_dir(), disk.database->id()));
  ASSIGN_OR_RETURN(fleet,
                   FleetService::Make(std::move(options), std::move(stored),
                                      std::make_unique<Slurm>(std::filesystem::absolute(config.state_dir())),
                                      std::move(ports)));
  return absl::OkStatus();
}

absl::Status Coordinator::Parts::CheckConfig() {
  RETURN_IF_ERROR(CheckHooks(config));
  if (config.has_fleet()) RETURN_IF_ERROR(CheckFleetConfig(config.fleet()));
  if (config.has_s3()) RETURN_IF_ERROR(S3Client::Make(config.s3(), config.insecure()).status());
  ASSIGN_OR_RETURN(access, Access::Open(config, metrics));
  return access->CheckPorts(config);
}

absl::Status Coordinator::Parts::OpenPorts() {
  loop = std::make_unique<CoordinatorLoop>(io, *orchestrator, *disk.committer, metrics, fail);
  bounds = std::make_unique<CallBounds>(
      *access, metrics,
      std::max<Duration>(kSessionSilence, 4 * std::chrono::milliseconds(config.lease_ttl_ms())));
  calls = std::make_unique<Calls>(*loop, *bounds);
  services.watches = std::make_unique<WatchHub>(io, *calls, *disk.reader);
  v1::S3Config described = config.s3();
  described.clear_credentials_file();  // Paths of this machine.
  described.clear_tls_ca();
  services.artifacts =
      std::make_unique<ArtifactService>(*calls, metrics, *disk.artifacts, disk.bucket.get(),
                                        std::move(described), *disk.reader, config.state_dir());
  services.door = std::make_unique<Door>(*calls);
  AddSweepService(*services.door, *calls, *services.watches, *disk.reader, *disk.queries, *fleet);
  AddWorkerService(*services.door, *calls);
  services.artifacts->AddTo(*services.door);
  RETURN_IF_ERROR(OpenHttp());
  // Calls that arrive from here on wait in the io_context until the thread runs.
  ASSIGN_OR_RETURN(grpc, StartServer(config.listen(), "listen", {},
                                     {.tls = ServerTls::Of(config),
                                      .request_bytes_max = static_cast<int>(config.message_bytes_max()),
                                      .door = services.door.get()}));
  port_watch.emplace(grpc.address, !config.tls_certificate().empty());
  if (web.api != nullptr) web.api->UseServer(*grpc.server);
  v1::Endpoint endpoint;
  endpoint.set_grpc(grpc.address);
  endpoint.set_http(web.http->address());
  endpoint.set_version(Version());
  endpoint.set_pid(getpid());
  endpoint.set_database_id(disk.database->id());
  endpoint.set_lock_inode(InodeOf(StateLockPath(config.state_dir())));
  return WriteEndpointFile(config.state_dir(), endpoint);
}

absl::Status Coordinator::Parts::OpenHttp() {
  if (config.http_tls() && config.tls_certificate().empty())
    return absl::InvalidArgumentError(
        "http_tls: there is no certificate; set tls_certificate and tls_key, too");
  web.http = std::make_unique<HttpServer>(web.io);
  AddRoutes();
  if (config.page()) {
    web.api = std::make_unique<Api>(config, *access, bounds->bytes);
    AddPage(*web.http, *web.api, *access, config);
  }
  return web.http->Start(config.http_listen(), "http_listen",
                         config.http_tls() ? ServerTls::Of(config) : ServerTls());
}

// The routes run on the coordinator's thread, so an answer also shows that this thread is alive.
void Coordinator::Parts::AddRoutes() {
  const auto get = [this](const char* path, std::function<HttpResponse()> answer) {
    web.http->GetLater(path, [this, answer = std::move(answer)](std::shared_ptr<HttpCall> call) {
      loop->Post([answer, call = std::move(call)] { call->Reply(answer()); });
    });
  };
  web.http->GetLater("/metrics", [this](std::shared_ptr<HttpCall> call) {
    if (!web.scrapes.Add(std::move(call))) return;
    loop->Post([this] {
      metrics.Update(*orchestrator, disk.committer->Health(), *disk.results);
      web.scrapes.Reply({.content_type = kMetricsContentType, .body = metrics.registry().Expose()});
    });
  });
  get("/healthz", [this] {
    if (port_watch->answers()) return HttpResponse{.body = "ok\n"};
    return HttpResponse{.status = 503, .body = "the gRPC port does not answer; see the coordinator's log\n"};
  });
  get("/readyz", [this] {  // While submissions are accepted.
    const absl::Status status = disk.committer->Health().status;
    if (status.ok()) return HttpResponse{.body = "ready\n"};
    // The reason names paths, which belong only into the log.
    return HttpResponse{.status = 503,
                        .body = "the database cannot store anything now; see the coordinator's log\n"};
  });
}

void Coordinator::Parts::ExpireCalls() {
  bounds->Expire(MonotonicNow());
  expire_timer.expires_after(kExpirePeriod);
  expire_timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) ExpireCalls();
  });
}

// Waits until everything decided is durable and has its callbacks, unless the disk is full.
void Coordinator::Parts::FlushWhileHealthy() {
  CommitterHealth health = disk.committer->Health();
  for (; health.status.ok() && health.queued_batches > 0; health = disk.committer->Health())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (health.status.ok()) disk.committer->Flush();
}

void Coordinator::Parts::Stop() {
  if (disk.database != nullptr) {  // It has the folder's lock.
    const absl::Status removed = RemoveEndpointFile(config.state_dir());
    if (!removed.ok())
      spdlog::warn("endpoint_file_not_removed reason=\"{}\"", std::string(removed.message()));
  }
  if (loop == nullptr) return;
  // A start that failed after the ports were bound has no thread yet, but may have calls.
  if (!thread.joinable()) thread = std::thread([this] { io.run(); });
  if (notify != nullptr) notify->Stop();
  if (fleet != nullptr) fleet->Stop();
  loop->Run([this] {
    loop->Stop();
    expire_timer.cancel();
    services.watches->Stop();
    if (web.http != nullptr) boost::asio::post(web.io, [this] { web.http->Stop(); });
    if (!disk.committer->Health().status.ok()) Abandon();
  });
  // Users' reads may take long: nothing waits for them.
  bounds->Stop();
  disk.queries->Stop();
  disk.reader->Stop();
  if (disk.bucket != nullptr) disk.bucket->Stop();
  if (port_watch) port_watch->Stop();
  grpc.Shutdown(std::chrono::system_clock::now() + kCallsEnd);
  if (web.api != nullptr) web.api->Join();  // Its calls end with the server.
  web.io.stop();
  if (web.thread.joinable()) web.thread.join();
  services.artifacts->Join();
  calls->Join();
  FlushWhileHealthy();
  // Runs after everything that the last commits and calls posted.
  loop->Run([this] { Abandon(); });
  work.reset();
  io.stop();
  thread.join();
  grpc.server.reset();
  disk.committer.reset();  // Its callbacks post to the loop.
  loop.reset();
}

Coordinator::Coordinator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Coordinator::~Coordinator() { Stop(); }

absl::Status Coordinator::Check(const v1::CoordinatorConfig& config) {
  Parts parts(config, [](const absl::Status&) {});
  RETURN_IF_ERROR(parts.CheckConfig());
  return MakeServerCredentials(ServerTls::Of(config)).status();
}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const v1::CoordinatorConfig& config,
                                                                std::function<void(absl::Status)> on_fatal,
                                                                Mode mode, std::optional<FileLock> lock,
                                                                bool new_database) {
  auto parts = std::make_unique<Parts>(config, std::move(on_fatal));
  std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(parts)));
  Parts& made = *coordinator->parts_;
  RETURN_IF_ERROR(made.CheckConfig());
  RETURN_IF_ERROR(made.OpenStore(std::move(lock), new_database));
  if (mode == Mode::kRun) made.OpenNotify();
  RETURN_IF_ERROR(made.OpenFleet(mode));
  RETURN_IF_ERROR(made.OpenPorts());
  made.loop->Post([&made, mode] {
    // Without a start the loop has no timer and offers no work.
    mode == Mode::kRun ? made.loop->Start(std::move(made.recovered))
                       : made.loop->Commit(std::move(made.recovered));
    made.ExpireCalls();
  });
  made.thread = std::thread([&made] { made.io.run(); });
  made.web.thread = std::thread([&made] {
    const auto open = boost::asio::make_work_guard(made.web.io);
    made.web.io.run();
  });
  if (made.notify != nullptr) made.notify->Start();
  if (mode == Mode::kRun) made.fleet->Start();
  made.services.artifacts->CheckBucket();
  return coordinator;
}

void Coordinator::Stop() { parts_->Stop(); }

void Coordinator::Post(std::function<void()> call) { parts_->loop->Post(std::move(call)); }

bool Coordinator::Serves() const { return parts_->port_watch->answers(); }

const std::string& Coordinator::grpc_address() const { return parts_->grpc.address; }
const std::string& Coordinator::http_address() const { return parts_->web.http->address(); }

}  // namespace inlier
