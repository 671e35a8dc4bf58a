#include "worker/worker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"

namespace inlier {
namespace {

using testing::HasSubstr;

TEST(WorkerMetricsTest, EveryOutcomeIsShownFromTheStart) {
  WorkerMetrics metrics;
  const std::string text = metrics.registry.Expose();
  for (const char* outcome : {"succeeded", "diverged", "invalid_spec", "out_of_memory", "crashed", "lost",
                              "preempted", "stalled"}) {
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
              HasSubstr("inlier_worker_attempts_ended_total{outcome=\"out_of_memory\"} 1"));
}

TEST(WorkerMetricsTest, TheReferencePageIsTheOneOfTheTable) {
  const absl::StatusOr<std::string> page =
      ReadFile(std::string(INLIER_SOURCE_DIR) + "/docs/reference/worker_metrics.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, MetricsReference("inlier-worker", WorkerMetricsTable()))
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
  }
}

}  // namespace
}  // namespace inlier
