// Trainings whose result is their best step: the model of that step, an end by patience, and both after an interruption.
#include "core/train/best_step.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/train/checkpoint.h"
#include "tests/core/gang/ranks.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

v1::TrainingSpec BestBy(const std::string& measurement, std::uint32_t patience = 0) {
  v1::TrainingSpec training;
  training.set_checkpoint(v1::TrainingSpec::BEST);
  training.set_best_by(measurement);
  training.set_best_every(10);
  if (patience > 0) training.set_patience(patience);
  return training;
}

// The best step, and where patience ended it (0: it did not), of a curve with these points at 10, 20, …
std::pair<std::uint64_t, std::uint64_t> BestOf(const v1::TrainingSpec& training,
                                               const std::vector<double>& values) {
  CollectingSink sink;
  BestStep best(training, sink);
  std::uint64_t step = 0;
  for (const double value : values) {
    MeasurementReporter(ReportKind::kCurve, step += 10, best).Add(training.best_by().c_str(), value);
    best.Count(step, *best.IsBetter(step), {});
    if (best.IsOver()) return {best.best()->step, step};
  }
  EXPECT_EQ(sink.measurements.size(), values.size()) << "every point is passed on";
  return {best.best()->step, 0};
}

TEST(BestStepTest, TheFirstOfTheBestPoints) {
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(BestOf(BestBy("loss"), {3, 2, 2, 5}), Pair(20, 0));
  EXPECT_EQ(BestOf(BestBy("loss"), {kNan, 4, kNan, 3}), Pair(40, 0));
  EXPECT_EQ(BestOf(BestBy("loss"), {kNan, kNan}), Pair(10, 0));
  EXPECT_EQ(BestOf(BestBy("loss", 2), {3, 2, 2, 1, 5, 4, 0}), Pair(40, 60));
  EXPECT_EQ(BestOf(BestBy("loss", 3), {3, 2, 2, 1, 5, 4, 0}), Pair(70, 0));
}

TEST(BestStepTest, AMeasurementThatTheTrainingDoesNotReportIsNamed) {
  const v1::TrainingSpec training = BestBy("max_residual_inf_norm");
  CollectingSink sink;
  const BestStep best(training, sink);
  EXPECT_THAT(
      std::string(best.IsBetter(10).status().message()),
      testing::HasSubstr("training.best_by: this training reports no max_residual_inf_norm (at step 10)"));
}

struct Ended {
  TrainResult result;
  CollectingSink sink;
  Checkpoint model;  // The trained one.
  std::vector<double> Results(const std::string& name) const {
    std::vector<double> values;
    for (const v1::MeasurementPoint& point : sink.measurements) {
      if (point.name() == name && point.final()) values.push_back(point.value());
    }
    return values;
  }
};

Ended TrainBest(const v1::TrialSpec& spec, const std::filesystem::path& folder,
                const std::filesystem::path& resume_from = {}) {
  at::set_num_threads(1);
  CollectingSink sink;
  const auto model = TinyModel(spec);
  const auto dataset = TinyDataset(spec);
  Trainer trainer(spec, *model, *dataset, c10::Device(c10::kCPU), sink);
  if (!resume_from.empty()) {
    EXPECT_EQ(trainer.Resume(resume_from), absl::OkStatus());
  }
  TrainResult result = trainer.Run(folder, [] { return false; }).value();
  return {.result = std::move(result),
          .sink = std::move(sink),
          .model = Checkpoint::Open(folder / kFinalCheckpointName).value()};
}

// It learns, and then the rate tears it apart: the best point is in the midst.
constexpr char kRuin[] =
    "dropout: 0 attention { dropout: 0 } training { steps: 40 checkpoint_every: 12 measure_outliers_every: 4 "
    "optimizer { adamw { learning_rate: 0.08 } } schedule { constant { } warmup_steps: 30 } ";

std::size_t IndexOfLeast(const std::vector<double>& values) {
  return static_cast<std::size_t>(std::ranges::min_element(values) - values.begin());
}

