// Real workers with a state folder each and a real coordinator, all as processes: models go from the worker
// that trained over the coordinator to those that evaluate, once, while processes are killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <fstream>
#include <map>

#include "base/digest.h"
#include "base/files/file.h"
#include "base/files/part_file.h"
#include "base/time.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "rpc/endpoint_file.h"
#include "rpc/rpc.h"
#include "tests/coordinator/harness.h"
#include "tests/support/plain_channel.h"
#include "tests/support/temporary_folder.h"
#include "tests/worker/holding_proxy.h"
#include "tests/worker/program.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kModelBytes = 12 << 20;

bool WaitFor(const std::function<bool()>& ready) {
  const Timestamp deadline = MonotonicNow() + std::chrono::minutes(2);
  while (!ready()) {
    if (MonotonicNow() > deadline) return false;
    ::usleep(5000);
  }
  return true;
}

class ArtifactStreamingTest : public testing::Test {
 protected:
  void StartCoordinator(int lease_ttl_ms = 15000) {
    coordinator_ = std::make_unique<Program>(
        INLIER_COORDINATOR_PROGRAM,
        std::vector<std::string>{"state_dir=" + Coordinator().string(), "listen=127.0.0.1:0",
                                 "http_listen=127.0.0.1:0", "lease_ttl_ms=" + std::to_string(lease_ttl_ms),
                                 "lease_margin_ms=100"},
        folder_ / "coordinator.log");
    ASSERT_TRUE(WaitFor([this] {
      const absl::StatusOr<v1::Endpoint> endpoint = ReadEndpointFile(Coordinator());
      if (!endpoint.ok() || endpoint->pid() == endpoint_.pid()) return false;
      endpoint_ = *endpoint;
      port_ = ParseAddress(endpoint_.grpc(), "listen")->port;
      return true;
    })) << coordinator_->log();
    sweeps_ = v1::SweepService::NewStub(PlainChannel(endpoint_.grpc()));
  }

  // A worker with the state folder `name`.
  std::unique_ptr<Program> StartWorker(const std::string& name, const std::string& address, int slots,
                                       const std::string& behaviour = "",
                                       const std::vector<std::string>& more = {},
                                       const Environment& environment = {}) {
    fs::create_directories(folder_ / (name + ".data"));
    std::ofstream(folder_ / (name + ".data") / "fake_trial.behaviour") << behaviour;
    Environment all = environment;
    all.emplace("FAKE_MODEL_BYTES", std::to_string(kModelBytes));
    return std::make_unique<Program>(
        INLIER_WORKER_PROGRAM,
        std::vector<std::string>{"coordinator=" + address, "state_dir=" + (folder_ / name).string(),
                                 "data_dir=" + (folder_ / (name + ".data")).string(),
                                 "trial_program=" INLIER_FAKE_TRIAL, "http_listen=127.0.0.1:0",
                                 "trial_environment=FAKE_*", "slots=" + std::to_string(slots),
                                 "name=" + name},
        folder_ / (name + ".log"), more, all);
  }

