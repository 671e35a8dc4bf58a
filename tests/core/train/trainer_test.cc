// Real trainings of a tiny model on real text: they learn, repeat and resume bit for bit, and report
// divergence.
#include "core/train/trainer.h"

#include "core/train/batch_input.h"
#include "core/train/checkpoint.h"
#include "core/train/evaluator.h"
#include "spec/trial/measurements.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

const std::function<bool()> kNeverStop = [] { return false; };

struct Run {
  std::shared_ptr<LanguageModel> model;
  CollectingSink sink;
  absl::StatusOr<TrainResult> result = absl::UnknownError("not run");
};

// Trains by `spec` into `folder`, from the checkpoint when there is one.
std::unique_ptr<Run> Train(const v1::TrialSpec& spec, const std::filesystem::path& folder,
                           const std::filesystem::path& resume_from = {},
                           const std::function<bool()>& stop = kNeverStop) {
  at::set_num_threads(1);
  auto run = std::make_unique<Run>();
  run->model = TinyModel(spec);
  const auto dataset = TinyDataset(spec);
  Trainer trainer(spec, *run->model, *dataset, c10::Device(c10::kCPU), run->sink);
  if (!resume_from.empty()) {
    EXPECT_EQ(trainer.Resume(resume_from), absl::OkStatus());
  }
  run->result = trainer.Run(folder, stop);
  return run;
}

TEST(TrainerTest, SameSpecTwiceGivesBitEqualWeightsAndCurves) {
  const TemporaryFolder folder;
  const v1::TrialSpec spec = TinySpec();
  const auto first = Train(spec, folder.path()), second = Train(spec, folder.path());
  ASSERT_EQ(first->result->end, TrainResult::End::kFinished);
  ExpectSameBits(*first->model, *second->model);
  for (const char* name : {"train_loss", "gradient_norm", "learning_rate"}) {
    ASSERT_EQ(first->sink.Curve(name).size(), 20u) << name;
    EXPECT_EQ(first->sink.Curve(name), second->sink.Curve(name)) << name;
  }
}

TEST(TrainerTest, OutlierCurvesAreTakenOnTheWayAndChangeNothing) {
  const TemporaryFolder folder;
  const auto every5 = Train(TinySpec("training { measure_outliers_every: 5 }"), folder.path());
  const auto never = Train(TinySpec("training { measure_outliers_every: 0 }"), folder.path());
  ExpectSameBits(*every5->model, *never->model);
  EXPECT_EQ(every5->sink.Curve("train_loss"), never->sink.Curve("train_loss"));
  for (const char* name :
       {"loss", "max_inf_norm", "avg_kurtosis", "kurtosis_first", "first_attention_share"}) {
    EXPECT_EQ(every5->sink.Curve(name).size(), 4u) << name;
    EXPECT_TRUE(never->sink.Curve(name).empty()) << name;
  }
  for (const v1::MeasurementPoint& point : every5->sink.measurements) {
    EXPECT_TRUE(point.site().empty()) << "single layers are no curves: " << point.name();
    const MeasurementInfo* info = FindMeasurement(point.name());
    ASSERT_NE(info, nullptr) << point.name();
    EXPECT_TRUE(point.final() ? info->final : info->curve) << point.name();
  }
  // The same batch with the same masks each time, so that learning is visible.
  EXPECT_LT(every5->sink.Curve("loss").back(), every5->sink.Curve("loss").front());
}

