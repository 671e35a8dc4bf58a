#include "coordinator/imports/import_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/removal/removal.h"
#include "coordinator/sweeps/label.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::HasSubstr;

// Two runs of `lr`, the first with a curve, and one that failed.
v1::ImportSweepRequest TwoRuns(const std::string& name) {
  v1::ImportSweepRequest request;
  v1::SweepSpec& spec = *request.mutable_spec();
  spec.set_name(name);
  spec.mutable_imported()->set_format(v1::ImportSource::CSV);
  spec.mutable_imported()->set_path("/data/runs.csv");
  spec.mutable_imported()->set_sha256(std::string(64, 'a'));
  v1::ProgramUse& program = *spec.mutable_program();
  program.set_name("runs");
  program.set_digest(std::string(64, 'b'));
  program.mutable_description()->set_name("runs");
  program.mutable_description()->add_command("inlier");
  (*program.mutable_description()->mutable_parameters())["lr"].set_type(v1::ProgramParameter::NUMBER);
  (*program.mutable_description()->mutable_measurements())["val_loss"].set_better(
      v1::ProgramMeasurement::LOWER);
  *spec.add_axes() = NumberAxis("lr", {0.1, 0.2, 0.3});
  for (const double lr : {0.1, 0.2, 0.3}) {
    v1::ImportedRun& run = *request.add_runs();
    run.set_name("r");
    (*run.mutable_parameters()->mutable_fields())["lr"].set_number_value(lr);
    if (lr == 0.3) {
      run.set_failed("crashed, as its source says");
      continue;
    }
    (*run.mutable_results())["val_loss"] = 10 * lr;
    v1::ImportedCurve& curve = *run.add_curves();
    curve.set_name("val_loss");
    curve.add_steps(5);
    curve.add_values(lr);
  }
  return request;
}

class ImportSweepTest : public testing::Test {
 protected:
  absl::StatusOr<v1::ImportSweepResponse> Import(const v1::ImportSweepRequest& request,
                                                 const Caller& caller = {}) {
    if (absl::Status status = CheckImport(request); !status.ok()) return status;
    absl::StatusOr<SweepGrid> grid = CheckedGrid(request.spec());
    if (!grid.ok()) return grid.status();
    Effects effects;
    auto response =
        harness_.orchestrator().OnImport(request, harness_.now(), effects, *std::move(grid), caller);
    harness_.Commit(std::move(effects));
    return response;
  }
  std::string ImportError(const v1::ImportSweepRequest& request) {
    return std::string(Import(request).status().message());
  }

  Harness harness_;
  HandWorker worker_{"w", 1};
};

TEST_F(ImportSweepTest, RunsAreTrialsWithTheirResultsAndNoAttempt) {
  const v1::ImportSweepResponse answer = Import(TwoRuns("theirs")).value();
  EXPECT_EQ(answer.sweep_id(), "s-1");
  EXPECT_TRUE(answer.changed());
  EXPECT_EQ(answer.trials(), 3u);
  EXPECT_EQ(harness_.Query("SELECT trial, state, lr, val_loss, origin, labels->>'lr' FROM results"),
            "t-1|SUCCEEDED|0.1|1.0|imported|0.1\nt-2|SUCCEEDED|0.2|2.0|imported|0.2\n");
  EXPECT_EQ(harness_.Query("SELECT trial, state, lr, message FROM trials WHERE state = 'FAILED'"),
            "t-3|FAILED|0.3|crashed, as its source says\n");
  EXPECT_EQ(harness_.Query("SELECT trial, name, step, value FROM curves"),
            "t-1|val_loss|5|0.1\nt-2|val_loss|5|0.2\n");
  EXPECT_EQ(harness_.Query("SELECT count(*) FROM attempts"), "0\n");
  EXPECT_EQ(harness_.Query("SELECT seed FROM results"), "\n\n");  // None is said, none is shown.
  const v1::SweepStatus status = harness_.Status(SweepId(1));
  EXPECT_EQ(status.state(), v1::COMPLETE);
  EXPECT_EQ(status.imported().path(), "/data/runs.csv");
  EXPECT_EQ(status.trials().succeeded(), 2u);
  const std::string before = DurableState(harness_.state());
  harness_.Restart();
  EXPECT_EQ(DurableState(harness_.state()), before);
  EXPECT_EQ(RunAll(harness_, worker_), 0u);
}

TEST_F(ImportSweepTest, TheSameContentTwiceIsOneSweep) {
  Import(TwoRuns("theirs")).value();
  harness_.Restart();
  const v1::ImportSweepResponse second = Import(TwoRuns("another-name")).value();
  EXPECT_FALSE(second.changed());
  EXPECT_EQ(second.sweep_id(), "s-1");
  v1::ImportSweepRequest other = TwoRuns("theirs");
  (*other.mutable_runs(0)->mutable_results())["val_loss"] = 7;
  EXPECT_EQ(Import(other)->sweep_id(), "s-2");
  v1::ImportSweepRequest again = TwoRuns("theirs");
  again.set_again(true);
  EXPECT_EQ(Import(again)->sweep_id(), "s-3");
  EXPECT_EQ(harness_.Query("SELECT count(*) FROM results"), "6\n");
}

TEST_F(ImportSweepTest, ARepeatedRequestHasItsAnswer) {
  v1::ImportSweepRequest request = TwoRuns("theirs");
  request.set_again(true);
  request.set_request_id("r-1");
  EXPECT_EQ(Import(request)->sweep_id(), "s-1");
  harness_.Restart();
  EXPECT_EQ(Import(request)->sweep_id(), "s-1");
  EXPECT_EQ(harness_.state().sweeps.size(), 1u);
}

