// Trainings by several ranks against trainings by one: the same examples, masks and dropout, so that only the rounding
// of sums differs.
#include "tests/core/gang/ranks.h"

#include <ATen/Functions.h>

#include <cmath>
#include <memory>

#include "core/train/checkpoint.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

using StopAt = std::function<bool(int rank, int asked)>;  // How often the rank has been asked.
const StopAt kToTheEnd = [](int, int) { return false; };

struct Trained {
  std::shared_ptr<LanguageModel> model;
  CollectingSink sink;
  absl::StatusOr<TrainResult> result = absl::UnknownError("not run");
};

struct Setting {
  int processes = 1;
  bool in_double = false;
  bool shard_optimizer = false;
  std::filesystem::path resume_from = {};
  StopAt stop = kToTheEnd;
};

// The result of each rank at the end of a training into `folder`.
std::vector<Trained> TrainRanks(const v1::TrialSpec& spec, const std::filesystem::path& folder,
                                const Setting& setting) {
  std::vector<Trained> runs(static_cast<std::size_t>(setting.processes));
  const auto dataset = TinyDataset(spec);
  RunRanks(setting.processes, [&](Gang gang) {
    const int rank = gang.rank();
    Trained& run = runs[static_cast<std::size_t>(rank)];
    run.model = TinyModel(spec);
    if (setting.in_double) run.model->to(at::kDouble);
    Trainer trainer(spec, *run.model, *dataset, c10::Device(c10::kCPU), run.sink, {},
                    {.gang = std::move(gang), .shard_optimizer = setting.shard_optimizer});
    if (!setting.resume_from.empty()) {
      EXPECT_EQ(trainer.Resume(setting.resume_from), absl::OkStatus());
    }
    int asked = 0;
    run.result = trainer.Run(folder, [&] { return setting.stop(rank, ++asked); });
    EXPECT_TRUE(run.result.ok()) << run.result.status();
  });
  return runs;
}

// The largest difference of two models' weights.
double Difference(const Model& a, const Model& b) {
  const auto left = ParametersOf(a), right = ParametersOf(b);
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const at::Tensor difference = left[i].second.detach().to(at::kDouble) - right[i].second.detach();
    largest = std::max(largest, difference.abs().max().item<double>());
  }
  return largest;
}

// Plain descent at rate 1 without clipping: the change of a weight is its gradient.
constexpr char kOneGradient[] =
    "training { steps: 1 gradient_clip_norm: 0 optimizer { sgd { learning_rate: 1 } } "
    "schedule { constant {} warmup_steps: 0 } ";

TEST(RanksTest, GradientsInDoubleAreThoseOfOneProcess) {
  const std::string opt =
      "model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } attention { softmax { clipped { "
      "gamma: -0.03 } } } ";
  const std::string cases[] = {
      "batch_size: 8 engine: FUSED }",
      "batch_size: 8 engine: REFERENCE }",
      "batch_size: 4 gradient_accumulation: 4 engine: FUSED }",
      "batch_size: 4 gradient_accumulation: 2 label_smoothing: 0.1 engine: FUSED }",
      "batch_size: 8 engine: FUSED } " + opt,
      "batch_size: 8 engine: REFERENCE } " + opt,
      "batch_size: 4 gradient_accumulation: 2 engine: REFERENCE regularizer { kurtosis { weight: 0.1 } "
      "ffn_output { weight: 0.1 } } }",
      "batch_size: 4 gradient_accumulation: 2 engine: FUSED regularizer { ffn_output { weight: 0.1 tau: 0.5 "
      "power: 4 } } }",
      "batch_size: 4 gradient_accumulation: 4 low_precision { weights { bits: 4 } activations { format: MXFP4 } "
      "gradients { format: NVFP4 stochastic_rounding: true } hadamard_size: 16 } }",
  };
  for (const std::string& changes : cases) {
    const v1::TrialSpec spec = TinySpec(kOneGradient + changes);
    const TemporaryFolder folder;
    const auto before = TinyModel(spec);
    before->to(at::kDouble);
    const std::vector<Trained> one = TrainRanks(spec, folder.path(), {.in_double = true});
    EXPECT_GT(Difference(*before, *one[0].model), 1e-3) << changes;
    for (const int processes : {2, 4}) {
      const std::vector<Trained> runs =
          TrainRanks(spec, folder.path(), {.processes = processes, .in_double = true});
      EXPECT_LT(Difference(*one[0].model, *runs[0].model), 1e-13) << processes << ": " << changes;
      for (const Trained& run : runs) ExpectSameBits(*run.model, *runs[0].model);
      for (const char* curve : {"train_loss", "gradient_norm", "penalty"}) {
        const std::vector<double> alone = one[0].sink.Curve(curve), shared = runs[0].sink.Curve(curve);
        ASSERT_EQ(alone.size(), shared.size()) << curve;
        for (std::size_t i = 0; i < alone.size(); ++i)
          EXPECT_NEAR(shared[i], alone[i], 1e-12 * std::abs(alone[i])) << curve << " of " << processes;
      }
    }
  }
}

