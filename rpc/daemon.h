// Shared by the two daemons: the command line, signals, limits, and the first and last line of the log.
//
// Thread safety: none; used from main and the thread that runs the io_context.
#ifndef INLIER_RPC_DAEMON_H_
#define INLIER_RPC_DAEMON_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

struct DaemonOptions {
  enum class Action { kRun, kHelp, kVersion, kMetricsReference };
  Action action = Action::kRun;
  std::string config_file;             // --config FILE; empty when not given.
  std::vector<std::string> overrides;  // --set path=value, in their order.
  std::string log_level = "info";      // --log-level LEVEL.
};

// Reads the options of DaemonHelp, each also as `--option=value`. InvalidArgument names the argument.
absl::StatusOr<DaemonOptions> ParseDaemonOptions(int argc, const char* const* argv);

// The text of --help. `summary` is one sentence on its purpose.
std::string DaemonHelp(const std::string& program, const std::string& summary);

// Exit codes of the daemons.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;  // It could not start or continue; stderr has the reason.
inline constexpr int kExitUsage = 2;    // The command line or the configuration is wrong.

// Prints "<program>: error: <message>" on stderr; kExitUsage for InvalidArgument, else kExitFailure.
int ReportFatal(const std::string& program, const absl::Status& status);

// Calls `on_signal(name, count)` on the io_context for each SIGTERM or SIGINT; count is 1 for the first. Keeps
// the io_context running, and ignores SIGPIPE.
class StopSignals {
 public:
  StopSignals(boost::asio::io_context& io, std::function<void(const std::string& name, int count)> on_signal);

 private:
  void Wait();

  boost::asio::signal_set signals_;
  std::function<void(const std::string&, int)> on_signal_;
  int count_ = 0;
};

// Raises the soft limit of open files to the hard one; returns the limit in force.
std::uint64_t RaiseOpenFileLimit();

using LogFields = std::vector<std::pair<std::string, std::string>>;

// "started version=… build=… pid=… <fields>" and "stopped reason=… <fields>", one line each at INFO.
void LogStarted(const LogFields& fields);
void LogStopped(const std::string& reason, const LogFields& fields = {});

}  // namespace inlier

#endif  // INLIER_RPC_DAEMON_H_
