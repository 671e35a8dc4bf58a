// Histories by seed:
//   simulation_test --seeds=1..100 --steps=500   runs them; a violation is printed with its history, status 1
//   simulation_test --seed=17 --verbose          one of them, printed as it happens
//   simulation_test --traces --seeds=1..8        only the hash of each history
//   --true-clocks                                the wall clock of no worker is off: the same histories
// And, where deliberate bugs are compiled in (simulation_bugs):
//   --list                                     their names
//   --bug=NAME --seeds=1..10000                the first seed that catches it; status 0 when one does
// INLIER_SIMULATION_SEEDS=N takes the place of the last seed.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/deliberate_bug.h"
#include "base/log.h"
#include "tests/simulation/simulation.h"

namespace inlier {
namespace {

struct Flags {
  std::uint64_t first = 1, last = 20, steps = 500;
  bool verbose = false, traces = false, list = false, true_clocks = false;
  std::string bug;
  std::string program;
};

const Simulation* running = nullptr;
std::uint64_t steps_asked = 0;
const char* program = "simulation";

void Report(const std::string& what) {
  const World& world = running->world();
  std::fprintf(stderr, "The latest of the history:\n");
  for (const std::string& line : world.history()) std::fprintf(stderr, "  %s\n", line.c_str());
  std::fprintf(stderr, "seed %llu, step %llu: %s\n", static_cast<unsigned long long>(running->seed()),
               static_cast<unsigned long long>(world.steps()), what.c_str());
  std::fprintf(stderr, "Again, with everything printed: %s --seed=%llu --steps=%llu --verbose\n", program,
               static_cast<unsigned long long>(running->seed()),
               static_cast<unsigned long long>(steps_asked));
}

// A check of the code itself failed: print where, in which history.
void OnAbort(int) {
  if (running != nullptr) Report("a check of the production code failed (above)");
}

bool RunSeeds(const Flags& flags, const FaultVfs& disk, const std::filesystem::path& template_file) {
  const auto started = std::chrono::steady_clock::now();
  std::map<std::string, std::uint64_t> totals;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = flags.first; seed <= flags.last; ++seed) {
    if (!flags.bug.empty()) std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    if (!flags.bug.empty()) std::fflush(stdout);
    Simulation simulation(seed, disk, template_file);
    simulation.world().set_verbose(flags.verbose);
    if (flags.true_clocks) simulation.world().set_true_clocks();
    running = &simulation;
    simulation.Run(flags.steps);
    if (!simulation.world().violation().empty()) {
      if (flags.bug.empty()) {
        Report(simulation.world().violation());
        running = nullptr;
      } else {
        std::printf("caught %s\n", simulation.world().violation().c_str());
      }
      return false;
    }
    running = nullptr;
    if (flags.traces) {
      std::printf("seed %llu trace %016llx steps %llu\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(simulation.world().trace()),
                  static_cast<unsigned long long>(simulation.world().steps()));
    }
    steps += flags.steps;
    for (const auto& [what, count] : simulation.world().totals()) totals[what] += count;
  }
  if (flags.traces || !flags.bug.empty()) return true;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  std::printf("seeds %llu..%llu: %llu steps with faults, %.1f s\n",
              static_cast<unsigned long long>(flags.first), static_cast<unsigned long long>(flags.last),
              static_cast<unsigned long long>(steps), seconds);
  for (const auto& [what, count] : totals) {
    std::printf("  %-28s %llu\n", what.c_str(), static_cast<unsigned long long>(count));
  }
  return true;
}

std::filesystem::path MakeTemplate(const TemporaryFolder& folder) {
  const auto database = Database::Open(folder.path());
  INLIER_CHECK(database.ok());
  return folder.path() / "inlier.db";
}

#ifdef INLIER_DELIBERATE_BUGS
// In a child process, since a bug may end it.
int Hunt(const Flags& flags) {
  int out[2];
  INLIER_CHECK(pipe(out) == 0);
  const pid_t child = fork();
  INLIER_CHECK(child >= 0);
  if (child == 0) {
    dup2(out[1], 1);
    dup2(out[1], 2);
    close(out[0]);
    close(out[1]);
    deliberate_bug = flags.bug.c_str();
    const TemporaryFolder folder("/dev/shm");
    bool clean = false;
    {
      const std::filesystem::path template_file = MakeTemplate(folder);
      const FaultVfs disk;
      clean = RunSeeds(flags, disk, template_file);
    }
    std::fflush(stdout);
    std::filesystem::remove_all(folder.path());
    _exit(clean ? 0 : 1);
  }
  close(out[1]);
  std::FILE* const lines = fdopen(out[0], "r");
  char buffer[4096];
  std::string seed, what;
  while (std::fgets(buffer, sizeof(buffer), lines) != nullptr) {
    std::string line = buffer;
    if (!line.empty() && line.back() == '\n') line.pop_back();
    if (line.rfind("seed ", 0) == 0 && line.find(',') == std::string::npos) {
      seed = line.substr(5);
    } else if (line.rfind("caught ", 0) == 0) {
      what = line.substr(7);
    } else if (const std::size_t at = line.find("check failed: "); at != std::string::npos) {
      what = line.substr(at);
    } else if (what.empty() &&
               (line.find("what():") != std::string::npos || line.find("terminate") != std::string::npos)) {
      what = line;
    }
  }
  std::fclose(lines);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    std::printf("%s\tnot caught\t\n", flags.bug.c_str());
    return 1;
  }
  if (what.empty() && WIFSIGNALED(status)) what = absl::StrCat("signal ", WTERMSIG(status));
  std::printf("%s\t%s\t%s\n", flags.bug.c_str(), seed.c_str(), what.c_str());
  return what.empty() ? 1 : 0;
}
#endif

std::uint64_t Number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

int Main(int count, char** arguments) {
  Flags flags;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "--seed") {
      flags.first = flags.last = Number(value);
    } else if (name == "--seeds") {
      const std::size_t dots = value.find("..");
      flags.first = Number(value.substr(0, dots));
      flags.last = dots == std::string::npos ? flags.first : Number(value.substr(dots + 2));
    } else if (name == "--steps") {
      flags.steps = Number(value);
    } else if (name == "--verbose") {
      flags.verbose = true;
    } else if (name == "--traces") {
      flags.traces = true;
    } else if (name == "--true-clocks") {
      flags.true_clocks = true;
    } else if (name == "--bug") {
      flags.bug = value;
    } else {
      std::fprintf(stderr,
                   "%s: unknown flag; there are --seed=N --seeds=N..M --steps=N --verbose --traces "
                   "--true-clocks --bug=NAME\n",
                   argument.c_str());
      return 2;
    }
  }
  if (const char* seeds = std::getenv("INLIER_SIMULATION_SEEDS"); seeds != nullptr && flags.bug.empty()) {
    flags.last = flags.first + Number(seeds) - 1;
  }
  program = arguments[0];
  steps_asked = flags.steps;
  spdlog::set_level(spdlog::level::off);
  std::signal(SIGABRT, OnAbort);
#ifdef INLIER_DELIBERATE_BUGS
  if (!flags.bug.empty()) return Hunt(flags);
#endif
  const TemporaryFolder folder;
  const std::filesystem::path template_file = MakeTemplate(folder);
  const FaultVfs disk;
  return RunSeeds(flags, disk, template_file) ? 0 : 1;
}

}  // namespace
}  // namespace inlier

int main(int count, char** arguments) { return inlier::Main(count, arguments); }