TEST(TrainerTest, QuantizedCurvesAreTakenOnTheWayAndChangeNothing) {
  for (const std::string more : {"engine: FUSED", "engine: REFERENCE", "precision: BFLOAT16"}) {
    const std::string curve =
        "measure_quantized_every: 4 quantized_curve { calibration { batches: 2 } batches: 2 }";
    const TemporaryFolder folder, resumed_folder;
    const v1::TrialSpec spec = TinySpec("training { " + more + " " + curve + " }");
    const auto every4 = Train(spec, folder.path());
    const auto never = Train(TinySpec("training { " + more + " }"), folder.path());
    ExpectSameBits(*every4->model, *never->model);
    EXPECT_EQ(every4->sink.Curve("train_loss"), never->sink.Curve("train_loss")) << more;
    const std::vector<double> quantized = every4->sink.Curve("quantized_loss"),
                              in_float = every4->sink.Curve("float_loss"),
                              gap = every4->sink.Curve("quantization_gap");
    ASSERT_EQ(quantized.size(), 5u) << more;
    ASSERT_EQ(in_float.size(), 5u) << more;
    for (std::size_t i = 0; i < gap.size(); ++i) {
      EXPECT_NE(quantized[i], in_float[i]) << more;
      EXPECT_EQ(gap[i], quantized[i] - in_float[i]) << more;
    }
    // Stopped between two points, and resumed.
    int asked = 0;
    Train(spec, resumed_folder.path(), {}, [&asked] { return ++asked == 7; });
    const auto resumed = Train(spec, resumed_folder.path(), resumed_folder / "step-0000000007.safetensors");
    ExpectSameBits(*every4->model, *resumed->model);
    EXPECT_EQ(resumed->sink.Curve("quantized_loss"),
              std::vector<double>(quantized.begin() + 1, quantized.end()));
  }
}

TEST(TrainerTest, AQuantizedCurveHasAPointAtTheEnd) {
  const TemporaryFolder folder;
  const auto run = Train(TinySpec("training { measure_quantized_every: 8 }"), folder.path());
  std::vector<std::uint64_t> steps;
  for (const v1::MeasurementPoint& point : run->sink.measurements) {
    if (point.name() == "quantized_loss") steps.push_back(point.step());
  }
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{8, 16, 20}));
}

// The curve's last point is what the evaluate stage gives for the trained model on the same batches.
TEST(TrainerTest, TheLastQuantizedPointIsThatOfAnEvaluation) {
  for (const std::string scheme :
       {"reference { }", "absmax { granularity: MODERATE calibrated: true }", "zeropoint { }"}) {
    const TemporaryFolder folder;
    const std::string fields = "weights { bits: 4 } activations { bits: 6 } " + scheme;
    const std::string calibration =
        scheme == "zeropoint { }" ? "" : " calibration { batches: 3 batch_size: 5 seed: 2 }";
    const auto run = Train(TinySpec("training { measure_quantized_every: 9 quantized_curve { " + fields +
                                    calibration + " batches: 2 } }"),
                           folder.path());
    CollectingSink sink;
    const v1::TrialSpec quantized = TinySpec("quantization { " + fields + calibration + " }");
    const auto dataset = TinyDataset(quantized);
    // evaluation: 2 batches of 4, masked with seed 1.
    const auto evaluate = [&](const v1::TrialSpec& spec) {
      const auto result = Evaluate(*run->model, *dataset, spec, c10::Device(c10::kCPU), sink, kNeverStop);
      EXPECT_TRUE(result.ok()) << result.status();
      return result->scores.loss;
    };
    EXPECT_EQ(run->sink.Curve("quantized_loss").back(), evaluate(quantized)) << scheme;
    EXPECT_EQ(run->sink.Curve("float_loss").back(), evaluate(TinySpec())) << scheme;
  }
}

TEST(TrainerTest, WhatWasTrainedInLowPrecisionIsEvaluatedInFloat) {
  const TemporaryFolder folder;
  const auto run = Train(
      TinySpec(
          "training { measure_quantized_every: 20 quantized_curve { weights { } activations { } batches: 2 } "
          "low_precision { weights { bits: 3 } activations { bits: 3 } } }"),
      folder.path());
  EXPECT_NE(run->sink.Curve("train_loss"), Train(TinySpec(), folder.path())->sink.Curve("train_loss"));
  CollectingSink sink;
  const auto result =
      Evaluate(*run->model, *TinyDataset(TinySpec()), TinySpec(), c10::Device(c10::kCPU), sink, kNeverStop);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(run->sink.Curve("float_loss").back(), result->scores.loss);
}

