#include "tests/simulation/slurm_programs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Exit status 1, as of waitpid(2).
constexpr int kFailed = 1 << 8;
constexpr char kAway[] = "Unable to contact slurm controller (connect failure)";
// A request arrives so long after its program was killed at most: far below unclear_seconds of the fleet.
constexpr Duration kLatest = seconds(8);

ProgramEnd Printed(std::string output) { return {.status = 0, .output = std::move(output)}; }
ProgramEnd Failed(std::string errors) { return {.status = kFailed, .errors = std::move(errors)}; }
ProgramEnd Killed() { return {.status = std::nullopt}; }

// The rest of the argument that begins so.
std::string After(const std::vector<std::string>& arguments, const std::string& begin) {
  for (const std::string& argument : arguments) {
    if (argument.starts_with(begin)) return argument.substr(begin.size());
  }
  return "";
}

int NumberAfter(const std::vector<std::string>& arguments, const std::string& begin) {
  int number = 0;
  INLIER_CHECK(absl::SimpleAtoi(After(arguments, begin), &number));
  return number;
}

SlurmRequest RequestOf(const std::vector<std::string>& arguments) {
  SlurmRequest request;
  request.name = After(arguments, "--job-name=");
  if (!After(arguments, "--array=").empty())
    request.jobs = static_cast<std::uint32_t>(1 + NumberAfter(arguments, "--array=0-"));
  request.time_limit = minutes(NumberAfter(arguments, "--time="));
  request.notice = seconds(NumberAfter(arguments, "--signal=B:TERM@"));
  request.worker_length = seconds(NumberAfter(arguments, "job_seconds="));
  return request;
}

}  // namespace

SlurmPrograms::SlurmPrograms(World& world, FleetOracle& oracle, SlurmCluster& cluster)
    : world_(world), oracle_(oracle), cluster_(cluster) {}

Duration SlurmPrograms::OnTheWay() { return world_.random().Between(milliseconds(20), milliseconds(800)); }

void SlurmPrograms::Sbatch(const std::vector<std::string>& arguments, Duration limit, Ended ended) {
  const SlurmRequest request = RequestOf(arguments);
  const FleetFaults& faults = *world_.plan().fleet;
  Random& random = world_.random();
  oracle_.SbatchStarts(request.name, request.jobs);
  const auto ends = [this, name = request.name, ended = std::move(ended)](const ProgramEnd& end) {
    oracle_.SbatchEnds(name);
    ended(end);
  };
  if (IsAway() || world_.Chance(faults.unreachable)) {
    world_.Count("submissions refused");
    oracle_.SbatchRefused(request.name);
    const ProgramEnd end = Failed(absl::StrCat("sbatch: error: Batch job submission failed: ", kAway, "\n"));
    return world_.After(OnTheWay(), [ends, end] { ends(end); });
  }
  if (!world_.Chance(faults.unanswered)) {
    return world_.After(OnTheWay(), [this, request, ends] {
      const ProgramEnd end = Take(request);
      world_.After(OnTheWay(), [ends, end] { ends(end); });
    });
  }
  // Its answer is lost: it never arrives, or in time, or after the program was killed.
  world_.Count("submissions without an answer");
  const ProgramEnd end =
      random.PerMille(500)
          ? Killed()
          : Failed("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n");
  const int which = random.Below(3);
  if (which == 0) {
    oracle_.SbatchLost(request.name);
  } else {
    const Duration arrives = which == 1 ? OnTheWay() : limit + random.Between(Duration(0), kLatest);
    world_.After(arrives, [this, request] { Take(request); });
  }
  world_.After(limit, [ends, end] { ends(end); });
}

ProgramEnd SlurmPrograms::Take(const SlurmRequest& request) {
  if (world_.now() < limited_until_ && cluster_.Live() + request.jobs > jobs_max_) {
    world_.Count("submissions refused");
    oracle_.SbatchRefused(request.name);
    return Failed(
        "sbatch: error: QOSMaxSubmitJobPerUserLimit\n"
        "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy\n");
  }
  const std::string id = cluster_.Submit(request);
  oracle_.SbatchTaken(request.name, id);
  world_.Count("submissions taken");
  return Printed(absl::StrCat(id, "\n"));
}

void SlurmPrograms::Squeue(Duration limit, Ended ended) {
  const FleetFaults& faults = *world_.plan().fleet;
  if (IsAway() || world_.Chance(faults.list_fails)) {
    world_.Count("looks that failed");
    const ProgramEnd end = Failed(absl::StrCat("slurm_load_jobs error: ", kAway, "\n"));
    return world_.After(OnTheWay(), [ended = std::move(ended), end] { ended(end); });
  }
  // A slow one may print what is out of date by then, or be killed.
  const bool slow = world_.Chance(faults.list_slow);
  if (slow && world_.random().PerMille(500)) {
    world_.Count("looks that failed");
    return world_.After(limit, [ended = std::move(ended)] { ended(Killed()); });
  }
  world_.After(OnTheWay(), [this, slow, limit, ended = std::move(ended)] {
    const bool stale = world_.now() < stale_until_;
    if (stale) world_.Count("looks that are out of date");
    const ProgramEnd end = Printed(stale ? stale_listing_ : cluster_.Listing());
    const Duration back = slow ? limit - seconds(1) : OnTheWay();
    world_.After(back, [ended, end] { ended(end); });
  });
}

void SlurmPrograms::Scancel(const std::vector<std::string>& jobs, Duration limit, Ended ended) {
  const FleetFaults& faults = *world_.plan().fleet;
  const auto cancel = [this, jobs] {
    std::string errors;
    for (const std::string& job : jobs) {
      if (!cluster_.Cancel(job))
        absl::StrAppend(&errors, "scancel: error: Kill job error on job id ", job,
                        ": Invalid job id specified\n");
    }
    return errors;
  };
  if (IsAway() || world_.Chance(faults.cancel_fails)) {
    world_.Count("cancellations that failed");
    // Some of those that fail have reached Slurm.
    if (!IsAway() && world_.random().PerMille(300)) world_.After(OnTheWay(), [cancel] { cancel(); });
    const ProgramEnd end = Failed(absl::StrCat("scancel: error: Kill job error on job id ",
                                               absl::StrJoin(jobs, " "), ": ", kAway, "\n"));
    return world_.After(limit, [ended = std::move(ended), end] { ended(end); });
  }
  world_.After(OnTheWay(), [this, cancel, ended = std::move(ended)] {
    const std::string errors = cancel();
    const ProgramEnd end = errors.empty() ? Printed("") : Failed(errors);
    world_.After(OnTheWay(), [ended, end] { ended(end); });
  });
}

void SlurmPrograms::LimitJobs(std::uint32_t jobs, Duration for_long) {
  world_.Note(absl::StrCat("Slurm allows ", jobs, " jobs"));
  jobs_max_ = jobs;
  limited_until_ = world_.now() + for_long;
}

void SlurmPrograms::Fail(Duration for_long) {
  world_.Note("Slurm is away");
  away_until_ = world_.now() + for_long;
}

void SlurmPrograms::Stale(Duration for_long) {
  world_.Note("Slurm lists what was there");
  stale_listing_ = cluster_.Listing();
  stale_until_ = world_.now() + for_long;
}

void SlurmPrograms::Calm() { away_until_ = stale_until_ = limited_until_ = world_.now(); }

}  // namespace inlier
