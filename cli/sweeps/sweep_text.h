// The state of a sweep in words, for every command the same.
#ifndef INLIER_CLI_SWEEPS_SWEEP_TEXT_H_
#define INLIER_CLI_SWEEPS_SWEEP_TEXT_H_

#include <cstdint>
#include <string>

#include "base/time.h"
#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// "cancelled", "stopped by failures".
std::string SweepStateWord(v1::SweepState state);

// "37/48 trials", with the numbers of known, diverged, failed, pruned and cancelled ones if there are any.
std::string DescribeTrials(const v1::TrialCounts& counts);

// "trained 2/8, evaluated 4/16".
std::string DescribeStages(const v1::SweepStatus& status);

// "complete", "partly failed: 3 of 56 trials" or "failed: all 56 trials". REQUIRES: its state is COMPLETE.
std::string DescribeEnd(const v1::TrialCounts& counts);

// Of a worker that is not connected: "stopped" where it was draining and had no attempt left, else "lost".
const char* AwayWord(const v1::WorkerStatus& worker);

// How it stands, in a word or two: "complete", "partly failed: 3 of 56 trials", "paused", "active".
std::string SweepWord(const v1::SweepStatus& sweep);

uint64_t TotalTrials(const v1::TrialCounts& counts);
uint64_t EndedTrials(const v1::TrialCounts& counts);

// "4 min 25 s" from its submission to its end, or to `now`; empty when the submission is not known.
std::string RunTimeText(const v1::SweepStatus& status, WallTime now);

// "2026-01-31 13:00:00 +0100", in the zone of this machine or of TZ.
std::string FormatLocal(WallTime time);
// "13:00:00"
std::string FormatClock(WallTime time);

}  // namespace inlier

#endif  // INLIER_CLI_SWEEPS_SWEEP_TEXT_H_
