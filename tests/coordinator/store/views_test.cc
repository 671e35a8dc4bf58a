// The exact rows of the views.
#include <limits>

#include "coordinator/store/views/param_view.h"
#include "spec/schema/columns.h"
#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ViewsTest : public StoreTest {
 protected:
  // Training (stage 1) done as attempt 1, evaluation (stage 2) done as attempt 2, trial 1 succeeded.
  void MustFinishTrial() {
    MustAddTrial();
    MustApply(Start(1, 1), Point(1, "train_loss", 10, 5.0), Point(1, "train_loss", 20, 4.0),
              Final(1, "train_seconds", 12.5), Checkpoint(1, 200, true), End(1, v1::SUCCEEDED));
    MustApply(Start(2, 2), Final(2, "perplexity", 4.5), Final(2, "max_inf_norm", 20), End(2, v1::SUCCEEDED),
              TrialIs(1, v1::SUCCEEDED));
  }
};

TEST_F(ViewsTest, TrialsHaveAColumnForEachHyperParameter) {
  MustAddTrial();
  EXPECT_THAT(Rows("SELECT trial, sweep, sweep_id, state, label, labels->>'gamma', gamma, zeta, softmax, "
                   "seed, learning_rate, train_stage, "
                   "evaluate_stage FROM trials"),
              ElementsAre("t-1|gamma|s-1|PENDING|-0.03, 1|-0.03|-0.03|1|clipped|1|NULL|st-1|st-2"));
}

TEST_F(ViewsTest, EveryParameterColumnIsInTrialsAndResults) {
  for (const char* view : {"trials", "results"}) {
    const auto response = Query(std::string("SELECT * FROM ") + view).value();
    EXPECT_GT(SpecColumns().size(), 15u);
    for (const SpecColumn& column : SpecColumns())
      EXPECT_THAT(response.columns(), Contains(column.name)) << view;
  }
}

TEST_F(ViewsTest, ResultsAreWideAndOnlyOfTrialsThatHaveOne) {
  MustFinishTrial();
  MustApply(Trial(2, 1, 1, 1, 2));
  EXPECT_THAT(Rows("SELECT trial, sweep, state, gamma, perplexity, max_inf_norm, train_seconds, avg_kurtosis "
                   "FROM results"),
              ElementsAre("t-1|gamma|SUCCEEDED|-0.03|4.5|20|12.5|NULL"));
}

// A trial of another sweep with the same stages has a row of its own; the stage shows that the number is one.
TEST_F(ViewsTest, ResultsNameTheStagesThatTheyAreOf) {
  MustFinishTrial();
  MustApply(Sweep(2, "again"), Trial(2, 2, 0, 1, 2));
  MustApply(TrialIs(2, v1::SUCCEEDED));
  EXPECT_THAT(Rows("SELECT trial, train_stage, evaluate_stage, perplexity FROM results ORDER BY trial"),
              ElementsAre("t-1|st-1|st-2|4.5", "t-2|st-1|st-2|4.5"));
  EXPECT_THAT(Rows("SELECT count(*), count(DISTINCT evaluate_stage) FROM results"), ElementsAre("2|1"));
}

TEST_F(ViewsTest, DistinctResultsCountARepeatedSubmissionOnce) {
  MustFinishTrial();
  MustApply(Sweep(2, "again"), Trial(2, 2, 0, 1, 2));
  MustApply(TrialIs(2, v1::SUCCEEDED));
  EXPECT_THAT(Rows("SELECT trial, sweep, perplexity FROM distinct_results"), ElementsAre("t-1|gamma|4.5"));
  EXPECT_THAT(Rows("SELECT count(*) FROM distinct_results WHERE sweep_id = 's-2'"), ElementsAre("0"));
}