  std::string Submit(const v1::SweepSpec& sweep) {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = sweep;
    v1::SubmitSweepResponse response;
    grpc::ClientContext context;
    const grpc::Status status = sweeps_->SubmitSweep(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.sweep_id();
  }

  // The first cells of one SELECT's rows; empty while the coordinator does not answer.
  std::vector<std::string> Sql(const std::string& sql) {
    v1::QueryRequest request;
    request.set_sql(sql);
    v1::QueryResponse response;
    grpc::ClientContext context;
    if (!sweeps_->Query(&context, request, &response).ok()) return {};
    std::vector<std::string> rows;
    for (const v1::QueryRow& row : response.rows()) {
      const v1::QueryValue& value = row.values(0);
      rows.push_back(value.has_text() ? value.text() : std::to_string(value.integer()));
    }
    return rows;
  }
  bool WaitForSql(const std::string& sql, const std::string& row) {
    return WaitFor([&] { return Sql(sql) == std::vector<std::string>{row}; });
  }
  bool WaitForSuccess(int trials) {
    return WaitForSql("SELECT count(*) FROM trials WHERE state = 'SUCCEEDED'", std::to_string(trials));
  }

  // The value of `line` in the /metrics of `http`.
  static double Metric(const std::string& http, const std::string& line) {
    const auto address = ParseAddress(http, "http");
    boost::asio::io_context io;
    boost::asio::ip::tcp::socket socket(io);
    boost::system::error_code error;
    socket.connect({boost::asio::ip::make_address(address->host), address->port}, error);
    const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    boost::asio::write(socket, boost::asio::buffer(request), error);
    std::string text;
    boost::asio::read(socket, boost::asio::dynamic_buffer(text), error);
    const std::size_t at = text.find("\n" + line + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size() + 2));
  }
  double Received() {
    return Metric(endpoint_.http(), "inlier_artifact_bytes_total{direction=\"RECEIVED\"}");
  }
  double Sent() { return Metric(endpoint_.http(), "inlier_artifact_bytes_total{direction=\"SENT\"}"); }
  static std::string HttpOf(const Program& program) {
    const std::string log = program.log();
    const std::size_t at = log.find(" http=");
    return log.substr(at + 6, log.find_first_of(" \n", at + 6) - at - 6);
  }
  static double Count(const std::string& text, const std::string& what) {
    double count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }

  // One bit, as a disk would; size and time of the content stay.
  static void Damage(const fs::path& file) {
    const auto written = fs::last_write_time(file);
    std::fstream content(file, std::ios::in | std::ios::out | std::ios::binary);
    content.seekg(1000);
    const char byte = static_cast<char>(content.get() ^ 1);
    content.seekp(1000);
    content.put(byte);
    content.close();
    fs::last_write_time(file, written);
  }
  fs::path Coordinator() { return folder_ / "coordinator"; }
  // Files of the coordinator's artifacts/ that end with `suffix`.
  std::vector<fs::path> Artifacts(const std::string& suffix) {
    std::vector<fs::path> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(Coordinator() / "artifacts", error)) {
      if (entry.path().extension() == suffix) found.push_back(entry.path());
    }
    return found;
  }
  // Bytes of the one upload that is in the middle.
  std::uint64_t PartBytes() {
    const std::vector<fs::path> parts = Artifacts(".part");
    std::error_code error;
    return parts.size() == 1 ? fs::file_size(parts[0], error) : 0;
  }
  // Waits until the proxy holds back an upload of which all that it let pass has been written.
  bool WaitForHeldUpload(const HoldingProxy& proxy) {
    std::uint64_t last = 0;
    int same = 0;
    return WaitFor([&] {
      const std::uint64_t bytes = PartBytes();
      same = proxy.holds() && bytes > 0 && bytes == last ? same + 1 : 0;
      last = bytes;
      return same >= 40;
    });
  }

  TemporaryFolder folder_;
  v1::Endpoint endpoint_;
  std::atomic<int> port_ = 0;  // Read by the proxy.
  std::unique_ptr<Program> coordinator_;
  std::unique_ptr<v1::SweepService::Stub> sweeps_;
};

TEST_F(ArtifactStreamingTest, AModelIsEvaluatedOnAnotherWorkerAndMovedOnceToEach) {
  StartCoordinator();
  // The one that trains never finishes an evaluation.
  const auto trainer = StartWorker("trainer", endpoint_.grpc(), 1, "hang_evaluate");
  Submit(SmallSweep("streamed", 1, {8, 7, 6, 5}));
  ASSERT_TRUE(
      WaitForSql("SELECT count(*) FROM attempt JOIN stage ON stage.id = attempt.stage WHERE "
                 "kind = 'EVALUATE_STAGE'",
                 "1"))
      << trainer->log();
  const auto evaluator = StartWorker("evaluator", endpoint_.grpc(), 3);
  ASSERT_TRUE(WaitForSuccess(3)) << evaluator->log();
  trainer->Signal(SIGTERM);
  ASSERT_TRUE(WaitForSuccess(4)) << trainer->log() << evaluator->log();

  ASSERT_EQ(Artifacts(".safetensors").size(), 1u);
  const std::string name = Artifacts(".safetensors")[0].filename().string();
  EXPECT_EQ(*Sha256HexOfFile(Artifacts(".safetensors")[0]) + ".safetensors", name);
  EXPECT_EQ(*Sha256HexOfFile(folder_ / "evaluator/artifacts" / name) + ".safetensors", name);
  EXPECT_TRUE(Artifacts(".part").empty());
  EXPECT_EQ(Received(), kModelBytes);
  EXPECT_EQ(Sent(), kModelBytes);
  const std::string http = HttpOf(*evaluator);
  EXPECT_EQ(Metric(http, "inlier_worker_artifacts_total{direction=\"FETCHED\"}"), 1);
  EXPECT_EQ(Metric(http, "inlier_worker_artifacts_total{direction=\"SENT\"}"), 0);
  EXPECT_EQ(Metric(http, "inlier_worker_artifact_bytes_total{direction=\"FETCHED\"}"), kModelBytes);
  // Each evaluation was counted once, and none ran where the model was not.
  EXPECT_EQ(Sql("SELECT count(*) FROM attempt WHERE outcome = 'SUCCEEDED'"), std::vector<std::string>{"5"});
}

