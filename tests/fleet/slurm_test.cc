// Slurm's programs as child processes: here scripts that print what Slurm's own printed, or do not end.
#include "fleet/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/fleet/fleet_config.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SlurmTest : public testing::Test {
 protected:
  SlurmTest() : slurm_(folder_.path() / "state") {
    step_.id = "3fa9c1d2";
    step_.config = SmallFleet();
    step_.config.set_call_seconds(20);
    step_.config.set_worker_program("/opt/inlier-worker");
    step_.config.mutable_slurm()->set_programs(folder_.path());
    step_.config.mutable_slurm()->set_conf("/etc/slurm/test.conf");
    step_.submit = {.number = 7, .jobs = 2};
    step_.cancel = {"17_0", "18"};
  }

  void Program(const std::string& name, const std::string& script) {
    const std::string path = folder_.path() / name;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(folder_.path() / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_;
  Slurm slurm_;
  FleetStep step_;
};

TEST_F(SlurmTest, TheQueueIsReadWithASmallEnvironment) {
  ::setenv("INLIER_SECRET_OF_THE_TEST", "secret", 1);
  ::setenv("SLURM_JOB_ID", "1", 1);
  Program("squeue", absl::StrCat("env >", Path("env"), "; echo \"$@\" >", Path("arguments"),
                                 "; echo '2_5|PENDING|Resources||inlier-3fa9c1d2-2'"));
  const auto jobs = slurm_.List(step_).value();
  ::unsetenv("SLURM_JOB_ID");
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs.at(0).id, "2_5");
  EXPECT_THAT(Text("env"), AllOf(HasSubstr("SLURM_CONF=/etc/slurm/test.conf\n"), Not(HasSubstr("SECRET")),
                                 Not(HasSubstr("SLURM_JOB_ID"))));
  EXPECT_THAT(Text("arguments"), HasSubstr("--states=all"));
}

TEST_F(SlurmTest, ASubmissionGivesTheScriptAndTheWorkersArgumentsWordByWord) {
  step_.config.add_worker_set("name=a b; $(id)");
  Program("sbatch", absl::StrCat("printf '%s\\n' \"$@\" >", Path("arguments"), "; echo 17"));
  const Submitted submitted = slurm_.Submit(step_);
  EXPECT_EQ(submitted.kind, Submitted::Kind::kTaken) << submitted.message;
  EXPECT_EQ(submitted.number, 7u);
  EXPECT_EQ(submitted.job, "17");
  EXPECT_THAT(
      Text("arguments"),
      AllOf(HasSubstr("--job-name=inlier-3fa9c1d2-7\n"), HasSubstr("--array=0-1\n"),
            HasSubstr(absl::StrCat(Path("state/fleet/worker.sh"), "\n/opt/inlier-worker\n--config\n")),
            HasSubstr("\nname=a b; $(id)\n")));
  EXPECT_EQ(Text("state/fleet/worker.sh"), "#!/bin/sh\nexec \"$@\"\n");
}

TEST_F(SlurmTest, ARefusalHasSlurmsReason) {
  Program("sbatch",
          "echo 'sbatch: error: invalid partition specified: nope' >&2\n"
          "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2\nexit 1");
  const Submitted submitted = slurm_.Submit(step_);
  EXPECT_EQ(submitted.kind, Submitted::Kind::kRefused);
  EXPECT_EQ(submitted.message, "invalid partition specified: nope");
}

TEST_F(SlurmTest, ProgramsThatDoNotEndAreKilledAndASubmissionIsUnclear) {
  step_.config.set_call_seconds(1);
  Program(
      "sbatch",
      "echo 'sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying' >&2; sleep 60");
  const Submitted submitted = slurm_.Submit(step_);
  EXPECT_EQ(submitted.kind, Submitted::Kind::kUnclear);
  EXPECT_THAT(submitted.message, HasSubstr("temporarily unable"));
  Program("squeue", "sleep 60");
  EXPECT_THAT(slurm_.List(step_), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                           HasSubstr("squeue did not end within 1 s (fleet.call_seconds)")));
}

TEST_F(SlurmTest, ASlurmThatIsDownIsNamedWithItsError) {
  Program("squeue",
          "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1");
  EXPECT_THAT(slurm_.List(step_), StatusIs(absl::StatusCode::kUnavailable,
                                           "squeue: Unable to contact slurm controller (connect failure)"));
}

TEST_F(SlurmTest, WithoutItsProgramsTheRemedyIsNamed) {
  EXPECT_THAT(std::string(slurm_.List(step_).status().message()),
              AllOf(HasSubstr("squeue is not in "), HasSubstr("fleet.slurm.programs")));
  EXPECT_EQ(slurm_.Submit(step_).kind, Submitted::Kind::kRefused);
}

TEST_F(SlurmTest, ProgramsThatOthersCanChangeAreNotRun) {
  Program("squeue", absl::StrCat("touch ", Path("ran")));
  ASSERT_EQ(::chmod(Path("squeue").c_str(), 0757), 0);
  EXPECT_THAT(std::string(slurm_.List(step_).status().message()),
              AllOf(HasSubstr("fleet.slurm.programs"), HasSubstr("squeue is writable by other users")));
  ASSERT_EQ(::chmod(Path("squeue").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_THAT(std::string(slurm_.List(step_).status().message()), HasSubstr("chmod go-w"));
  EXPECT_FALSE(std::filesystem::exists(Path("ran")));
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  EXPECT_TRUE(slurm_.List(step_).ok());
  EXPECT_TRUE(std::filesystem::exists(Path("ran")));
}

TEST_F(SlurmTest, JobsAreCancelledByTheirIdsAndGoneOnesAreNoError) {
  Program("scancel", absl::StrCat("echo \"$@\" >", Path("arguments")));
  EXPECT_TRUE(slurm_.Cancel(step_).ok());
  EXPECT_EQ(Text("arguments"), "17_0 18\n");
  Program("scancel",
          "echo 'scancel: error: Kill job error on job id 18: Invalid job id specified' >&2; exit 1");
  EXPECT_TRUE(slurm_.Cancel(step_).ok());
  Program("scancel",
          "echo 'scancel: error: Kill job error on job id 18: Unable to contact slurm controller (connect "
          "failure)' >&2; exit 8");
  EXPECT_TRUE(absl::IsUnavailable(slurm_.Cancel(step_)));
}

}  // namespace
}  // namespace inlier