// With few masked tokens: the head of the model is not run where there is none.
TEST(RanksTest, ARankWithoutATargetTakesPartInTheSums) {
  const v1::TrialSpec spec =
      TinySpec(std::string(kOneGradient) + "batch_size: 8 } data { text { mask_probability: 0.04 } }");
  const auto dataset = TinyDataset(spec);
  int without = 0;
  for (std::uint64_t example = 0; example < 8; ++example)
    without +=
        dataset->TrainBatch(spec.seed(), example, 1).labels.ne(kIgnoredLabel).any().item<bool>() ? 0 : 1;
  ASSERT_GT(without, 0);
  ASSERT_LT(without, 8);
  const TemporaryFolder folder;
  const std::vector<Trained> one = TrainRanks(spec, folder.path(), {.in_double = true});
  const std::vector<Trained> runs = TrainRanks(spec, folder.path(), {.processes = 8, .in_double = true});
  EXPECT_LT(Difference(*one[0].model, *runs[0].model), 1e-13);
  for (const Trained& run : runs) ExpectSameBits(*run.model, *runs[0].model);
}

// 200 updates in float32: rounding grows from update to update, and the curves stay together.
TEST(RanksTest, CurvesOf200UpdatesStayWithinRounding) {
  for (const std::string engine : {"FUSED", "REFERENCE"}) {
    const v1::TrialSpec spec =
        TinySpec("training { steps: 200 batch_size: 8 checkpoint_every: 1000 engine: " + engine +
                 " measure_outliers_every: 0 }");
    const TemporaryFolder folder;
    const std::vector<double> alone = TrainRanks(spec, folder.path(), {})[0].sink.Curve("train_loss");
    ASSERT_EQ(alone.size(), 200u);
    for (const int processes : {2, 4}) {
      const std::vector<double> shared =
          TrainRanks(spec, folder.path(), {.processes = processes})[0].sink.Curve("train_loss");
      ASSERT_EQ(shared.size(), alone.size());
      double largest = 0;
      for (std::size_t i = 0; i < alone.size(); ++i)
        largest = std::max(largest, std::abs(shared[i] - alone[i]) / alone[i]);
      std::printf("%s, %d ranks: losses of 200 updates differ by up to %.2g of them\n", engine.c_str(),
                  processes, largest);
      EXPECT_LT(largest, 1e-4) << engine << ", " << processes << " ranks";
      EXPECT_LT(shared.back(), shared.front() - 0.5) << "it learns";
    }
  }
}

TEST(RanksTest, TheSameRanksGiveTheSameBits) {
  const v1::TrialSpec spec = TinySpec("training { measure_outliers_every: 5 }");
  const TemporaryFolder folder;
  const std::vector<Trained> first = TrainRanks(spec, folder.path(), {.processes = 2}),
                             second = TrainRanks(spec, folder.path(), {.processes = 2});
  ExpectSameBits(*first[0].model, *second[0].model);
  EXPECT_EQ(first[0].sink.Curve("train_loss"), second[0].sink.Curve("train_loss"));
  EXPECT_EQ(first[0].sink.Curve("max_inf_norm").size(), 4u);
  EXPECT_TRUE(first[1].sink.Curve("max_inf_norm").empty()) << "rank 0 alone measures";
  EXPECT_TRUE(first[1].sink.checkpoints.empty()) << "rank 0 alone writes";
  EXPECT_EQ(first[0].sink.checkpoints.size(), 2u);
}