TEST_F(ArtifactStreamingTest, AFineTuningGetsTheModelThatItStartsFrom) {
  StartCoordinator();
  auto trainer = StartWorker("trainer", endpoint_.grpc(), 1);
  Submit(SmallSweep("first", 1));
  ASSERT_TRUE(WaitForSuccess(1)) << trainer->log();
  trainer.reset();
  v1::SweepSpec tuned = SmallSweep("tuned", 1);
  tuned.mutable_base()->mutable_training()->mutable_start_from()->set_trial("t-1");
  Submit(tuned);
  const auto tuner = StartWorker("tuner", endpoint_.grpc(), 1);
  ASSERT_TRUE(WaitForSuccess(2)) << tuner->log();
  const std::vector<std::string> model = Sql("SELECT start_checkpoint FROM results WHERE trial = 't-2'");
  ASSERT_EQ(model.size(), 1u);
  const fs::path fetched = folder_ / "tuner/artifacts" / (model[0] + ".safetensors");
  EXPECT_EQ(*Sha256HexOfFile(fetched), model[0]);
  std::string specs;  // Of its attempts.
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "tuner/attempts")) {
    if (entry.path().filename() == "spec.json") specs += *ReadFile(entry.path());
  }
  EXPECT_THAT(specs, testing::HasSubstr("\"checkpoint\": \"" + fetched.string()));
}

TEST_F(ArtifactStreamingTest, WorkersInTheCoordinatorsFolderMoveNothing) {
  StartCoordinator();
  fs::create_directory_symlink(Coordinator(), folder_ / "same");
  const auto worker = StartWorker("same", endpoint_.grpc(), 1);
  Submit(SmallSweep("shared", 1, {8, 7}));
  ASSERT_TRUE(WaitForSuccess(2)) << worker->log();
  EXPECT_THAT(worker->log(), testing::HasSubstr("artifacts mode=SHARED_FOLDER"));
  EXPECT_EQ(Received(), 0);
  EXPECT_EQ(Sent(), 0);
}

TEST_F(ArtifactStreamingTest, AnUploadResumesFromItsByteAfterTheCoordinatorWasKilled) {
  StartCoordinator(/*lease_ttl_ms=*/60000);
  HoldingProxy proxy([this] { return port_.load(); });
  const auto worker = StartWorker("worker", proxy.address(), 1);
  proxy.HoldAfter(5 << 20);
  Submit(SmallSweep("killed", 1));
  ASSERT_TRUE(WaitForHeldUpload(proxy)) << worker->log();
  coordinator_->Kill();
  const std::uint64_t there = PartBytes();
  EXPECT_GT(there, 0u);
  EXPECT_LT(there, kModelBytes);
  EXPECT_TRUE(Artifacts(".safetensors").empty());
  proxy.LetPass();
  StartCoordinator(60000);
  ASSERT_TRUE(WaitForSuccess(1)) << worker->log();
  EXPECT_EQ(Received(), kModelBytes - there);
  EXPECT_EQ(Artifacts(".safetensors").size(), 1u);
  EXPECT_TRUE(Artifacts(".part").empty());
  // The training was done once.
  EXPECT_EQ(Sql("SELECT count(*) FROM attempt"), std::vector<std::string>{"2"});
}