TEST_F(ViewsTest, EffectiveGammaIsTheLowerLimitOfVanillaGammaAndAlphaAlike) {
  const auto softmax = [](const std::string& kind, const std::string& more = "") {
    return R"({"attention":{"softmax":{)" + kind + "}}" + more + "}";
  };
  MustApply(Sweep(1));
  const std::vector<std::string> specs = {
      softmax(R"("vanilla":{})"), softmax(R"("clipped":{"gamma":-0.03,"zeta":1.0})"),
      softmax(R"("clipped":{"alpha":4.0})", R"(,"data":{"text":{"sequence_length":128}})"),
      softmax(R"("clipped":{"alpha":5.0})",
              R"(,"model":{"vit":{"image_size":28,"patch_size":7}},"data":{"images":{}})"),
      softmax(R"("softmax_n":{"n":1.0})")};
  for (int i = 0; i < static_cast<int>(specs.size()); ++i)
    MustApply(Train(2 * i + 1, specs[static_cast<std::size_t>(i)]), Evaluate(2 * i + 2, 2 * i + 1),
              Trial(i + 1, 1, i, 2 * i + 1, 2 * i + 2));
  EXPECT_THAT(Rows("SELECT effective_gamma FROM trials ORDER BY point"),
              ElementsAre("0", "-0.03", "-0.03125", "-0.294118", "NULL"));
}

TEST_F(ViewsTest, AttemptsHaveTheNameOfTheirWorker) {
  MustAddTrial();
  WorkerRow worker{.incarnation = "w-uuid", .name = "gpu-1", .host = "h", .version = "1", .slots = 1};
  worker.devices = {"cpu"};
  worker.used = true;
  MustApply(worker, Start(1, 1));
  EXPECT_THAT(Rows("SELECT worker, worker_name FROM attempts"), ElementsAre("w-uuid|gpu-1"));
}

TEST_F(ViewsTest, PointsOfASharedTrainingCountOnceByItsStage) {
  MustFinishTrial();
  MustApply(Sweep(2, "again"), Trial(2, 2, 0, 1, 2));
  EXPECT_THAT(Rows("SELECT count(*) FROM curves"), ElementsAre("4"));
  EXPECT_THAT(Rows("SELECT stage, step, value FROM curves GROUP BY stage, name, site, step"),
              ElementsAre("st-1|10|5", "st-1|20|4"));
}

TEST_F(ViewsTest, ResultsShowOnlyTheAttemptThatProducedThem) {
  MustTrain();
  MustApply(Start(2, 2), Final(2, "perplexity", 99), Fail(2, v1::CRASHED), Start(3, 2, 2),
            Final(3, "perplexity", 4.5), End(3, v1::SUCCEEDED), TrialIs(1, v1::SUCCEEDED));
  EXPECT_THAT(Rows("SELECT perplexity FROM results"), ElementsAre("4.5"));
}

TEST_F(ViewsTest, SharedStageCountsForEveryTrialOfEverySweep) {
  MustFinishTrial();
  TrialRow twin = Trial(2, 2, 0, 1, 2);
  twin.state = v1::SUCCEEDED;
  MustApply(Sweep(2, "again"), twin);
  EXPECT_THAT(Rows("SELECT trial, sweep, perplexity FROM results ORDER BY trial"),
              ElementsAre("t-1|gamma|4.5", "t-2|again|4.5"));
  EXPECT_THAT(Rows("SELECT trial, step, value FROM curves WHERE sweep = 'again' ORDER BY step"),
              ElementsAre("t-2|10|5", "t-2|20|4"));
}

TEST_F(ViewsTest, DivergedTrialIsAResult) {
  MustAddTrial();
  MustApply(Start(1, 1), Final(1, "train_loss", std::numeric_limits<double>::quiet_NaN()),
            End(1, v1::DIVERGED),
            StageChange{
                .id = StageId(2), .state = v1::DIVERGED, .failures = {}, .message = "its training diverged"},
            TrialIs(1, v1::DIVERGED));
  EXPECT_THAT(Rows("SELECT trial, state, train_loss, perplexity FROM results"),
              ElementsAre("t-1|DIVERGED|NULL|NULL"));
}

TEST_F(ViewsTest, NotANumberIsNullAndInfinityIsItself) {
  MustAddTrial();
  MustApply(Start(1, 1), Point(1, "train_loss", 1, std::numeric_limits<double>::quiet_NaN()),
            Point(1, "train_loss", 2, std::numeric_limits<double>::infinity()));
  EXPECT_THAT(Rows("SELECT step, value FROM curves ORDER BY step"), ElementsAre("1|NULL", "2|inf"));
}