TEST(TrainerTest, APenaltyIsReportedBesideTheLoss) {
  const TemporaryFolder folder;
  const auto with = Train(TinySpec("training { regularizer { kurtosis { weight: 0.5 } } }"), folder.path());
  const auto without = Train(TinySpec("training { engine: REFERENCE }"), folder.path());
  const std::vector<double> penalties = with->sink.Curve("penalty");
  ASSERT_EQ(penalties.size(), 20u);
  // Near half of the kurtosis of normal numbers, at the start.
  EXPECT_GT(penalties[0], 0.9);
  EXPECT_LT(penalties[0], 2.5);
  EXPECT_LT(penalties.back(), penalties[0]);
  EXPECT_NEAR(with->sink.Curve("train_loss")[0], without->sink.Curve("train_loss")[0], 1e-5)
      << "the loss itself is without it";
  EXPECT_TRUE(without->sink.Curve("penalty").empty());
}

TEST(TrainerTest, BothEnginesReportThePenaltyOnFeedForwardOutputs) {
  const TemporaryFolder folder;
  const std::string penalty = "regularizer { ffn_output { weight: 0.5 tau: 0.1 power: 2 } } ";
  const auto fused = Train(TinySpec("training { " + penalty + "}"), folder.path());
  const auto reference = Train(TinySpec("training { " + penalty + "engine: REFERENCE }"), folder.path());
  const std::vector<double> by_fused = fused->sink.Curve("penalty"),
                            by_reference = reference->sink.Curve("penalty");
  ASSERT_EQ(by_fused.size(), 20u);
  ASSERT_EQ(by_reference.size(), 20u);
  EXPECT_GT(by_fused[0], 1e-3);
  for (std::size_t i = 0; i < by_fused.size(); ++i)
    EXPECT_NEAR(by_fused[i], by_reference[i], 1e-4 * by_reference[i]) << i;
}

TEST(TrainerTest, EpochsAreCountedInUpdates) {
  const v1::TrialSpec spec = TinySpec("training { epochs: 3 gradient_accumulation: 2 }");
  const auto dataset = TinyDataset(spec);
  const auto examples = static_cast<std::uint64_t>(dataset->train_examples());
  EXPECT_EQ(UpdatesOf(spec.training(), *dataset), (3 * examples + 7) / 8);
  EXPECT_EQ(UpdatesOf(TinySpec().training(), *dataset), 20u);
}

TEST(TrainerTest, AnotherSeedGivesAnotherTraining) {
  const TemporaryFolder folder;
  EXPECT_NE(Train(TinySpec(), folder.path())->sink.Curve("train_loss"),
            Train(TinySpec("seed: 8"), folder.path())->sink.Curve("train_loss"));
}

TEST(TrainerTest, ResumedInTheMiddleEndsBitEqual) {
  for (const char* changes :
       {"", "training { gradient_accumulation: 2 }", "training { optimizer { sgd { } } }",
        "training { optimizer { rmsprop { momentum: 0.9 } } }",
        "training { optimizer { ortho_adam { side: BOTH } } schedule { cosine { } } }",
        "training { optimizer { muon { } } }", "training { optimizer { soap { refresh_every: 3 } } }",
        "training { regularizer { ffn_output { weight: 0.1 } kurtosis { weight: 0.01 } } }",
        "training { regularizer { ffn_output { weight: 0.1 } } }",
        "training { low_precision { weights { format: NVFP4 group_rows: 16 } activations { format: NVFP4 } "
        "gradients { format: NVFP4 stochastic_rounding: true } hadamard_size: 16 } }",
        "training { precision: BFLOAT16 low_precision { weights { format: FP8_E4M3 group_size: 16 "
        "group_rows: 16 } "
        "activations { format: FP8_E4M3 group_size: 16 } gradients { format: FP8_E5M2 } } }",
        "training { low_precision { weights { bits: 4 } activations { bits: 8 } learned_scales: true } }",
        "model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } attention { "
        "gate { linear { } } }"}) {
    const TemporaryFolder straight_folder, resumed_folder;
    const v1::TrialSpec spec = TinySpec(changes);
    const auto straight = Train(spec, straight_folder.path());
    ASSERT_EQ(straight->sink.checkpoints.size(), 2u);
    ASSERT_EQ(straight->sink.checkpoints[0].step(), 10u);
    const auto resumed =
        Train(spec, resumed_folder.path(), straight_folder / straight->sink.checkpoints[0].path());
    ASSERT_TRUE(resumed->result.ok()) << resumed->result.status();
    ExpectSameBits(*straight->model, *resumed->model);
    std::vector<double> tail = straight->sink.Curve("train_loss");
    tail.erase(tail.begin(), tail.begin() + 10);
    EXPECT_EQ(resumed->sink.Curve("train_loss"), tail);
    // The products are the same file, byte for byte.
    EXPECT_EQ(straight->sink.checkpoints[1].sha256(), resumed->sink.checkpoints.back().sha256());
  }
}

