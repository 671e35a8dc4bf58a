// `inlier-worker describe-machine FILE`: describes this machine to a worker on another one, which runs trials here.
#ifndef INLIER_WORKER_MACHINES_DESCRIBE_H_
#define INLIER_WORKER_MACHINES_DESCRIBE_H_

namespace inlier {

inline constexpr char kDescribeMachine[] = "describe-machine";

// Checks that trials can run here with the v1::WorkerConfig in `file` (JSON, all of it resolved), whose address is this
// machine's, and prints a v1::MachineReport as a line of JSON. The exit status.
int DescribeMachine(const char* file);

}  // namespace inlier

#endif  // INLIER_WORKER_MACHINES_DESCRIBE_H_
