// Texts are those that Slurm 22.05.8 printed.
#include "fleet/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/fleet/fleet_config.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

using Phase = EngineJob::Phase;
using Kind = Submitted::Kind;

constexpr char kQueue[] =
    "7|FAILED|BadConstraints||inlier-3fa9c1d2-4\n"
    "2_5|PENDING|Resources||inlier-3fa9c1d2-2\n"
    "2_6|PENDING|Priority||inlier-3fa9c1d2-2\n"
    "6|PENDING|PartitionConfig||inlier-3fa9c1d2-3\n"
    "1|RUNNING|None|n1|inlier-3fa9c1d2-1\n"
    "2_0|CANCELLED|None|n1|inlier-3fa9c1d2-2\n"
    "2_1|COMPLETING|None|n2|inlier-3fa9c1d2-2\n"
    "9|RUNNING|None|n3|my job | with a bar\n"
    "10|RUNNING|None|n3|inlier-00000000-1\n"
    "11|RUNNING|None|n3|inlier-3fa9c1d2-1x\n"
    "12+0|RUNNING|None|n3|a job of several parts\n"
    "13_[2-9%4]|PENDING|Priority||an array\n";

ProgramEnd End(int status, const std::string& output, const std::string& errors) {
  return {.status = status << 8, .output = output, .errors = errors};
}

TEST(SqueueTest, JobsOfTheFleetAreRead) {
  const auto jobs = ParseSqueue("3fa9c1d2", kQueue).value();
  ASSERT_EQ(jobs.size(), 7u);
  const EngineJob& failed = jobs.at(0);
  EXPECT_EQ(failed.id, "7");
  EXPECT_EQ(failed.submission, 4u);
  EXPECT_EQ(failed.phase, Phase::kEnded);
  EXPECT_EQ(failed.reason, "BadConstraints");
  EXPECT_EQ(jobs.at(1).phase, Phase::kQueued);
  EXPECT_EQ(jobs.at(1).id, "2_5");
  EXPECT_EQ(jobs.at(4).phase, Phase::kRunning);
  EXPECT_EQ(jobs.at(4).reason, "");
  EXPECT_EQ(jobs.at(4).node, "n1");
  EXPECT_EQ(jobs.at(5).phase, Phase::kEnded);
  EXPECT_EQ(jobs.at(6).phase, Phase::kRunning);  // It holds its node still.
}

// Its nodes boot: it has not run, and can be taken back.
TEST(SqueueTest, AJobWhoseNodesBootIsQueued) {
  const auto jobs = ParseSqueue("3fa9c1d2", "1|CONFIGURING|None|n1|inlier-3fa9c1d2-1\n").value();
  EXPECT_EQ(jobs.at(0).phase, Phase::kQueued);
}

TEST(SqueueTest, AJobThatIsHeldAfterAFailedStartIsStuckInTheWordsOfEachVersion) {
  for (const char* reason : {"launch failed requeued held", "launch_failed_requeued_held"}) {
    const auto jobs =
        ParseSqueue("3fa9c1d2", absl::StrCat("1|PENDING|", reason, "||inlier-3fa9c1d2-1\n")).value();
    EXPECT_TRUE(jobs.at(0).stuck) << reason;
  }
  EXPECT_FALSE(ParseSqueue("3fa9c1d2", "1|PENDING|JobHeldUser||inlier-3fa9c1d2-1\n")->at(0).stuck);
}

TEST(SqueueTest, JobsOfHiddenPartitionsAreAskedForToo) { EXPECT_THAT(SqueueArguments(), Contains("--all")); }

TEST(SqueueTest, AnEmptyQueueIsNoError) { EXPECT_THAT(ParseSqueue("3fa9c1d2", "").value(), IsEmpty()); }

// A line that cannot be read may be a job that would be asked for again.
TEST(SqueueTest, ALineThatIsNoJobIsAnError) {
  for (const char* line :
       {"slurm_load_jobs error\n", "2_5|PENDING|Resources\n", "x|RUNNING|None|n1|inlier-3fa9c1d2-1\n",
        "2_[5-6]|PENDING|Priority||inlier-3fa9c1d2-2\n"})
    EXPECT_TRUE(absl::IsInternal(ParseSqueue("3fa9c1d2", line).status())) << line;
}

TEST(SqueueTest, AStateThatIsNotKnownIsAJobThatIsThere) {
  const auto jobs = ParseSqueue("3fa9c1d2", "1|HIBERNATING|None|n1|inlier-3fa9c1d2-1\n").value();
  EXPECT_EQ(jobs.at(0).phase, Phase::kRunning);
}

TEST(SbatchTest, AnIdIsTaken) {
  EXPECT_EQ(ParseSbatch(3, End(0, "17\n", "")).job, "17");
  EXPECT_EQ(ParseSbatch(3, End(0, "17;cluster\n", "")).job, "17");
  EXPECT_EQ(ParseSbatch(3, End(0, "17\n", "")).kind, Kind::kTaken);
}

TEST(SbatchTest, RefusalsGiveTheReason) {
  for (const char* error :
       {"invalid partition specified: nope", "Batch job submission failed: Invalid feature specification",
        "Batch job submission failed: Invalid job array specification",
        "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size "
        "and/or time limits)",
        "Batch job submission failed: Unable to contact slurm controller (connect failure)"}) {
    const Submitted submitted = ParseSbatch(3, End(1, "", absl::StrCat("sbatch: error: ", error, "\n")));
    EXPECT_EQ(submitted.kind, Kind::kRefused) << error;
    EXPECT_EQ(submitted.message, error);
  }
}

