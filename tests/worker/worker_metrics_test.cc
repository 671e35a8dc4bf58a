#include "worker/worker_metrics.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/ascii.h"
#include "base/files/file.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(WorkerMetricsTest, EveryOutcomeIsShownFromTheStart) {
  WorkerMetrics metrics;
  const std::string text = metrics.registry.Expose();
  for (const char* outcome : {"SUCCEEDED", "DIVERGED", "INVALID_SPEC", "OUT_OF_MEMORY", "CRASHED", "LOST",
                              "PREEMPTED", "STALLED"}) {
    EXPECT_THAT(text,
                HasSubstr(std::string("inlier_worker_attempts_ended_total{outcome=\"") + outcome + "\"} 0"));
  }
}

TEST(WorkerMetricsTest, AnEndedAttemptCountsUnderItsOutcome) {
  WorkerMetrics metrics;
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_failure(v1::OUT_OF_MEMORY);
  metrics.AttemptEnded(outcome);
  EXPECT_THAT(metrics.registry.Expose(),
              HasSubstr("inlier_worker_attempts_ended_total{outcome=\"OUT_OF_MEMORY\"} 1"));
}

TEST(WorkerMetricsTest, AGpuHasSeriesForWhatItsDriverReports) {
  WorkerMetrics metrics;
  EXPECT_THAT(metrics.registry.Expose(), Not(HasSubstr("inlier_worker_gpu")));
  v1::DeviceReading whole, bare;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "device: 'cuda:0' name: 'NVIDIA A' utilization: 0.5 memory_used_mib: 3 memory_total_mib: 8 "
      "temperature_celsius: 61 power_watts: 250.5 memory_errors: 2",
      &whole));
  bare.set_device("cuda:1");
  metrics.SetGpus(std::vector{whole, bare});
  const std::string text = metrics.registry.Expose();
  const std::string of = "{device=\"cuda:0\",model=\"NVIDIA A\"} ";
  EXPECT_THAT(text, HasSubstr("inlier_worker_gpu_utilization_ratio" + of + "0.5\n"));
  EXPECT_THAT(text, HasSubstr("inlier_worker_gpu_memory_used_bytes" + of + "3145728\n"));
  EXPECT_THAT(text, HasSubstr("inlier_worker_gpu_memory_total_bytes" + of + "8388608\n"));
  EXPECT_THAT(text, HasSubstr("inlier_worker_gpu_temperature_celsius" + of + "61\n"));
  EXPECT_THAT(text, HasSubstr("inlier_worker_gpu_power_watts" + of + "250.5\n"));
  EXPECT_THAT(text, HasSubstr("inlier_worker_gpu_memory_errors" + of + "2\n"));
  EXPECT_THAT(text, Not(HasSubstr("cuda:1")));
  metrics.SetGpus({});  // The driver knows none of them any more.
  EXPECT_THAT(metrics.registry.Expose(), Not(HasSubstr("inlier_worker_gpu")));
}

TEST(WorkerMetricsTest, TheReferencePageIsTheOneOfTheTable) {
  const std::string page =
      ReadFile(std::string(INLIER_SOURCE_DIR) + "/docs/reference/worker_metrics.md").value();
  EXPECT_EQ(page, MetricsReference("inlier-worker", WorkerMetricsTable()))
      << "write it again: inlier-worker --metrics-reference > docs/reference/worker_metrics.md";
}

TEST(WorkerMetricsTest, NamesFollowTheConventions) {
  std::set<std::string> names;
  for (const MetricSpec& spec : WorkerMetricsTable()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(spec.name.rfind("inlier_", 0), 0u) << spec.name;
    EXPECT_EQ(spec.kind == MetricKind::kCounter,
              spec.name.size() > 6 && spec.name.substr(spec.name.size() - 6) == "_total")
        << spec.name;
    EXPECT_EQ(spec.help.back(), '.') << spec.name;
    for (const auto& labels : spec.known_labels) {
      for (const std::string& value : labels)
        EXPECT_EQ(value, absl::AsciiStrToUpper(value)) << spec.name;  // As in the messages.
    }
  }
}

}  // namespace
}  // namespace inlier