TEST_F(ArtifactStreamingTest, AnUploadResumesFromItsByteAfterTheWorkerWasKilled) {
  StartCoordinator(/*lease_ttl_ms=*/1500);
  HoldingProxy proxy([this] { return port_.load(); });
  auto worker = StartWorker("worker", proxy.address(), 1);
  proxy.HoldAfter(5 << 20);
  Submit(SmallSweep("killed", 1));
  ASSERT_TRUE(WaitForHeldUpload(proxy)) << worker->log();
  worker->Kill();
  proxy.LetPass();
  EXPECT_TRUE(Artifacts(".safetensors").empty());
  EXPECT_EQ(Sql("SELECT count(*) FROM attempt WHERE outcome = 'SUCCEEDED'"), std::vector<std::string>{"0"});
  // The next one trains again, to the same bytes, and sends the missing ones.
  const auto other = StartWorker("other", endpoint_.grpc(), 1);
  ASSERT_TRUE(WaitForSuccess(1)) << other->log();
  EXPECT_EQ(Received(), kModelBytes);
  EXPECT_EQ(Artifacts(".safetensors").size(), 1u);
}

TEST_F(ArtifactStreamingTest, AFetchIsNotGivenUpWhileTheCoordinatorIsAway) {
  StartCoordinator(/*lease_ttl_ms=*/3000);
  HoldingProxy proxy([this] { return port_.load(); });
  const auto trainer = StartWorker("trainer", proxy.address(), 1, "hang_evaluate");
  Submit(SmallSweep("away", 1, {8, 7}));
  ASSERT_TRUE(WaitFor([this] { return Artifacts(".safetensors").size() == 1; })) << trainer->log();
  // The evaluator cannot fetch its copy yet: another process holds the part file.
  const fs::path copy = folder_ / "evaluator/artifacts" / Artifacts(".safetensors")[0].filename();
  fs::create_directories(copy.parent_path());
  std::unique_ptr<PartFile> other = *PartFile::Open(copy);
  const auto evaluator = StartWorker("evaluator", proxy.address(), 1);
  ASSERT_TRUE(WaitFor([&] { return Count(evaluator->log(), "artifact_fetch_failed") > 0; }))
      << evaluator->log();
  coordinator_->Kill();
  const std::string http = HttpOf(*evaluator);
  ASSERT_TRUE(WaitFor([&] { return Metric(http, "inlier_worker_artifact_failures_total") >= 8; }))
      << evaluator->log();
  EXPECT_EQ(Metric(http, "inlier_worker_leases_lost_total"), 1);
  other.reset();
  // Time enough to connect again: gRPC waits up to 2 s between two tries, and the machine may be busy.
  StartCoordinator(20'000);
  ASSERT_TRUE(WaitForSuccess(1)) << evaluator->log();
  EXPECT_EQ(Sql("SELECT count(*) FROM attempt WHERE number > 1 OR failure NOT NULL"),
            std::vector<std::string>{"0"});
}

TEST_F(ArtifactStreamingTest, ATrainingResumesElsewhereFromAStreamedCheckpoint) {
  StartCoordinator(/*lease_ttl_ms=*/1500);
  v1::SweepSpec sweep = SmallSweep("resumed", 1);
  sweep.mutable_base()->mutable_training()->set_checkpoint_every(10);
  auto first = StartWorker("first", endpoint_.grpc(), 1, "", {}, {{"FAKE_STEP_MS", "100"}});
  Submit(sweep);
  ASSERT_TRUE(WaitFor([this] {
    const std::vector<std::string> found = Sql("SELECT count(*) FROM artifact WHERE final = 0");
    return found.size() == 1 && found[0] != "0";
  })) << first->log();
  first->Kill();
  const auto second = StartWorker("second", endpoint_.grpc(), 1);
  ASSERT_TRUE(WaitForSuccess(1)) << second->log();
  const std::vector<std::string> resumed =
      Sql("SELECT resumed_step FROM attempt WHERE number = 2 AND outcome = 'SUCCEEDED' AND resumed_step > 0");
  ASSERT_EQ(resumed.size(), 1u) << second->log();
  EXPECT_EQ(std::stoi(resumed[0]) % 10, 0);
  EXPECT_EQ(Count(second->log(), "artifact_fetched"), 1);
}

TEST_F(ArtifactStreamingTest, ADamagedModelIsNeverEvaluatedAndTheReasonIsReported) {
  StartCoordinator();
  auto trainer = StartWorker("trainer", endpoint_.grpc(), 1, "hang_evaluate");
  v1::SweepSpec sweep = SmallSweep("damaged", 1);
  sweep.mutable_retry()->set_max_crashes(0);
  sweep.mutable_retry()->set_max_losses(2);  // The trainer's end is the first.
  Submit(sweep);
  ASSERT_TRUE(WaitForSql("SELECT count(*) FROM attempt", "2")) << trainer->log();
  trainer->Signal(SIGTERM);
  ASSERT_TRUE(WaitForSql("SELECT count(*) FROM attempt WHERE outcome = 'PREEMPTED'", "1")) << trainer->log();
  Damage(Artifacts(".safetensors")[0]);
  const auto evaluator = StartWorker("evaluator", endpoint_.grpc(), 1);
  ASSERT_TRUE(WaitForSql("SELECT count(*) FROM trials WHERE state = 'FAILED'", "1")) << evaluator->log();
  const std::vector<std::string> why = Sql("SELECT message FROM attempt WHERE failure = 'LOST'");
  ASSERT_EQ(why.size(), 1u) << evaluator->log();
  EXPECT_THAT(why[0], testing::HasSubstr("was damaged, and was put aside"));
  EXPECT_THAT(why[0], testing::HasSubstr("put a sound one in artifacts/"));
  EXPECT_THAT(coordinator_->log(), testing::HasSubstr("has the SHA-256"));
}

TEST_F(ArtifactStreamingTest, OfADamagedModelTheCopyOfAnotherWorkerIsUsed) {
  StartCoordinator();
  auto trainer = StartWorker("trainer", endpoint_.grpc(), 1, "hang_evaluate");
  Submit(SmallSweep("damaged", 1, {8, 4}));
  ASSERT_TRUE(WaitForSql("SELECT count(*) FROM attempt WHERE stage = 2 OR stage = 3", "1")) << trainer->log();
  const fs::path model = Artifacts(".safetensors")[0];
  Damage(model);
  const auto evaluator = StartWorker("evaluator", endpoint_.grpc(), 1);
  ASSERT_TRUE(WaitForSuccess(1)) << evaluator->log() << coordinator_->log();
  EXPECT_EQ(*Sha256HexOfFile(model) + ".safetensors", model.filename().string());
  EXPECT_EQ(*Sha256HexOfFile(folder_ / "evaluator/artifacts" / model.filename()) + ".safetensors",
            model.filename().string());
}

TEST_F(ArtifactStreamingTest, OfADamagedCopyInItsCacheAWorkerFetchesAnother) {
  StartCoordinator();
  auto worker = StartWorker("worker", endpoint_.grpc(), 1);
  v1::SweepSpec sweep = SmallSweep("first", 1);
  Submit(sweep);
  ASSERT_TRUE(WaitForSuccess(1)) << worker->log();
  const fs::path copy = folder_ / "worker/artifacts" / Artifacts(".safetensors")[0].filename();
  Damage(copy);
  sweep.set_name("second");
  *sweep.mutable_axes(1) = NumberAxis("quantization.weights.bits", {4});
  Submit(sweep);
  ASSERT_TRUE(WaitForSuccess(2)) << worker->log();
  EXPECT_EQ(*Sha256HexOfFile(copy) + ".safetensors", copy.filename().string());
  EXPECT_THAT(worker->log(), testing::HasSubstr("artifact_damaged"));
  EXPECT_EQ(Sql("SELECT count(*) FROM attempt WHERE failure NOT NULL"), std::vector<std::string>{"0"});
}

}  // namespace
}  // namespace inlier