TEST_F(ViewsTest, CurveOfAResumedTrainingIsTheLineOfItsAttempts) {
  MustAddTrial();
  MustApply(Start(1, 1), Point(1, "train_loss", 50, 5), Point(1, "train_loss", 100, 4),
            Checkpoint(1, 100, false), Point(1, "train_loss", 150, 3), Fail(1, v1::LOST));
  EXPECT_THAT(Rows("SELECT step, value FROM curves ORDER BY step"), ElementsAre("50|5", "100|4", "150|3"));
  MustApply(Start(2, 1, 2, 100));
  EXPECT_THAT(Rows("SELECT step, value FROM curves ORDER BY step"), ElementsAre("50|5", "100|4"));
  MustApply(Point(2, "train_loss", 150, 3.5), Point(2, "train_loss", 200, 2.5), Checkpoint(2, 200, true),
            End(2, v1::SUCCEEDED));
  EXPECT_THAT(Rows("SELECT step, value, token FROM curves ORDER BY step"),
              ElementsAre("50|5|1", "100|4|1", "150|3.5|2", "200|2.5|2"));
}

TEST_F(ViewsTest, AttemptFromScratchOverwritesAllBeforeIt) {
  MustAddTrial();
  MustApply(Start(1, 1), Point(1, "train_loss", 0, 6), Point(1, "train_loss", 50, 5), Fail(1, v1::CRASHED),
            Start(2, 1, 2), Point(2, "train_loss", 0, 6.5));
  EXPECT_THAT(Rows("SELECT step, value FROM curves"), ElementsAre("0|6.5"));
}

TEST_F(ViewsTest, ChainOfResumesKeepsTheCurveBeforeEachResume) {
  MustAddTrial();
  MustApply(Start(1, 1), Point(1, "train_loss", 50, 1), Point(1, "train_loss", 120, 1), Fail(1, v1::LOST));
  MustApply(Start(2, 1, 2, 100), Point(2, "train_loss", 150, 2), Point(2, "train_loss", 220, 2),
            Fail(2, v1::LOST));
  MustApply(Start(3, 1, 3, 200), Point(3, "train_loss", 250, 3), Fail(3, v1::LOST));
  EXPECT_THAT(Rows("SELECT step, token FROM curves ORDER BY step"), ElementsAre("50|1", "150|2", "250|3"));
  // Back to the first checkpoint: the later ones could not be read.
  MustApply(Start(4, 1, 4, 100), Point(4, "train_loss", 130, 4));
  EXPECT_THAT(Rows("SELECT step, token FROM curves ORDER BY step"), ElementsAre("50|1", "130|4"));
}

TEST_F(ViewsTest, StepReallyResumedFromCounts) {
  MustAddTrial();
  MustApply(Start(1, 1), Point(1, "train_loss", 50, 5), Point(1, "train_loss", 80, 5), Fail(1, v1::LOST),
            Start(2, 1, 2, 100));
  AttemptInfo info{.token = 2, .started = {}, .at = {}};
  info.started.set_resumed_step(60);
  info.started.set_host("h7");
  MustApply(info);
  EXPECT_THAT(Rows("SELECT step FROM curves"), ElementsAre("50"));
  EXPECT_THAT(
      Rows("SELECT attempt, token, outcome, failure, host, resumed_step FROM attempts ORDER BY token"),
      ElementsAre("1|1|FAILED|LOST|NULL|NULL", "2|2|LIVE|NULL|h7|60"));
}

TEST_F(ViewsTest, CurvesHoldNoFinalMeasurements) {
  MustFinishTrial();
  EXPECT_THAT(Rows("SELECT DISTINCT name FROM curves"), ElementsAre("train_loss"));
}

TEST_F(ViewsTest, SitesListQuantizersByTheirNoise) {
  MustAddTrial();
  const auto of_site = [](const std::string& name, const std::string& site, double value) {
    MeasurementRow row = Final(2, name, value);
    row.site = site;
    return row;
  };
  MustApply(Start(1, 1), Checkpoint(1, 200, true), End(1, v1::SUCCEEDED));
  MustApply(Start(2, 2), Final(2, "loss", 4), of_site("sqnr", "a.weight", 30), of_site("sqnr", "a", 12.5),
            of_site("sqnr", "b", 21), of_site("crest_factor", "a", 90), End(2, v1::SUCCEEDED),
            TrialIs(1, v1::SUCCEEDED));
  EXPECT_THAT(Rows("SELECT site, value FROM sites WHERE trial = 't-1' AND name = 'sqnr' ORDER BY value"),
              ElementsAre("a|12.5", "b|21", "a.weight|30"));
  EXPECT_THAT(Rows("SELECT count(*) FROM sites WHERE sweep_id = 's-1'"), ElementsAre("4"));
}

