#include "coordinator/process/standby.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status.h"
#include "base/version.h"
#include "coordinator/metrics/metrics.h"
#include "coordinator/store/database.h"
#include "rpc/rpc.h"

namespace inlier {
namespace {

// The coordinator's families that have a meaning while it waits.
std::vector<MetricSpec> StandbyMetrics() {
  std::vector<MetricSpec> table;
  for (const MetricSpec& spec : CoordinatorMetricTable()) {
    if (spec.name == "inlier_build_info" || spec.name == "inlier_standby") table.push_back(spec);
  }
  return table;
}

}  // namespace

Standby::Standby(boost::asio::io_context& io, const v1::CoordinatorConfig& config, Done done)
    : config_(config), done_(std::move(done)), timer_(io), http_(io), metrics_(StandbyMetrics()) {
  metrics_.GaugeOf("inlier_build_info", {Version(), BuildId()}).Set(1);
  metrics_.GaugeOf("inlier_standby").Set(1);
}

absl::Status Standby::Start() {
  http_.Get("/healthz", [] { return HttpResponse{.body = "standby\n"}; });
  http_.Get("/readyz", [] { return HttpResponse{.status = 503, .body = "standby\n"}; });
  http_.Get("/metrics",
            [this] { return HttpResponse{.content_type = kMetricsContentType, .body = metrics_.Expose()}; });
  ServerTls tls;
  if (config_.http_tls()) tls = ServerTls::Of(config_);
  const absl::Status status = http_.Start(config_.http_listen(), "http_listen", tls);
  // Another program has the port, or the address is on another machine now.
  if (absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status)) {
    spdlog::warn("standby_not_shown reason={}", LogText(status.message()));
  } else {
    RETURN_IF_ERROR(status);
    http_address_ = http_.address();
  }
  Poll();
  return absl::OkStatus();
}

void Standby::Poll() {
  if (!lock_) {
    std::string reason;
    absl::StatusOr<std::optional<FileLock>> taken = TryTake(reason);
    if (!taken.ok()) return done_(taken.status());
    if (!*taken) return Wait(reason);
    lock_.emplace(*std::move(*taken));
    taken_at_ = MonotonicNow();
    spdlog::info("standby_takes_over state_dir={}", config_.state_dir());
    http_.Stop();
  }
  const absl::Status ports = PortsFree();
  if (!ports.ok() && MonotonicNow() - taken_at_ < kPortsPatience) return Wait(std::string(ports.message()));
  done_(*std::move(lock_));
}

absl::StatusOr<std::optional<FileLock>> Standby::TryTake(std::string& reason) const {
  const std::filesystem::path database = std::filesystem::path(config_.state_dir()) / "inlier.db";
  std::error_code error;
  if (!std::filesystem::exists(database, error)) {
    reason = absl::StrCat("there is no ", database.string(),
                          ": its disk is not mounted, or no coordinator has started there yet (the first "
                          "start of a folder needs standby: false)");
    return std::optional<FileLock>();
  }
  ASSIGN_OR_RETURN(std::optional<FileLock> lock, TryLockStateFolder(config_.state_dir()));
  if (!lock) reason = absl::StrCat("another coordinator has ", config_.state_dir());
  return lock;
}

absl::Status Standby::PortsFree() const {
  for (const auto& [text, field] :
       {std::pair(config_.listen(), "listen"), std::pair(config_.http_listen(), "http_listen")}) {
    const absl::StatusOr<Address> address = ParseAddress(text, field);
    if (!address.ok()) return absl::OkStatus();  // The start reports it.
    RETURN_IF_ERROR(ProbeBind(*address, field));
  }
  return absl::OkStatus();
}

void Standby::Wait(const std::string& reason) {
  if (reason != std::exchange(reason_, reason)) spdlog::info("standby_waits reason={}", LogText(reason));
  timer_.expires_after(kPeriod);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Poll();
  });
}

}  // namespace inlier
