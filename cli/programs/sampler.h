// The client that asks Optuna for the points of sweeps (clients/python/inlier/optimize.py).
//
// Thread safety: all calls from one thread; supervision happens in Poll().
#ifndef INLIER_CLI_PROGRAMS_SAMPLER_H_
#define INLIER_CLI_PROGRAMS_SAMPLER_H_

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inlier {

class Sampler {
 public:
  // Starts it; it ends with this process. What it prints goes to `log`.
  static absl::StatusOr<std::unique_ptr<Sampler>> Start(std::vector<std::string> arguments,
                                                        std::filesystem::path log);
  ~Sampler();  // Stops it.

  // Starts it again where a signal has ended it, some times. An error, with what it printed last, where it has ended with one.
  absl::Status Poll();

 private:
  Sampler(std::vector<std::string> arguments, std::filesystem::path log)
      : arguments_(std::move(arguments)), log_(std::move(log)) {}
  absl::Status Spawn();

  std::vector<std::string> arguments_;
  std::filesystem::path log_;
  pid_t pid_ = -1;
  int killed_ = 0;  // So often.
};

}  // namespace inlier

#endif  // INLIER_CLI_PROGRAMS_SAMPLER_H_