TEST(TrainerTest, StoppedTrainingContinuesFromItsCheckpoint) {
  const TemporaryFolder whole_folder, stopped_folder, resumed_folder;
  const v1::TrialSpec spec = TinySpec();
  const auto whole = Train(spec, whole_folder.path());
  int asked = 0;
  const auto stopped = Train(spec, stopped_folder.path(), {}, [&asked] { return ++asked == 7; });
  ASSERT_EQ(stopped->result->end, TrainResult::End::kStopped);
  EXPECT_EQ(stopped->result->step, 7u);
  ASSERT_EQ(stopped->sink.checkpoints.size(), 1u);
  EXPECT_EQ(stopped->sink.checkpoints[0].path(), "step-0000000007.safetensors");
  EXPECT_FALSE(stopped->sink.checkpoints[0].final());
  const auto resumed = Train(spec, resumed_folder.path(), stopped_folder / "step-0000000007.safetensors");
  ExpectSameBits(*whole->model, *resumed->model);
}

// Three questions an update: after each micro-batch but the last, and after the update.
TEST(TrainerTest, AnUpdateThatIsStoppedInItsMidstIsLeftOut) {
  const TemporaryFolder whole_folder, stopped_folder, resumed_folder;
  const v1::TrialSpec spec = TinySpec("training { gradient_accumulation: 3 }");
  const auto whole = Train(spec, whole_folder.path());
  int asked = 0;
  const auto stopped = Train(spec, stopped_folder.path(), {}, [&asked] { return ++asked == 3 * 4 + 2; });
  ASSERT_EQ(stopped->result->end, TrainResult::End::kStopped);
  EXPECT_EQ(stopped->result->step, 4u);
  const auto resumed = Train(spec, resumed_folder.path(), stopped_folder / "step-0000000004.safetensors");
  ExpectSameBits(*whole->model, *resumed->model);
  const TemporaryFolder first_folder;
  const auto first = Train(spec, first_folder.path(), {}, [] { return true; });
  EXPECT_EQ(first->result->end, TrainResult::End::kStopped);
  EXPECT_TRUE(first->sink.checkpoints.empty()) << "there is no update to save";
}

TEST(TrainerTest, TrainingLowersTheLoss) {
  const TemporaryFolder folder;
  const v1::TrialSpec spec = TinySpec(
      "dropout: 0 attention { dropout: 0 } training { steps: 60 optimizer { adamw { learning_rate: 0.01 } } "
      "}");
  const auto run = Train(spec, folder.path());
  const std::vector<double> losses = run->sink.Curve("train_loss");
  ASSERT_EQ(losses.size(), 60u);
  double first = 0, last = 0;
  for (int i = 0; i < 10; ++i) {
    first += losses.at(i) / 10;
    last += losses.at(losses.size() - 1 - i) / 10;
  }
  EXPECT_LT(last, first - 0.3);
  // The first update sees the initial weights.
  const Batch batch = TinyDataset(spec)->TrainBatch(spec.seed(), 0, 4);
  EXPECT_NEAR(losses[0],
              TinyModel(spec)->Loss(InputOf(batch, c10::Device(c10::kCPU)), batch.labels).item<double>(),
              1e-6);
}