// One rank is asked to stop: all stop after the same update, with one checkpoint, from which any number of ranks
// continues.
TEST(RanksTest, StoppedByOneRankAndResumedWithOtherNumbersOfRanks) {
  for (const bool shard : {false, true}) {
    const v1::TrialSpec spec = TinySpec("training { batch_size: 8 checkpoint_every: 1000 }");
    const TemporaryFolder folder, whole;
    const std::vector<double> alone = TrainRanks(spec, whole.path(), {})[0].sink.Curve("train_loss");
    std::vector<double> curve;
    std::filesystem::path checkpoint;
    const auto continue_with = [&](int processes, std::uint64_t until) {
      const std::uint64_t from = curve.size();
      Setting setting{.processes = processes, .shard_optimizer = shard, .resume_from = checkpoint};
      setting.stop = [&](int rank, int asked) {
        return rank == processes - 1 && from + static_cast<std::uint64_t>(asked) == until;
      };
      const std::vector<Trained> runs = TrainRanks(spec, folder.path(), setting);
      for (const Trained& run : runs) {
        EXPECT_EQ(run.result->step, until);
        EXPECT_EQ(run.result->end, until == 20 ? TrainResult::End::kFinished : TrainResult::End::kStopped);
      }
      const std::vector<double> part = runs[0].sink.Curve("train_loss");
      curve.insert(curve.end(), part.begin(), part.end());
      checkpoint = folder / PeriodicCheckpointName(until);
      EXPECT_EQ(std::filesystem::exists(checkpoint), until < 20);
    };
    continue_with(4, 7);
    continue_with(2, 13);
    continue_with(1, 20);
    ASSERT_EQ(curve.size(), alone.size());
    for (std::size_t i = 0; i < curve.size(); ++i)
      EXPECT_NEAR(curve[i], alone[i], 1e-5 * alone[i]) << "update " << i + 1;
  }
}

// Each rank updates a part of the parameters: the memory changes and no bit.
TEST(RanksTest, AShardedOptimizerChangesNoBit) {
  for (const std::string optimizer :
       {"adamw { learning_rate: 0.001 }", "sgd { learning_rate: 0.1 momentum: 0.9 }", "muon {}", "soap {}",
        "ortho_adam {}"}) {
    const v1::TrialSpec spec =
        TinySpec("training { steps: 8 checkpoint_every: 4 optimizer { " + optimizer + " } }");
    const TemporaryFolder folder, sharded_folder;
    const std::vector<Trained> whole = TrainRanks(spec, folder.path(), {.processes = 2}),
                               sharded = TrainRanks(spec, sharded_folder.path(),
                                                    {.processes = 2, .shard_optimizer = true});
    for (const Trained& run : sharded) ExpectSameBits(*run.model, *whole[0].model);
    // The checkpoint in the middle has the whole state.
    const std::string middle = PeriodicCheckpointName(4);
    const std::vector<Trained> from_whole = TrainRanks(spec, folder.path(), {.resume_from = folder / middle}),
                               from_sharded =
                                   TrainRanks(spec, folder.path(), {.resume_from = sharded_folder / middle});
    ExpectSameBits(*from_whole[0].model, *from_sharded[0].model);
    // And each rank takes its part of it.
    const TemporaryFolder resumed_folder;
    const std::vector<Trained> resumed =
        TrainRanks(spec, resumed_folder.path(),
                   {.processes = 2, .shard_optimizer = true, .resume_from = sharded_folder / middle});
    for (const Trained& run : resumed) ExpectSameBits(*run.model, *whole[0].model);
  }
}

}  // namespace
}  // namespace inlier