TEST(BestStepTest, TheTrainedModelIsThatOfTheBestStep) {
  const TemporaryFolder best_folder, short_folder, last_folder;
  const v1::TrialSpec spec = TinySpec(std::string(kRuin) + "checkpoint: BEST }");
  const Ended best = TrainBest(spec, best_folder.path());
  EXPECT_EQ(best.result.step, 40u);
  const std::vector<double> curve = best.sink.Curve("loss");
  ASSERT_EQ(curve.size(), 10u);
  const std::size_t least = IndexOfLeast(curve);
  ASSERT_GT(least, 0u);
  ASSERT_LT(least, 9u) << "the best step is not the last one";
  const std::uint64_t step = (least + 1) * 4;
  EXPECT_EQ(best.model.info().step, step);
  EXPECT_EQ(best.sink.checkpoints.back().step(), step);
  EXPECT_TRUE(best.sink.checkpoints.back().final());
  EXPECT_EQ(best.Results("best_step"), std::vector<double>{static_cast<double>(step)});
  EXPECT_EQ(best.Results("last_step"), std::vector<double>{40});
  // The same weights as those of a training that ends there, by the same rates.
  v1::TrialSpec shorter = TinySpec(std::string(kRuin) + "}");
  shorter.mutable_training()->set_steps(static_cast<std::uint32_t>(step));
  TrainBest(shorter, short_folder.path());
  const auto weights = [&spec](const std::filesystem::path& folder) {
    auto model = TinyModel(spec);
    EXPECT_EQ(Checkpoint::Open(folder / kFinalCheckpointName)->LoadWeights(*model), absl::OkStatus());
    return model;
  };
  ExpectSameBits(*weights(best_folder.path()), *weights(short_folder.path()));
  const std::string second_moments = "bert.encoder.layer.0.output.dense.weight";
  const at::Tensor sums = best.model.SecondMomentSums(second_moments).value();
  ASSERT_TRUE(sums.defined());
  EXPECT_TRUE(at::equal(
      sums, Checkpoint::Open(short_folder / kFinalCheckpointName)->SecondMomentSums(second_moments).value()));
  // Measuring it changes no update.
  const Ended last = TrainBest(TinySpec(std::string(kRuin) + "}"), last_folder.path());
  EXPECT_EQ(last.sink.Curve("train_loss"), best.sink.Curve("train_loss"));
  EXPECT_EQ(last.model.info().step, 40u);
  EXPECT_TRUE(last.Results("best_step").empty());
}

TEST(BestStepTest, PatienceEndsTheTraining) {
  const TemporaryFolder folder, whole;
  const v1::TrialSpec spec = TinySpec(std::string(kRuin) + "checkpoint: BEST patience: 2 }");
  const Ended ended = TrainBest(spec, folder.path());
  EXPECT_EQ(ended.result.end, TrainResult::End::kFinished);
  const std::vector<double> curve = ended.sink.Curve("loss");
  const std::size_t least = IndexOfLeast(curve);
  ASSERT_EQ(curve.size(), least + 3);
  ASSERT_LT(curve.size(), 10u) << "before the end";
  EXPECT_EQ(ended.result.step, 4 * curve.size());
  EXPECT_EQ(ended.Results("last_step"), std::vector<double>{4.0 * static_cast<double>(curve.size())});
  EXPECT_EQ(ended.Results("best_step"), std::vector<double>{4.0 * static_cast<double>(least + 1)});
  EXPECT_THAT(ended.result.message,
              testing::StartsWith("ended by training.patience after update " +
                                  std::to_string(4 * curve.size()) + " of 40: loss was best, "));
}

