// The edges of the daemon: ports, folders, health, reflection, metrics, and the generated reference.
#include <grpcpp/support/byte_buffer.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "absl/strings/ascii.h"
#include "coordinator/metrics/metrics.h"
#include "grpcpp/generic/generic_stub.h"
#include "rpc/endpoint_file.h"
#include "rpc/metrics_registry.h"
#include "tests/coordinator/services/fixture.h"
#include "tests/support/comes.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// Fails without printing the whole page.
void ExpectLine(const std::string& text, const std::string& line) {
  EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line;
}

class DaemonTest : public CoordinatorTest {};

TEST_F(DaemonTest, EndpointFileNamesTheRealPortsAndIsRemovedAtTheStop) {
  const auto endpoint = ReadEndpointFile(folder_.path()).value();
  EXPECT_EQ(endpoint.grpc(), coordinator_->grpc_address());
  EXPECT_EQ(endpoint.http(), coordinator_->http_address());
  EXPECT_EQ(endpoint.version(), Version());
  EXPECT_EQ(endpoint.pid(), getpid());
  coordinator_.reset();
  EXPECT_EQ(ReadEndpointFile(folder_.path()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DaemonTest, SecondCoordinatorOnTheSameFolderIsRefused) {
  const auto second = Coordinator::Start(Config(), [](absl::Status) {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(std::to_string(getpid()))));
  EXPECT_TRUE(ReadEndpointFile(folder_.path()).ok());  // The first one's.
}

TEST_F(DaemonTest, PortInUseIsNamedWithTheRemedy) {
  TemporaryFolder other;
  v1::CoordinatorConfig config = Config();
  config.set_state_dir(other.path().string());
  config.set_listen(coordinator_->grpc_address());
  const auto second = Coordinator::Start(config, [](absl::Status) {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr(coordinator_->grpc_address())));
  config.set_listen("127.0.0.1:0");
  config.set_http_listen(coordinator_->http_address());
  const auto third = Coordinator::Start(config, [](absl::Status) {});
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("http_listen"));
}

// Health and reflection are spoken by raw bytes: field 1 of HealthCheckResponse is 1 for SERVING.
TEST_F(DaemonTest, StandardHealthServiceReportsServing) {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice slice;
  ASSERT_TRUE(response.DumpToSingleSlice(&slice).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(slice.begin()), slice.size()), std::string("\x08\x01"));
}

TEST_F(DaemonTest, ReflectionListsTheServices) {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  auto call =
      stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  void* tag = nullptr;
  bool ok = false;
  call->StartCall(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  const grpc::Slice list_services("\x3a\x00", 2);  // ServerReflectionRequest.list_services = "".
  call->Write(grpc::ByteBuffer(&list_services, 1), nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok) && ok);
  grpc::Slice slice;
  ASSERT_TRUE(response.DumpToSingleSlice(&slice).ok());
  const std::string text(reinterpret_cast<const char*>(slice.begin()), slice.size());
  EXPECT_THAT(text, HasSubstr("inlier.v1.SweepService"));
  EXPECT_THAT(text, HasSubstr("inlier.v1.WorkerService"));
  EXPECT_THAT(text, HasSubstr("inlier.v1.ArtifactService"));
  call->WritesDone(nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok));
  grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(queue.Next(&tag, &ok));
}

TEST_F(DaemonTest, HealthAndReadinessAnswer) {
  EXPECT_THAT(Get("/healthz"), HasSubstr("200 OK"));
  EXPECT_THAT(Get("/readyz"), HasSubstr("ready"));
  EXPECT_THAT(Get("/nothing"), HasSubstr("404"));
}

