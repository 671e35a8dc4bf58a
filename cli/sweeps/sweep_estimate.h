// The trainings and evaluations of a sweep before it is submitted, and their time by earlier ones of the same model and data.
#ifndef INLIER_CLI_SWEEPS_SWEEP_ESTIMATE_H_
#define INLIER_CLI_SWEEPS_SWEEP_ESTIMATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "cli/connection/session.h"
#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Of trainings that take the same time a step: same model, data, batch and precision.
struct Work {
  std::uint64_t trainings = 0, evaluations = 0;
  double steps = 0;  // Of all of them; trainings by epochs have none.
};

struct SweepWork {
  std::uint64_t trainings = 0, evaluations = 0;
  bool whole = true;                  // False: the sweep is large, and only its first points are counted.
  std::map<std::string, Work> kinds;  // By WorkKind.
};

// Counts the distinct stages of the points, for at most `time` and up to 20,000 evaluations.
SweepWork CountWork(const SweepGrid& grid, Duration time = std::chrono::seconds(2));

// The parts of ResolvedJson of a training that decide the time of a step; empty where it cannot be read.
std::string WorkKind(const std::string& resolved_json);

// The time of earlier stages of a kind.
struct Pace {
  double step_seconds = 0, evaluation_seconds = 0;  // Means.
  std::uint64_t trainings = 0, evaluations = 0;     // That they are known from.
};

// Seconds of one slot for `work`; nullopt where the pace of a kind of it is not known.
std::optional<double> SecondsOf(const SweepWork& work, const std::map<std::string, Pace>& paces);

// "time: about 35 min on 4 slots, by 36 earlier trainings of these models and data"; empty where nothing answers, or nothing is known.
std::string EstimateText(Session& session, const SweepWork& work);

}  // namespace inlier

#endif  // INLIER_CLI_SWEEPS_SWEEP_ESTIMATE_H_