// Killed after any update, also between the last point that patience allows and the end: the product is the same file.
TEST(BestStepTest, ResumedTrainingsEndWithTheSameModel) {
  for (const std::string more : {"checkpoint: BEST }", "checkpoint: BEST patience: 2 }",
                                 "checkpoint: BEST best_by: \"float_loss\" measure_quantized_every: 5 }"}) {
    const TemporaryFolder folder;
    const v1::TrialSpec spec = TinySpec(std::string(kRuin) + more);
    const Ended whole = TrainBest(spec, folder.path());
    for (const std::uint64_t at : {5, 13, 22}) {
      if (at >= whole.result.step) continue;
      const TemporaryFolder stopped, resumed;
      at::set_num_threads(1);
      CollectingSink sink;
      const auto model = TinyModel(spec);
      const auto dataset = TinyDataset(spec);
      Trainer trainer(spec, *model, *dataset, c10::Device(c10::kCPU), sink);
      std::uint64_t asked = 0;
      ASSERT_EQ(trainer.Run(stopped.path(), [&] { return ++asked == at; })->step, at);
      const Ended again = TrainBest(spec, resumed.path(), stopped / PeriodicCheckpointName(at));
      EXPECT_EQ(again.sink.checkpoints.back().sha256(), whole.sink.checkpoints.back().sha256()) << more << at;
      EXPECT_EQ(again.Results("best_step"), whole.Results("best_step")) << more << at;
      EXPECT_EQ(again.Results("last_step"), whole.Results("last_step")) << more << at;
      EXPECT_EQ(again.result.message, whole.result.message);
    }
  }
}

// A stop that comes with the end by patience is no stop; a checkpoint that has it ends at once when it is resumed from.
TEST(BestStepTest, WhatPatienceHasEndedTrainsNoFurther) {
  const TemporaryFolder folder, resumed;
  const v1::TrialSpec spec = TinySpec(std::string(kRuin) + "checkpoint: BEST patience: 2 }");
  const Ended whole = TrainBest(spec, folder.path());
  CheckpointInfo info{.spec = spec, .step = whole.result.step};
  info.spec.clear_evaluation();
  const auto dataset = TinyDataset(spec);
  info.dataset_digest = dataset->dataset_digest();
  const auto model = TinyModel(spec);
  TrainingStep step = MakeTrainingStep(*model, spec.training(), 40);
  BestSoFar best{.step = 4, .value = 1, .points_since = 2, .model = TrainedTensors(*model, {})};
  ASSERT_TRUE(SaveCheckpoint(folder.path(), *model, step.optimizer().State(), info, best).ok());
  const Ended again = TrainBest(spec, resumed.path(), folder / PeriodicCheckpointName(whole.result.step));
  EXPECT_EQ(again.result.step, whole.result.step);
  EXPECT_EQ(again.model.info().step, 4u);
  EXPECT_TRUE(again.sink.Curve("train_loss").empty());
}

// Rank 0 measures, and all of them end together; a sharded state is gathered for the best model.
TEST(BestStepTest, AllRanksAgree) {
  for (const bool shard : {false, true}) {
    const TemporaryFolder folder;
    const v1::TrialSpec spec = TinySpec(std::string(kRuin) + "batch_size: 4 checkpoint: BEST patience: 2 }");
    const auto dataset = TinyDataset(spec);
    std::vector<CollectingSink> sinks(2);
    std::vector<TrainResult> results(2);
    RunRanks(2, [&](Gang gang) {
      const auto rank = static_cast<std::size_t>(gang.rank());
      const auto model = TinyModel(spec);
      Trainer trainer(spec, *model, *dataset, c10::Device(c10::kCPU), sinks[rank], {},
                      {.gang = std::move(gang), .shard_optimizer = shard});
      results[rank] = trainer.Run(folder.path(), [] { return false; }).value();
    });
    EXPECT_EQ(results[0].step, results[1].step);
    EXPECT_LT(results[0].step, 40u);
    const std::size_t least = IndexOfLeast(sinks[0].Curve("loss"));
    const Checkpoint trained = Checkpoint::Open(folder / kFinalCheckpointName).value();
    EXPECT_EQ(trained.info().step, (least + 1) * 4);
    EXPECT_TRUE(trained.SecondMomentSums("bert.encoder.layer.0.output.dense.weight")->defined());
    EXPECT_TRUE(sinks[1].checkpoints.empty());
  }
}

}  // namespace
}  // namespace inlier
