// The best results that /metrics has after a restart, from a store.
#include "coordinator/metrics/sweep_results.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/coordinator/store/store_fixture.h"

namespace inlier {
namespace {

using testing::ElementsAre;

class SweepResultsTest : public StoreTest {
 protected:
  // "accuracy FLOAT 0.9" for each value of sweep 1.
  std::vector<std::string> Best() {
    SweepResults results(database_->path());
    std::map<SweepId, std::vector<SweepValue>> found;
    for (int i = 0; i < 1000 && found.empty(); ++i) {
      found = results.Of({SweepId(1)});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    std::vector<std::string> lines;
    for (const SweepValue& value : found[SweepId(1)])
      lines.push_back(absl::StrCat(value.name, " ", value.setting, " ", value.best));
    return lines;
  }
};

TEST_F(SweepResultsTest, WhatTheTrainingOfAProgramReportsIsAmongThem) {
  SweepRow row = Sweep(1);
  v1::ProgramUse& use = *row.spec.mutable_program();
  use.set_name("mygpt");
  use.mutable_description()->set_name("mygpt");
  use.mutable_description()->add_command("./train");
  auto& measurements = *use.mutable_description()->mutable_measurements();
  measurements["accuracy"].set_better(v1::ProgramMeasurement::HIGHER);
  measurements["loss"].set_better(v1::ProgramMeasurement::LOWER);
  measurements["loss"].set_reported_by(v1::ProgramParameter::EVALUATION);
  MustApply(row);
  for (int trial = 1; trial <= 2; ++trial) {
    const int train = 2 * trial - 1, evaluate = 2 * trial;
    const auto token = static_cast<Token>(train);
    MustApply(Train(train), Evaluate(evaluate, train), Trial(trial, 1, trial - 1, train, evaluate),
              Start(token, train), Final(token, "accuracy", 0.5 + 0.25 * trial), Checkpoint(token, 200, true),
              End(token, v1::SUCCEEDED), Start(token + 1, evaluate), Final(token + 1, "loss", 4.0 + trial),
              End(token + 1, v1::SUCCEEDED));
  }
  EXPECT_THAT(Best(), ElementsAre("accuracy FLOAT 1", "loss FLOAT 5"));
}

}  // namespace
}  // namespace inlier
