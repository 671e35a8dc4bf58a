// Shared by the loads of bench/: quantiles, the disk's own pace, a process's memory, the trial they submit.
#ifndef INLIER_BENCH_DISPATCH_LOAD_REPORT_H_
#define INLIER_BENCH_DISPATCH_LOAD_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The value below which a share `q` of `values` lies; 0 for none.
double Quantile(std::vector<double> values, double q);

// Seconds of `count` appends of 4 KiB, each followed by fdatasync, to a file made in `folder` and removed;
// `pause` after each.
absl::StatusOr<std::vector<double>> TimeDisk(const std::string& folder, int count,
                                             Duration pause = Duration::zero());

// Resident memory of process `pid` in MiB; 0 when there is none.
double ResidentMib(int pid);

// A small valid trial, for sweeps that are not trained.
v1::TrialSpec LoadTrial();

}  // namespace inlier

#endif  // INLIER_BENCH_DISPATCH_LOAD_REPORT_H_
