// Sweeps of a program of one's own: their source is the data of their trainings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;

const std::string kOld(64, '1'), kNew(64, '2');

v1::SweepSpec ProgramSweep(const std::string& digest, const std::vector<double>& layers = {1, 2}) {
  v1::SweepSpec sweep;
  sweep.set_name("s");
  v1::ProgramUse& use = *sweep.mutable_program();
  use.set_name("mygpt");
  use.set_digest(digest);
  v1::ProgramDescription& description = *use.mutable_description();
  description.set_name("mygpt");
  description.add_command("./train");
  (*description.mutable_parameters())["layers"].set_type(v1::ProgramParameter::INTEGER);
  v1::ProgramParameter& bits = (*description.mutable_parameters())["bits"];
  bits.set_type(v1::ProgramParameter::INTEGER);
  bits.set_read_by(v1::ProgramParameter::EVALUATION);
  (*description.mutable_measurements())["score"].set_better(v1::ProgramMeasurement::HIGHER);
  *sweep.add_axes() = NumberAxis("layers", layers);
  return sweep;
}

struct ProgramTest : OneWorkerTest {
  // The worker runs what it is given with this source, until it is given nothing more.
  void RunAll(HandWorker& of, const std::string& source) {
    for (int round = 0; round < 20; ++round) {
      harness.Sync(of);
      if (of.running().empty()) return;
      of.Emit(OnlyToken(of), StartedEvent(source));
      of.Finish(OnlyToken(of));
    }
  }
};

TEST_F(ProgramTest, ATrialIsLeasedWithItsParametersAndEndsAsOursDo) {
  sweep = harness.Submit(ProgramSweep(kOld));
  HandWorker one("one", 1);
  const v1::Assignment assigned = harness.Assigned(one);
  const v1::ProgramTrial program = SpecOf(assigned).program();
  EXPECT_EQ(program.name(), "mygpt");
  EXPECT_EQ(program.digest(), kOld);
  EXPECT_EQ(program.parameters().fields().at("layers").number_value(), 1);
  RunAll(one, kOld);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
  harness.Restart();
  EXPECT_EQ(harness.Query("SELECT count(*) FROM results WHERE dataset_digest = '" + kOld + "'"), "2\n");
}

TEST_F(ProgramTest, TheSameSourceRunsOnceAndAChangedOneRunsAgainBesideTheOldResults) {
  HandWorker one("one", 1);
  harness.Submit(ProgramSweep(kOld));
  RunAll(one, kOld);
  EXPECT_EQ(harness.TrySubmit(ProgramSweep(kOld))->trials_known(), 2u);
  const auto changed = harness.TrySubmit(ProgramSweep(kNew)).value();
  EXPECT_EQ(changed.trials_known(), 0u);
  harness.Restart();
  RunAll(one, kNew);
  EXPECT_EQ(harness.Query("SELECT dataset_digest, count(*) FROM results GROUP BY 1 ORDER BY 1"),
            kOld + "|4\n" + kNew + "|2\n");
  // The old source again: nothing runs.
  EXPECT_EQ(harness.TrySubmit(ProgramSweep(kOld))->trials_known(), 2u);
  EXPECT_EQ(harness.TrySubmit(ProgramSweep(kNew))->trials_known(), 2u);
}

TEST_F(ProgramTest, AWorkerWithOtherSourceRunsNothingOfIt) {
  sweep = harness.Submit(ProgramSweep(kOld));
  HandWorker stale("stale", 1), fresh("fresh", 1);
  harness.Sync(stale);
  harness.Report(stale, StartedEvent(kNew));
  EXPECT_EQ(
      harness.Query("SELECT failure, message FROM attempts"),
      "OTHER_DATA|worker worker-stale has other data than the trial began with: program mygpt has digest " +
          kNew + " there, and has digest " + kOld + " in the sweep\n");
  harness.Sync(stale);
  EXPECT_TRUE(stale.running().empty());
  EXPECT_THAT(
      harness.Why("t-1"),
      HasSubstr("program mygpt with digest 111111111111, as the sweep names it; worker worker-stale has "
                "digest 222222222222"));
  RunAll(fresh, kOld);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
}