TEST_F(DaemonTest, MetricsShowTheEventsAndEveryFamilyOfTheTable) {
  hooks_.add_on_failure()->set_command("/bin/true");  // Some families have a line for each hook.
  Restart();
  Submit(SmallSweep("measured", 2));
  HandWorker worker = MakeWorker("w", 1);
  RunAll(worker);
  std::string text = Get("/metrics");
  ExpectLine(text, "inlier_trials{state=\"SUCCEEDED\"} 2");
  ExpectLine(text, "inlier_trials{state=\"FAILED\"} 0");
  ExpectLine(text, "inlier_attempts_started_total{kind=\"TRAIN\"} 2");
  ExpectLine(text, "inlier_attempts_ended_total{kind=\"EVALUATE\",outcome=\"SUCCEEDED\"} 2");
  ExpectLine(text, "inlier_measurements_committed_total 2");
  ExpectLine(text, "inlier_slots 1");
  ExpectLine(text, "inlier_workers{state=\"CONNECTED\"} 1");
  ExpectLine(text, "inlier_stale_events_total 0");
  ExpectLine(text, "inlier_store_available 1");
  ExpectLine(text, "inlier_rpcs_total{code=\"OK\",method=\"SubmitSweep\"} 1");
  ExpectLine(text, "inlier_lease_wait_seconds_count 4");
  v1::SweepSpec another = SmallSweep("running", 1);
  another.mutable_base()->mutable_training()->set_steps(7);
  Submit(another);
  for (int i = 0; i < 10 && worker.running().empty(); ++i) Sync(worker);
  ASSERT_EQ(worker.running().size(), 1u);
  const Token token = worker.running().begin()->first;
  v1::TrialEvent progress;
  progress.mutable_progress()->set_step(7);
  progress.mutable_progress()->set_steps_total(10);
  progress.mutable_progress()->set_phase("train");
  progress.mutable_progress()->set_loss(2.5);
  progress.mutable_progress()->set_rate(3);
  worker.Emit(token, progress);
  worker.Emit(token, MeasurementEvent("max_inf_norm", 21.5, false));
  Sync(worker);
  text = Get("/metrics");
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes"));
  for (const MetricSpec& spec : CoordinatorMetricTable()) {
    EXPECT_NE(text.find("# TYPE " + spec.name + " "), std::string::npos) << spec.name;
    EXPECT_NE(text.find("# HELP " + spec.name + " " + spec.help), std::string::npos) << spec.name;
  }
  ExpectLine(text, "inlier_sweep_trials{name=\"running\",state=\"RUNNING\",sweep=\"s-2\"} 1");
  EXPECT_EQ(text.find("sweep=\"s-1\""), std::string::npos);  // It has ended.
  // Every line is a comment or a sample, and ids are labels of the live series only.
  const std::regex sample(
      R"(^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^{}]*\})? (-?[0-9.]+(e[+-]?[0-9]+)?|[+-]?Inf|Nan|NaN)$)");
  std::istringstream body(text.substr(text.find("\r\n\r\n") + 4));
  int samples = 0;
  for (std::string line; std::getline(body, line);) {
    if (line.empty() || line[0] == '#') continue;
    EXPECT_TRUE(std::regex_match(line, sample)) << line;
    EXPECT_TRUE(line.find("\"t-") == std::string::npos || line.starts_with("inlier_attempt_")) << line;
    ++samples;
  }
  EXPECT_GT(samples, 100);
}

TEST_F(DaemonTest, TheBestResultsOfAnActiveSweepAreThoseOfBeforeTheStartToo) {
  v1::SweepSpec sweep = SmallSweep("measured", 2, {4, 8});
  sweep.mutable_base()->mutable_quantization()->mutable_activations()->set_bits(8);
  Submit(sweep);
  HandWorker worker = MakeWorker("w", 1);
  double perplexity = 30;
  int results = 0;
  for (int round = 0; round < 100 && results < 3; ++round) {  // One of the four trials is left.
    Sync(worker);
    for (const auto& [token, assignment] : std::map(worker.running())) {
      if (assignment.kind() == v1::EVALUATE_STAGE) {
        worker.Emit(token, MeasurementEvent("perplexity", perplexity++, true));
        worker.Emit(token, OutcomeEvent(v1::Outcome::SUCCEEDED));
        ++results;
      } else {
        worker.Finish(token);
      }
    }
  }
  Sync(worker);
  const auto shown = [&] {
    std::vector<std::string> lines;
    std::istringstream text(Get("/metrics"));
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("inlier_sweep_best{measurement=\"perplexity\"")) lines.push_back(line);
    }
    return lines;
  };
  ASSERT_EQ(results, 3);
  const auto before = shown();
  ASSERT_EQ(before.size(), 2u);  // W4A8 and W8A8.
  Restart();
  EXPECT_TRUE(Comes([&] { return shown() == before; }));  // The first scrape asks for them.
}

TEST(MetricsReferenceTest, PageIsCurrent) {
  std::ifstream file(INLIER_METRICS_REFERENCE);
  ASSERT_TRUE(file) << INLIER_METRICS_REFERENCE;
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), MetricsReference("inlier-coordinator", CoordinatorMetricTable()))
      << "write it again: build/*/bin/inlier-coordinator --metrics-reference > docs/reference/metrics.md";
}

TEST(MetricsTableTest, NamesFollowTheConventions) {
  std::set<std::string> names;
  for (const MetricSpec& spec : CoordinatorMetricTable()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(spec.name.rfind("inlier_", 0), 0u) << spec.name;
    const bool total = spec.name.size() > 6 && spec.name.substr(spec.name.size() - 6) == "_total";
    EXPECT_EQ(total, spec.kind == MetricKind::kCounter) << spec.name;
    EXPECT_EQ(spec.kind == MetricKind::kHistogram, !spec.buckets.empty()) << spec.name;
    EXPECT_EQ(spec.help.back(), '.') << spec.name;
    for (const auto& labels : spec.known_labels) {
      ASSERT_EQ(labels.size(), spec.labels.size()) << spec.name;
      for (std::size_t i = 0; i < labels.size(); ++i) {  // As in the messages; other values are names.
        if (spec.labels[i] == "method" || spec.name == "inlier_build_info") continue;
        EXPECT_EQ(labels[i], absl::AsciiStrToUpper(labels[i])) << spec.name;
      }
    }
  }
}

}  // namespace
}  // namespace inlier
