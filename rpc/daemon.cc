#include "rpc/daemon.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/version.h"

namespace inlier {
namespace {

void LogEvent(const std::string& event, const LogFields& fields) {
  std::string line = event;
  for (const auto& [key, value] : fields) {
    const bool quoted = value.empty() || value.find(' ') != std::string::npos;
    absl::StrAppend(&line, " ", key, "=", quoted ? "\"" : "", value, quoted ? "\"" : "");
  }
  spdlog::info("{}", line);
}

}  // namespace

absl::StatusOr<DaemonOptions> ParseDaemonOptions(int argc, const char* const* argv) {
  DaemonOptions options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    std::optional<std::string> value;
    if (absl::StartsWith(name, "--")) {
      if (const size_t equals = name.find('='); equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.resize(equals);
      }
    }
    if (name == "--help" || name == "-h" || name == "--version" || name == "--metrics-reference") {
      if (value) return absl::InvalidArgumentError(absl::StrCat(name, " takes no value; see --help"));
      options.action = name == "--version"             ? DaemonOptions::Action::kVersion
                       : name == "--metrics-reference" ? DaemonOptions::Action::kMetricsReference
                                                       : DaemonOptions::Action::kHelp;
      return options;
    }
    if (name != "--config" && name != "--set" && name != "--log-level") {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", argv[i], "'; see --help"));
    }
    if (!value) {
      if (i + 1 == argc) return absl::InvalidArgumentError(absl::StrCat(name, " needs a value; see --help"));
      value = argv[++i];
    }
    if (name == "--config") {
      if (!options.config_file.empty()) return absl::InvalidArgumentError("--config is given twice");
      options.config_file = *value;
    } else if (name == "--set") {
      if (value->find('=') == std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat("--set ", *value, ": expected path=value"));
      }
      options.overrides.push_back(*value);
    } else {
      if (spdlog::level::from_str(*value) == spdlog::level::off && *value != "off") {
        return absl::InvalidArgumentError(
            absl::StrCat("--log-level ", *value, ": expected trace, debug, info, warn, error or off"));
      }
      options.log_level = *value;
    }
  }
  return options;
}

std::string DaemonHelp(const std::string& program, const std::string& summary) {
  return absl::StrCat(
      summary, "\n\nusage: ", program, " [--config FILE] [--set path=value]...\n\n",
      "  --config FILE        configuration, YAML\n"
      "  --set path=value     overrides one field of the configuration; may be repeated\n"
      "  --log-level LEVEL    trace, debug, info, warn, error or off; info when not given\n"
      "  --metrics-reference  prints the page of its Prometheus metrics and exits\n"
      "  --version            prints the version and exits\n"
      "  --help               prints this and exits\n\n"
      "exit status: 0 stopped as asked, 1 could not start or continue, 2 wrong arguments or configuration, "
      "3 the database failed\n");
}

int ReportFatal(const std::string& program, const absl::Status& status) {
  std::fprintf(stderr, "%s: error: %s\n", program.c_str(), std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

StopSignals::StopSignals(boost::asio::io_context& io, std::function<void(const std::string&, int)> on_signal)
    : signals_(io, SIGTERM, SIGINT), on_signal_(std::move(on_signal)) {
  ::signal(SIGPIPE, SIG_IGN);
  Wait();
}

void StopSignals::Wait() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;  // Cancelled.
    Wait();
    on_signal_(signal == SIGINT ? "SIGINT" : "SIGTERM", ++count_);
  });
}

std::uint64_t RaiseOpenFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  }
  return limit.rlim_cur;
}

void LogStarted(const LogFields& fields) {
  LogFields all = {{"version", Version()}, {"build", BuildId()}, {"pid", absl::StrCat(::getpid())}};
  all.insert(all.end(), fields.begin(), fields.end());
  LogEvent("started", all);
}

void LogStopped(const std::string& reason, const LogFields& fields) {
  LogFields all = {{"reason", reason}};
  all.insert(all.end(), fields.begin(), fields.end());
  LogEvent("stopped", all);
}

}  // namespace inlier
