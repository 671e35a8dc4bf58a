// Where and how attempts run; the same for all of a worker. Paths are absolute.
#ifndef INLIER_WORKER_ATTEMPT_SETTINGS_H_
#define INLIER_WORKER_ATTEMPT_SETTINGS_H_

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/time.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/config.pb.h"

namespace inlier {

struct AttemptSettings {
  std::filesystem::path state_dir, data_dir, cache_dir;
  std::vector<std::string> data_roots;    // Where the files that a spec names may be; see SetDataRoots().
  std::filesystem::path data_roots_file;  // WorkerConfig.data_roots_file; empty: none.
  std::vector<std::string> trial_environment;  // TrialEnvironment.
  std::string trial_program;
  std::vector<v1::ProgramRoot> programs;   // Those of one's own that may run.
  std::vector<std::string> program_roots;  // Folders with such programs.
  std::vector<std::string> container;      // AttemptSpec.container.
  std::size_t line_bytes_max = 65536;
  Duration stop_grace = std::chrono::seconds(10);
  // How long the worker waits before it reports a trial that somebody killed: who kills all of a job may kill the trial first.
  Duration killed_wait = Duration::zero();
  // How long an artifact that another machine made may take to appear in the shared folder.
  Duration artifact_wait = std::chrono::seconds(5);

  // Fills data_roots of `spec`, with the lines that data_roots_file has at this moment; a file that cannot be read has none.
  void SetDataRoots(v1::AttemptSpec& spec) const;
};

}  // namespace inlier

#endif  // INLIER_WORKER_ATTEMPT_SETTINGS_H_
