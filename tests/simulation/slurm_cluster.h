// A Slurm in virtual time: jobs wait in its queue, run on its nodes, one on each, and end: by themselves, at their time
// limit, when they are cancelled, or with their node. What the coordinator hears of it is in slurm_programs.h.
//
// Thread safety: none.
#ifndef INLIER_TESTS_SIMULATION_SLURM_CLUSTER_H_
#define INLIER_TESTS_SIMULATION_SLURM_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/world.h"

namespace inlier {

// A request of sbatch.
struct SlurmRequest {
  std::string name{};
  std::uint32_t jobs = 1;    // More than one: an array.
  Duration time_limit{};     // Of each run: then its program is killed.
  Duration notice{};         // So long before the limit the program gets SIGTERM.
  Duration worker_length{};  // Argument of the program: when it ends by itself.
};

struct SlurmJob {
  std::string id{};  // "17", or "17_3" of an array.
  SlurmRequest request{};
  std::string state = "PENDING";  // In Slurm's word.
  std::string node{};
  std::uint64_t run = 0;   // Grows with each start: timers of an earlier one are void.
  bool on_a_node = false;  // It has a node, and has not ended.
  bool program = false;    // Its program runs.
  bool cancelled = false;  // It is asked to end.
  bool over = false;       // It has ended, and is never queued again.
  bool hidden = false;     // squeue leaves it out.
  Timestamp since{};       // It is so.
  Timestamp not_before{};  // It is not started earlier.
};

class SlurmCluster {
 public:
  // The programs of jobs; each call is for one that runs, but for `start`.
  struct Programs {
    std::function<void(const SlurmJob& job)> start;
    std::function<void(const std::string& id)> terminate;  // SIGTERM.
    std::function<void(const std::string& id)> kill;
  };

  // `world` outlives it. REQUIRES: nodes > 0.
  SlurmCluster(World& world, int nodes, Programs programs);

  // The id of the new job, or array.
  std::string Submit(const SlurmRequest& request);
  // False: there is no such job, or it has ended.
  bool Cancel(const std::string& id);
  // The program of a job has ended by itself.
  void Exited(const std::string& id);

  // Troubles of some job. It is killed with its node, and queued again or not.
  void FailSome(bool queue_again);
  void HideSome(Duration for_long);
  // All are listed again.
  void Calm();

  // In the order of submission; those that have ended are there for a while.
  const std::vector<SlurmJob>& jobs() const { return jobs_; }
  // Jobs that have not ended.
  std::uint32_t Live() const;
  // Name of some node.
  std::string SomeNode();

  // Output of squeue (engines/slurm_text.h).
  std::string Listing() const;

 private:
  SlurmJob* Find(const std::string& id);
  // The same run of the job; nullptr: it has ended.
  SlurmJob* FindRun(const std::string& id, std::uint64_t run);
  SlurmJob* SomeRunning();
  std::string FreeNode() const;
  void StartSoon();
  void StartJobs();
  void StartOn(SlurmJob& job, const std::string& node);
  void Ask(SlurmJob& job);
  // Its program is killed.
  void Stop(SlurmJob& job);
  void End(SlurmJob& job, const std::string& state);

  World& world_;
  const int nodes_;
  const Programs programs_;
  std::vector<SlurmJob> jobs_;
  std::uint64_t last_id_ = 0;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_SLURM_CLUSTER_H_