TEST_F(ProgramTest, AWorkerThatLacksTheProgramIsPassedByAndAllThatLackItAreNamed) {
  sweep = harness.Submit(ProgramSweep(kOld, {1}));
  HandWorker none("none", 1), has("has", 1);
  harness.Sync(has);
  harness.Sync(none);
  HandWorker& first = has.running().empty() ? none : has;
  harness.Report(first, StartedEvent(""));
  EXPECT_THAT(harness.Query("SELECT message FROM attempts"),
              HasSubstr("program mygpt is not there, and has digest " + kOld));
  HandWorker& second = &first == &has ? none : has;
  RunAll(second, kOld);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 1u);
}

TEST_F(ProgramTest, AnotherEvaluationDoesNotTrainAgain) {
  HandWorker one("one", 1);
  v1::SweepSpec spec = ProgramSweep(kOld, {1});
  *spec.add_axes() = NumberAxis("bits", {8, 4});
  sweep = harness.Submit(spec);
  RunAll(one, kOld);
  EXPECT_EQ(harness.Query("SELECT kind, count(*) FROM attempts GROUP BY 1 ORDER BY 1"),
            "EVALUATE|2\nTRAIN|2\n");
  EXPECT_EQ(harness.Query("SELECT count(DISTINCT train_stage) FROM trials"), "1\n");
}

TEST_F(ProgramTest, AnEditKeepsItsSourceAndMayAddPoints) {
  HandWorker one("one", 1);
  sweep = harness.Submit(ProgramSweep(kOld, {1}));
  RunAll(one, kOld);
  EXPECT_THAT(std::string(harness.EditSweep(sweep, ProgramSweep(kNew, {1, 2})).status().message()),
              HasSubstr("so this is another sweep: submit it as a new one (results are used again only where "
                        "the source is the same), or put the source back"));
  EXPECT_EQ(harness.EditSweep(sweep, ProgramSweep(kOld, {1, 2}))->added(), 1u);
  harness.Tick();
  RunAll(one, kOld);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 2u);
}

TEST_F(ProgramTest, WhereItsSourceComesFromIsStoredAndChangesNothing) {
  HandWorker one("one", 1);
  v1::SweepSpec spec = ProgramSweep(kOld, {1});
  sweep = harness.Submit(spec);
  RunAll(one, kOld);
  spec.mutable_program()->mutable_source()->set_commit("c1");
  spec.mutable_program()->mutable_source()->set_diff("+1\n");
  EXPECT_EQ(harness.TrySubmit(spec)->trials_known(), 1u);
  EXPECT_FALSE(harness.state().sweeps.at(SweepId(2)).spec.program().has_source());
  EXPECT_EQ(harness.Query("SELECT digest, commit_id, diff FROM program_sources"), kOld + "|c1|+1\n\n");
  EXPECT_EQ(harness.EditSweep(sweep, spec)->kept(), 1u);
  EXPECT_EQ(harness.EditSweep(sweep, spec)->added(), 0u);
  harness.Restart();
}

TEST_F(ProgramTest, AnInvalidPointFailsWithTheReason) {
  v1::SweepSpec spec = ProgramSweep(kOld, {});
  spec.clear_axes();
  v1::ProgramParameter& depth =
      (*spec.mutable_program()->mutable_description()->mutable_parameters())["layers"];
  depth.set_required(true);
  sweep = harness.Submit(spec);
  EXPECT_THAT(harness.Query("SELECT message FROM trials"), HasSubstr("INVALID_SPEC: layers: is missing"));
}

TEST_F(ProgramTest, WhatItsDescriptionDeclaresIsStoredAndNothingElse) {
  sweep = harness.Submit(ProgramSweep(kOld, {1}));
  HandWorker one("one", 1);
  harness.Sync(one);
  one.Emit(OnlyToken(one), StartedEvent(kOld));
  one.Emit(OnlyToken(one), MeasurementEvent("score", 3, false));
  one.Emit(OnlyToken(one), MeasurementEvent("score", 4, true));
  const auto invalid = harness.state().stats.events_invalid;
  one.Emit(OnlyToken(one), MeasurementEvent("perplexity", 5, true));
  harness.Sync(one);
  EXPECT_EQ(harness.state().stats.events_invalid, invalid + 1);
  RunAll(one, kOld);
  EXPECT_EQ(harness.Query("SELECT layers, score, perplexity FROM results"), "1|4.0|\n");
  EXPECT_EQ(harness.Query("SELECT name, value FROM curves WHERE name <> 'loss'"), "score|3.0\n");
}

}  // namespace
}  // namespace inlier