// Slurm may have taken what was sent.
TEST(SbatchTest, WithoutAnAnswerItIsUnclear) {
  EXPECT_EQ(ParseSbatch(3, {.status = std::nullopt}).kind, Kind::kUnclear);
  EXPECT_EQ(ParseSbatch(3, {.status = 9}).kind, Kind::kUnclear);  // Killed by another.
  EXPECT_EQ(ParseSbatch(3, End(0, "", "")).kind, Kind::kUnclear);
  EXPECT_EQ(
      ParseSbatch(
          3,
          End(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"))
          .kind,
      Kind::kUnclear);
  const Submitted killed = ParseSbatch(
      3, {.status = std::nullopt,
          .errors = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"});
  EXPECT_THAT(killed.message, HasSubstr("temporarily unable to accept job"));
}

TEST(SbatchTest, ASitesOwnLinesAreNoReason) {
  EXPECT_EQ(
      FirstError("*****\nsbatch: your project has 5 hours left\nsbatch: error: invalid partition\nmore\n"),
      "invalid partition");
  EXPECT_EQ(FirstError("sbatch: no\nmore\n"), "sbatch: no");
}

TEST(SbatchTest, OfALongErrorTheBeginningIsKeptAsUtf8) {
  const std::string error = FirstError(absl::StrCat("sbatch: error: no \xff", std::string(5000, 'x'), "\n"));
  EXPECT_THAT(error, StartsWith("no \uFFFDxxx"));
  EXPECT_LT(error.size(), 1100u);
}

FleetStep Step(std::uint32_t jobs) {
  FleetStep step{.id = "3fa9c1d2", .config = SmallFleet()};
  step.submit = {.number = 17, .jobs = jobs};
  return step;
}

std::vector<std::string> Arguments(const FleetStep& step) {
  return SbatchArguments(step, "/state/fleet/worker.sh", "/opt/inlier-worker", "/state/fleet");
}

TEST(SbatchArgumentsTest, OneJobIsNoArray) {
  const auto arguments = Arguments(Step(1));
  EXPECT_THAT(arguments, Contains("--job-name=inlier-3fa9c1d2-17"));
  EXPECT_THAT(arguments, Contains("--partition=gpu"));
  EXPECT_THAT(arguments, Contains("--time=60"));
  EXPECT_THAT(arguments, Contains("--signal=B:TERM@120"));
  EXPECT_THAT(arguments, Contains("--output=/state/fleet/%x.%j.out"));
  EXPECT_THAT(arguments, Contains("--propagate=NONE"));
  EXPECT_THAT(arguments, Not(Contains(StartsWith("memory_mib="))));
  EXPECT_THAT(arguments, Not(Contains(StartsWith("--array"))));
  EXPECT_THAT(arguments, Not(Contains(StartsWith("--account"))));
}

TEST(SbatchArgumentsTest, SeveralJobsAreAnArrayAndTheWorkerComesLast) {
  FleetStep step = Step(8);
  step.config.mutable_slurm()->set_cpus(4);
  step.config.mutable_slurm()->set_memory_mib(2000);
  step.config.mutable_slurm()->add_options("--exclusive");
  step.config.add_worker_set("name=a; b");
  const auto arguments = Arguments(step);
  EXPECT_THAT(arguments, AllOf(Contains("--array=0-7"), Contains("-c4"), Contains("--mem=2000M"),
                               Contains("--exclusive"), Contains("--output=/state/fleet/%x.%A_%a.out")));
  const std::vector<std::string> last(arguments.end() - 14, arguments.end());
  EXPECT_THAT(last,
              ElementsAre("/state/fleet/worker.sh", "/opt/inlier-worker", "--config", "/shared/worker.yaml",
                          "--set", "job_seconds=3480", "--set", "http_listen=127.0.0.1:0", "--set", "slots=2",
                          "--set", "memory_mib=2000", "--set", "name=a; b"));
}

TEST(SbatchArgumentsTest, AWorkerOfSeveralNodesHasTheSlotsOfAll) {
  FleetStep step = Step(1);
  step.config.mutable_slurm()->set_nodes(2);
  const auto arguments = Arguments(step);
  EXPECT_THAT(arguments, AllOf(Contains("--nodes=2"), Contains("job_nodes=true")));
  step.config.mutable_slurm()->set_nodes(1);
  EXPECT_THAT(Arguments(step), AllOf(Contains("--nodes=1"), Not(Contains("job_nodes=true"))));
}

TEST(FleetJobNameTest, ANameLeadsBackToItsSubmissionAlone) {
  EXPECT_EQ(SubmissionOf("3fa9c1d2", FleetJobName("3fa9c1d2", 17)), 17u);
  for (const char* name :
       {"inlier-3fa9c1d2-", "inlier-3fa9c1d2-017", "inlier-3fa9c1d2-17 ", "inlier-3fa9c1d2-0",
        "inlier-3fa9c1d2-18446744073709551615", "inlier-3fa9c1d3-17", "other", ""})
    EXPECT_EQ(SubmissionOf("3fa9c1d2", name), 0u) << name;
}

}  // namespace
}  // namespace inlier