TEST_F(ImportSweepTest, NothingOfItRunsAndEachChangeOfThatIsRefusedByName) {
  const SweepId sweep = SweepId::Parse(Import(TwoRuns("theirs"))->sweep_id()).value();
  for (const absl::Status& refused :
       {harness_.Ask(&Retry, OfSweep<v1::RetryRequest>(sweep)).status(),
        harness_.Ask(&Retry, OfTrial<v1::RetryRequest>("t-3")).status(),
        harness_.Ask(&Cancel, OfSweep<v1::CancelRequest>(sweep)).status(),
        harness_.Ask(&PauseSweep, OfSweep<v1::PauseSweepRequest>(sweep)).status(),
        harness_.Ask(&ResumeSweep, OfSweep<v1::ResumeSweepRequest>(sweep)).status(),
        harness_.EditSweep(sweep, SmallSweep("theirs", 1)).status(),
        harness_.TrySubmit(TwoRuns("theirs").spec()).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("was imported from /data/runs.csv: nothing of it runs here"));
  }
  v1::SweepSpec tuned = SmallSweep("tuned", 1);
  tuned.mutable_base()->mutable_training()->mutable_start_from()->set_trial("t-1");
  EXPECT_THAT(std::string(harness_.TrySubmit(tuned).status().message()),
              HasSubstr("t-1 was imported and has no model"));
}

TEST_F(ImportSweepTest, AProgramOfTheSameNameAndSettingsHasNoneOfItsResults) {
  const v1::ImportSweepRequest request = TwoRuns("theirs");
  Import(request).value();
  v1::SweepSpec ours = request.spec();
  ours.clear_imported();
  EXPECT_EQ(harness_.TrySubmit(ours)->trials_known(), 0u);
  EXPECT_EQ(harness_.Status(SweepId(2)).trials().succeeded(), 0u);
}

TEST_F(ImportSweepTest, HalfARequestImportsNothing) {
  v1::ImportSweepRequest request = TwoRuns("theirs");
  (*request.mutable_runs(1)->mutable_parameters()->mutable_fields())["lr"].set_string_value("fast");
  EXPECT_THAT(ImportError(request), HasSubstr("runs[1] (\"r\").parameters.lr"));
  request = TwoRuns("theirs");
  (*request.mutable_runs(1)->mutable_parameters()->mutable_fields())["lr"].set_number_value(0.7);
  EXPECT_THAT(ImportError(request), HasSubstr("\"0.7\" is not a value of the axis lr"));
  request = TwoRuns("theirs");
  (*request.mutable_runs(1)->mutable_results())["acc"] = 1;
  EXPECT_THAT(ImportError(request), HasSubstr("\"acc\" is not a measurement"));
  request = TwoRuns("theirs");
  request.mutable_runs(0)->mutable_curves(0)->add_steps(6);
  EXPECT_THAT(ImportError(request), HasSubstr("has not one value a step"));
  request = TwoRuns("theirs");
  request.mutable_spec()->set_priority(3);
  EXPECT_THAT(ImportError(request), HasSubstr("nothing that decides how trials run"));
  EXPECT_EQ(harness_.state().sweeps.size(), 0u);
  EXPECT_EQ(harness_.Query("SELECT count(*) FROM trials"), "0\n");
}

TEST_F(ImportSweepTest, ItIsRemovedRestoredAndFreed) {
  const SweepId sweep = SweepId::Parse(Import(TwoRuns("theirs"))->sweep_id()).value();
  const auto remove = [&] { return harness_.Ask(&RemoveSweep, OfSweep<v1::RemoveSweepRequest>(sweep)); };
  EXPECT_EQ(remove()->trials(), 3u);
  EXPECT_EQ(harness_.Query("SELECT count(*) FROM results"), "0\n");
  EXPECT_THAT(ImportError(TwoRuns("theirs")),
              HasSubstr("which was removed: `inlier restore s-1` brings it back"));
  EXPECT_TRUE(harness_.Ask(&RestoreSweep, OfSweep<v1::RestoreSweepRequest>(sweep))->changed());
  EXPECT_EQ(harness_.Query("SELECT count(*) FROM results"), "2\n");
  remove().value();
  Effects effects;
  harness_.orchestrator().OnFree({}, harness_.now(), effects);
  harness_.Commit(std::move(effects));
  for (int i = 0; i < 50 && !harness_.state().models.freed.empty(); ++i)
    harness_.TickAfter(std::chrono::milliseconds(20));
  harness_.Restart();
  EXPECT_EQ(harness_.Query("SELECT count(*) FROM measurement"), "1\n");  // The latest row stays.
  EXPECT_TRUE(Import(TwoRuns("theirs"))->changed());
}

TEST_F(ImportSweepTest, WhyNamesItsSource) {
  Import(TwoRuns("theirs"), Harness::Named("ann")).value();
  v1::ExplainRequest request;
  request.set_trial("t-1");
  const v1::Explanation why = Explain(harness_.state(), request, harness_.now(), "").value();
  EXPECT_THAT(why.because(0).text(), HasSubstr("imported from /data/runs.csv (CSV, SHA-256 aaaa"));
  EXPECT_THAT(why.because(0).text(), HasSubstr(", by ann"));
}

}  // namespace
}  // namespace inlier