TEST(TrainerTest, HugeLearningRateIsReportedAsDiverged) {
  const TemporaryFolder folder;
  // Each update multiplies the weights by 1 - 100 * 0.1 = -9.
  const auto run = Train(TinySpec("training { steps: 200 checkpoint_every: 200 schedule { constant { } } "
                                  "optimizer { adamw { learning_rate: 100 weight_decay: 0.1 } } }"),
                         folder.path());
  ASSERT_TRUE(run->result.ok()) << run->result.status();
  ASSERT_EQ(run->result->end, TrainResult::End::kDiverged);
  EXPECT_THAT(
      run->result->message,
      testing::StartsWith("diverged at update " + std::to_string(run->result->step) + " of 200: loss "));
  EXPECT_TRUE(run->sink.checkpoints.empty());
  EXPECT_EQ(run->sink.measurements.back().step(), run->result->step);
}

TEST(TrainerTest, CurvesHaveAPointEveryMeasureEveryUpdatesAndAtBothEnds) {
  const TemporaryFolder folder;
  const auto run = Train(TinySpec("training { measure_every: 8 }"), folder.path());
  std::vector<std::uint64_t> steps;
  for (const v1::MeasurementPoint& point : run->sink.measurements) {
    if (point.name() == "learning_rate") steps.push_back(point.step());
  }
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 8, 16, 20}));
  // Linear with two updates of warm-up: update 7 (the eighth) of 20.
  EXPECT_DOUBLE_EQ(run->sink.Curve("learning_rate")[1], 1e-3 * 13.0 / 18.0);
}

TEST(TrainerTest, TheRateIsKnownFromTheSecondUpdateOnAndLeavesOutTheFirst) {
  const TemporaryFolder folder;
  const auto run = Train(TinySpec("training { measure_every: 8 }"), folder.path());
  ASSERT_GE(run->sink.progress.size(), 20u);
  for (const v1::Progress& progress : run->sink.progress) {
    if (progress.phase() == "train") {
      EXPECT_EQ(progress.has_rate(), progress.step() > 1) << progress.step();
    }
  }
}

TEST(TrainerTest, EveryReportedNameIsInTheTableOfMeasurements) {
  const TemporaryFolder folder;
  const auto run = Train(TinySpec(), folder.path());
  std::vector<std::string> finals;
  for (const v1::MeasurementPoint& point : run->sink.measurements) {
    const MeasurementInfo* info = FindMeasurement(point.name());
    ASSERT_NE(info, nullptr) << point.name();
    EXPECT_EQ(info->source, "train") << point.name();
    EXPECT_TRUE(point.final() ? info->final : info->curve) << point.name();
    if (point.final()) finals.push_back(point.name());
  }
  EXPECT_THAT(finals, testing::UnorderedElementsAre("train_loss", "tokens_per_second", "updates_per_second",
                                                    "train_seconds", "parameters", "gate_parameters"))
      << "memory of a GPU is absent without one";
}

TEST(TrainerTest, OnlyTheNewestTwoPeriodicCheckpointsAreKept) {
  const TemporaryFolder folder;
  Train(TinySpec("training { checkpoint_every: 4 }"), folder.path());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("step-0000000012.safetensors",
                                                   "step-0000000016.safetensors", "model.safetensors"));
}

TEST(TrainerTest, BfloatTrainingLearnsAndKeepsFloatWeights) {
  const TemporaryFolder folder;
  const auto run = Train(TinySpec("training { precision: BFLOAT16 }"), folder.path());
  ASSERT_EQ(run->result->end, TrainResult::End::kFinished);
  const auto exact = Train(TinySpec(), folder.path());
  const double bfloat = run->sink.Curve("train_loss").back(), full = exact->sink.Curve("train_loss").back();
  EXPECT_NE(bfloat, full);
  EXPECT_NEAR(bfloat, full, 0.05);
  for (const auto& [name, parameter] : ParametersOf(*run->model))
    EXPECT_EQ(parameter.scalar_type(), at::kFloat) << name;
}

TEST(TrainerTest, FolderThatCannotBeWrittenIsAClearError) {
  const auto run = Train(TinySpec("training { steps: 3 }"), "/proc/inlier-no-such-folder");
  ASSERT_FALSE(run->result.ok());
  EXPECT_THAT(std::string(run->result.status().message()),
              testing::AllOf(testing::HasSubstr("/proc/inlier-no-such-folder"),
                             testing::HasSubstr("the checkpoint after update 3")));
}

}  // namespace
}  // namespace inlier
