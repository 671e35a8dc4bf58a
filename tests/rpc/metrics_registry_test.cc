#include "rpc/metrics_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<MetricSpec> Table() {
  return {{"t_events_total", MetricKind::kCounter, "Events.", {"kind"}, {}, {{"a"}, {"b"}}},
          {"t_depth", MetricKind::kGauge, "Depth | of it."},
          {"t_state", MetricKind::kGauge, "By name.", {"name"}},
          {"t_wait_seconds", MetricKind::kHistogram, "Wait.", {}, {0.1, 1}}};
}

TEST(MetricsRegistryTest, KnownSeriesAreShownAsZeroFromTheStart) {
  MetricsRegistry registry(Table());
  const std::string text = registry.Expose();
  EXPECT_THAT(text, HasSubstr("# HELP t_events_total Events.\n# TYPE t_events_total counter\n"));
  EXPECT_THAT(text, HasSubstr("t_events_total{kind=\"a\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("t_events_total{kind=\"b\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("t_depth 0\n"));
  EXPECT_THAT(text, HasSubstr("t_wait_seconds_count 0\n"));
}

TEST(MetricsRegistryTest, ValuesAreExposed) {
  MetricsRegistry registry(Table());
  registry.CounterOf("t_events_total", {"c\"\n"}).Increment(2);
  registry.HistogramOf("t_wait_seconds").Observe(0.5);
  registry.OnScrape([](MetricsRegistry& r) { r.GaugeOf("t_depth").Set(7); });
  const std::string text = registry.Expose();
  EXPECT_THAT(text, HasSubstr("t_events_total{kind=\"c\\\"\\n\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_wait_seconds_bucket{le=\"0.1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("t_wait_seconds_bucket{le=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_depth 7\n"));
}

TEST(MetricsRegistryTest, SeriesOfThingsThatComeAndGoAreReplaced) {
  MetricsRegistry registry(Table());
  registry.ReplaceGauge("t_state", {{{"x"}, 1}});
  EXPECT_THAT(registry.Expose(),
              HasSubstr("# HELP t_state By name.\n# TYPE t_state gauge\nt_state{name=\"x\"} 1\n"));
  registry.ReplaceGauge("t_state", {{{"y\n"}, 2}, {{"z"}, 3}});
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("name=\"x\"")));
  EXPECT_THAT(registry.Expose(), HasSubstr("t_state{name=\"y\\n\"} 2\nt_state{name=\"z\"} 3\n"));
  registry.ReplaceGauge("t_state", {});
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("t_state")));
}

TEST(MetricsRegistryTest, TheProcessIsDescribed) {
  MetricsRegistry registry(Table());
  const std::string text = registry.Expose();
  for (const char* name : {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
                           "process_max_fds", "process_start_time_seconds", "process_virtual_memory_bytes"}) {
    const size_t at = text.find(std::string("\n") + name + " ");
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(std::strtod(text.c_str() + at + 2 + std::string(name).size(), nullptr), 0) << name;
  }
  const size_t at = text.find("\nprocess_start_time_seconds ");
  EXPECT_NEAR(std::strtod(text.c_str() + at + 28, nullptr), static_cast<double>(::time(nullptr)), 120);
}

TEST(MetricsRegistryDeathTest, AnUndeclaredNameOrLabelIsAProgrammersError) {
  MetricsRegistry registry(Table());
  EXPECT_DEATH(registry.CounterOf("t_other_total"),
               "metric t_other_total is not declared as a counter with 0 labels");
  EXPECT_DEATH(registry.CounterOf("t_events_total"), "with 0 labels");
  EXPECT_DEATH(registry.GaugeOf("t_events_total", {"a"}), "not declared as a gauge");
}

TEST(MetricsReferenceTest, EveryFamilyHasARow) {
  const std::string page = MetricsReference("prog", Table());
  EXPECT_THAT(page, HasSubstr("# Metrics of prog\n"));
  EXPECT_THAT(page, HasSubstr("| `t_events_total` | counter | `kind` | Events. |\n"));
  EXPECT_THAT(page, HasSubstr("| `t_depth` | gauge |  | Depth \\| of it. |\n"));
  EXPECT_THAT(page, HasSubstr("| `t_wait_seconds` | histogram |  | Wait. Buckets: 0.1, 1. |\n"));
  EXPECT_THAT(page, HasSubstr("| `process_open_fds` | gauge |"));
}

}  // namespace
}  // namespace inlier
