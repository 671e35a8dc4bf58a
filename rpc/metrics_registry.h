// The Prometheus families of a process, declared in one table, for /metrics and for the reference page.
//
// A name that is not in the table, or a wrong number of labels, is a programmer's error. The registry itself adds
// process_* (CPU, memory, descriptors, start time). Series without labels exist from the start, with value 0.
//
// Thread safety: any thread; the returned references live as long as the registry.
#ifndef INLIER_RPC_METRICS_REGISTRY_H_
#define INLIER_RPC_METRICS_REGISTRY_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace inlier {

enum class MetricKind { kCounter, kGauge, kHistogram };

// One family. Histograms have buckets (upper edges, rising); `known_labels` are shown as 0 before the first event.
struct MetricSpec {
  std::string name;
  MetricKind kind = MetricKind::kCounter;
  std::string help;
  std::vector<std::string> labels = {};
  std::vector<double> buckets = {};
  std::vector<std::vector<std::string>> known_labels = {};
};

// One series of a gauge: its label values, in the table's order, and its value.
struct GaugeSample {
  std::vector<std::string> labels;
  double value = 0;
};

// Edges from 0.5 ms to 10 s, for durations of calls.
std::vector<double> LatencyBuckets();

class MetricsRegistry {
 public:
  explicit MetricsRegistry(std::vector<MetricSpec> table);
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  // The series of a declared family with these label values, in the table's order.
  prometheus::Counter& CounterOf(const std::string& name, const std::vector<std::string>& labels = {});
  prometheus::Gauge& GaugeOf(const std::string& name, const std::vector<std::string>& labels = {});
  prometheus::Histogram& HistogramOf(const std::string& name, const std::vector<std::string>& labels = {});

  // Called at the start of every Expose(): sets the gauges that are read at scrape. Must not block.
  void OnScrape(std::function<void(MetricsRegistry&)> update);

  // From now on the series of a gauge are these: for things that come and go. REQUIRES: no series of it is set
  // by GaugeOf, no two have the same labels.
  void ReplaceGauge(const std::string& name, const std::vector<GaugeSample>& samples);

  // Prometheus' text format 0.0.4, to be served as kMetricsContentType.
  std::string Expose();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr char kMetricsContentType[] = "text/plain; version=0.0.4; charset=utf-8";

// The page docs/reference/…_metrics.md: a row for each family of `table` and each process_* one.
std::string MetricsReference(const std::string& program, const std::vector<MetricSpec>& table);

}  // namespace inlier

#endif  // INLIER_RPC_METRICS_REGISTRY_H_