TEST_F(ViewsTest, FailuresNameTheLastAttempt) {
  MustAddTrial();
  AttemptInfo info{.token = 2, .started = {}, .at = {}};
  info.started.set_host("h7");
  MustApply(
      Start(1, 1), Fail(1, v1::LOST), Start(2, 1, 2), info, Fail(2, v1::OUT_OF_MEMORY),
      StageChange{
          .id = StageId(1), .state = v1::FAILED, .failures = {.out_of_memory = 1}, .message = "no memory"},
      TrialIs(1, v1::FAILED, "no memory"));
  EXPECT_THAT(Rows("SELECT trial, sweep, label, message, stage, token, failure, attempts, host, ended_at "
                   "FROM failures"),
              ElementsAre("t-1|gamma|-0.03, 1|no memory|st-1|2|OUT_OF_MEMORY|2|h7|1970-01-01T00:00:05.000Z"));
  EXPECT_THAT(Rows("SELECT * FROM results"), IsEmpty());
}

TEST_F(ViewsTest, SweepsCountTheirTrials) {
  MustFinishTrial();
  MustApply(Trial(2, 1, 1, 1, 2),
            SweepChange{.id = SweepId(1), .state = v1::SWEEP_CANCELLED, .next_point = {}, .at = {9000}});
  EXPECT_THAT(
      Rows("SELECT sweep_id, sweep, state, trials, pending, succeeded, failed, submitted_at, ended_at, "
           "description FROM sweeps"),
      ElementsAre(
          "s-1|gamma|CANCELLED|4|1|1|0|1970-01-01T00:00:01.000Z|1970-01-01T00:00:09.000Z|what gamma does"));
}

TEST_F(ViewsTest, LogsEventsAndWorkersCanBeRead) {
  MustAddTrial();
  MustApply(Start(1, 1), LogRow{1, "hello", {3000}},
            EventRow{.at = {4000},
                     .kind = "stage_retried",
                     .stage = StageId(1),
                     .token = 1,
                     .worker = "",
                     .message = "again"},
            WorkerRow{.incarnation = "w-1",
                      .name = "left",
                      .host = "h",
                      .version = "0.1.0",
                      .slots = 1,
                      .devices = {"cpu"},
                      .last_seen = {1000}});
  EXPECT_THAT(Rows("SELECT trial, stage, kind, token, at, text FROM logs"),
              ElementsAre("t-1|st-1|TRAIN|1|1970-01-01T00:00:03.000Z|hello"));
  EXPECT_THAT(Rows("SELECT kind, sweep_id, trial, stage, token, worker, message FROM events"),
              ElementsAre("stage_retried|NULL|NULL|st-1|1|NULL|again"));
  EXPECT_THAT(Rows("SELECT name, devices, draining, connected FROM workers"),
              ElementsAre("left|[\"cpu\"]|0|1"));
}

TEST_F(ViewsTest, OneTrialsCurveIsFoundByIndexesAlone) {
  MustFinishTrial();
  for (const char* where : {"trial = 't-1'", "sweep = 'gamma'", "sweep_id = 's-1'"}) {
    for (const char* view : {"curves", "sites", "results", "trials", "attempts", "logs"}) {
      for (const std::string& row :
           Rows(std::string("EXPLAIN QUERY PLAN SELECT * FROM ") + view + " WHERE " + where)) {
        EXPECT_THAT(row, ::testing::AnyOf(
                             ::testing::Not(::testing::HasSubstr("SCAN")), ::testing::HasSubstr("json_each"),
                             ::testing::HasSubstr("SCAN sweep"), ::testing::HasSubstr("VIRTUAL TABLE")))
            << view << " WHERE " << where;
      }
    }
  }
}

}  // namespace
}  // namespace inlier
