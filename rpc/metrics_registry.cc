#include "rpc/metrics_registry.h"

#include <dirent.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"

namespace inlier {
namespace {

constexpr struct {
  const char* name;
  prometheus::MetricType type;
  const char* help;
} kProcessFamilies[] = {
    {"process_cpu_seconds_total", prometheus::MetricType::Counter,
     "CPU time of the process, user and system."},
    {"process_resident_memory_bytes", prometheus::MetricType::Gauge, "Memory of the process that is in RAM."},
    {"process_virtual_memory_bytes", prometheus::MetricType::Gauge, "Address space of the process."},
    {"process_open_fds", prometheus::MetricType::Gauge, "Open file descriptors."},
    {"process_max_fds", prometheus::MetricType::Gauge, "Limit of open file descriptors."},
    {"process_start_time_seconds", prometheus::MetricType::Gauge,
     "When the process started, seconds since 1970."},
};

// Seconds since 1970 at which this process started, from the kernel's boot time and its ticks.
double ProcessStartSeconds() {
  std::ifstream system("/proc/stat");
  double boot = 0;
  for (std::string word; system >> word;) {
    if (word == "btime") {
      system >> boot;
      break;
    }
  }
  std::ifstream self("/proc/self/stat");
  std::string line;
  std::getline(self, line);
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  std::istringstream rest(line.substr(end_of_name + 1));
  std::string field;
  for (int i = 3; i <= 22 && rest >> field; ++i) {
  }
  return boot + std::strtod(field.c_str(), nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double OpenFiles() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = -3;  // ".", ".." and the folder itself.
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

std::vector<prometheus::MetricFamily> CollectProcess() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  double pages_virtual = 0, pages_resident = 0;
  std::ifstream("/proc/self/statm") >> pages_virtual >> pages_resident;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  static const double start_seconds = ProcessStartSeconds();
  const double values[] = {seconds(usage.ru_utime) + seconds(usage.ru_stime),
                           pages_resident * page,
                           pages_virtual * page,
                           OpenFiles(),
                           static_cast<double>(files.rlim_cur),
                           start_seconds};
  std::vector<prometheus::MetricFamily> families;
  for (size_t i = 0; i < std::size(kProcessFamilies); ++i) {
    prometheus::MetricFamily family;
    family.name = kProcessFamilies[i].name;
    family.help = kProcessFamilies[i].help;
    family.type = kProcessFamilies[i].type;
    family.metric.resize(1);
    family.metric[0].counter.value = values[i];
    family.metric[0].gauge.value = values[i];
    families.push_back(std::move(family));
  }
  return families;
}

const char* KindName(MetricKind kind) {
  constexpr const char* kNames[] = {"counter", "gauge", "histogram"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace

std::vector<double> LatencyBuckets() { return {0.0005, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10}; }

struct MetricsRegistry::State {
  struct Entry {
    const MetricSpec* spec = nullptr;
    prometheus::Family<prometheus::Counter>* counter = nullptr;
    prometheus::Family<prometheus::Gauge>* gauge = nullptr;
    prometheus::Family<prometheus::Histogram>* histogram = nullptr;
    std::vector<prometheus::ClientMetric> replaced;  // By ReplaceGauge. Guarded by mutex.
  };

  // The entry of `name` and the labels as prometheus-cpp wants them.
  Entry& Find(const std::string& name, MetricKind kind, const std::vector<std::string>& values,
              prometheus::Labels* labels) {
    const auto found = entries.find(name);
    if (found == entries.end() || found->second.spec->kind != kind ||
        found->second.spec->labels.size() != values.size()) {
      std::fprintf(stderr, "metric %s is not declared as a %s with %zu labels\n", name.c_str(),
                   KindName(kind), values.size());
      INLIER_CHECK(false);
    }
    for (size_t i = 0; i < values.size(); ++i) labels->emplace(found->second.spec->labels[i], values[i]);
    return found->second;
  }

  std::vector<MetricSpec> table;
  prometheus::Registry registry;
  std::map<std::string, Entry> entries;
  std::mutex mutex;
  std::vector<std::function<void(MetricsRegistry&)>> on_scrape;  // Guarded by mutex.
};

MetricsRegistry::MetricsRegistry(std::vector<MetricSpec> table) : state_(std::make_unique<State>()) {
  state_->table = std::move(table);
  for (const MetricSpec& spec : state_->table) {
    State::Entry& entry = state_->entries[spec.name];
    INLIER_CHECK(entry.spec == nullptr);  // One declaration a name.
    entry.spec = &spec;
    std::vector<std::vector<std::string>> known = spec.known_labels;
    if (spec.labels.empty()) known = {{}};
    switch (spec.kind) {
      case MetricKind::kCounter:
        entry.counter =
            &prometheus::BuildCounter().Name(spec.name).Help(spec.help).Register(state_->registry);
        for (const auto& values : known) CounterOf(spec.name, values);
        break;
      case MetricKind::kGauge:
        entry.gauge = &prometheus::BuildGauge().Name(spec.name).Help(spec.help).Register(state_->registry);
        for (const auto& values : known) GaugeOf(spec.name, values);
        break;
      case MetricKind::kHistogram:
        INLIER_CHECK(!spec.buckets.empty() && std::ranges::is_sorted(spec.buckets));
        entry.histogram =
            &prometheus::BuildHistogram().Name(spec.name).Help(spec.help).Register(state_->registry);
        for (const auto& values : known) HistogramOf(spec.name, values);
        break;
    }
  }
}

MetricsRegistry::~MetricsRegistry() = default;

prometheus::Counter& MetricsRegistry::CounterOf(const std::string& name,
                                                const std::vector<std::string>& labels) {
  prometheus::Labels map;
  return state_->Find(name, MetricKind::kCounter, labels, &map).counter->Add(map);
}

prometheus::Gauge& MetricsRegistry::GaugeOf(const std::string& name, const std::vector<std::string>& labels) {
  prometheus::Labels map;
  const State::Entry& entry = state_->Find(name, MetricKind::kGauge, labels, &map);
  return entry.gauge->Add(map);
}

prometheus::Histogram& MetricsRegistry::HistogramOf(const std::string& name,
                                                    const std::vector<std::string>& labels) {
  prometheus::Labels map;
  const State::Entry& entry = state_->Find(name, MetricKind::kHistogram, labels, &map);
  return entry.histogram->Add(map, entry.spec->buckets);
}

void MetricsRegistry::OnScrape(std::function<void(MetricsRegistry&)> update) {
  const std::lock_guard lock(state_->mutex);
  state_->on_scrape.push_back(std::move(update));
}

// The library removes a series in a time that grows with their number; so all are made again each time.
void MetricsRegistry::ReplaceGauge(const std::string& name, const std::vector<GaugeSample>& samples) {
  State::Entry* entry = nullptr;
  std::vector<prometheus::ClientMetric> series(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    prometheus::Labels labels;
    entry = &state_->Find(name, MetricKind::kGauge, samples[i].labels, &labels);
    for (const auto& [label, value] : labels) series[i].label.push_back({label, value});
    series[i].gauge.value = samples[i].value;
  }
  if (entry == nullptr) entry = &state_->entries.at(name);
  const std::lock_guard lock(state_->mutex);
  entry->replaced = std::move(series);
}

std::string MetricsRegistry::Expose() {
  std::vector<std::function<void(MetricsRegistry&)>> updates;
  {
    const std::lock_guard lock(state_->mutex);
    updates = state_->on_scrape;
  }
  for (const auto& update : updates) update(*this);
  std::vector<prometheus::MetricFamily> families = state_->registry.Collect();
  for (prometheus::MetricFamily& family : CollectProcess()) families.push_back(std::move(family));
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [name, entry] : state_->entries) {
      if (entry.replaced.empty()) continue;
      families.push_back({name, entry.spec->help, prometheus::MetricType::Gauge, entry.replaced});
    }
  }
  std::ranges::sort(families, [](const auto& a, const auto& b) { return a.name < b.name; });
  return prometheus::TextSerializer().Serialize(families);
}

std::string MetricsReference(const std::string& program, const std::vector<MetricSpec>& table) {
  const auto cell = [](const std::string& text) {
    return absl::StrReplaceAll(text, {{"|", "\\|"}, {"\n", " "}});
  };
  std::string page =
      absl::StrCat("# Metrics of ", program, "\n\nWritten by `", program,
                   " --metrics-reference`; do not edit. Served in Prometheus' text format on `/metrics` of"
                   " the daemon's `http_listen`.\n\n| name | kind | labels | meaning |\n|---|---|---|---|\n");
  for (const MetricSpec& spec : table) {
    std::string help = spec.help;
    if (spec.kind == MetricKind::kHistogram)
      absl::StrAppend(&help, " Buckets: ", absl::StrJoin(spec.buckets, ", "), ".");
    absl::StrAppend(&page, "| `", spec.name, "` | ", KindName(spec.kind), " | ",
                    spec.labels.empty() ? "" : absl::StrCat("`", absl::StrJoin(spec.labels, "`, `"), "`"),
                    " | ", cell(help), " |\n");
  }
  for (const auto& family : kProcessFamilies) {
    absl::StrAppend(&page, "| `", family.name, "` | ",
                    family.type == prometheus::MetricType::Counter ? "counter" : "gauge", " |  | ",
                    family.help, " |\n");
  }
  return page;
}

}  // namespace inlier
