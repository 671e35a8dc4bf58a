#include "core/outliers/six_sigma_recorder.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <limits>

namespace inlier {
namespace {

const char kFfn[] = "bert.encoder.layer.1.output.dense";

at::Tensor Quiet() { return torch::zeros({2, 50, 20}); }

std::int64_t At(const at::Tensor& counts, int index) { return counts[index].item<std::int64_t>(); }

TEST(SixSigmaRecorderTest, CountsOfBatchesAddUpByPositionAndDimension) {
  SixSigmaRecorder recorder;
  at::Tensor x = Quiet();
  x[0][7][3] = 100;
  x[1][9][3] = -100;
  EXPECT_TRUE(recorder.OnActivation(kFfn, x).is_same(x));
  recorder.OnActivation("bert.encoder.layer.1.output.LayerNorm", x);
  recorder.OnActivation(kFfn, x.slice(0, 0, 1));
  const std::vector<SixSigmaSite> sites = recorder.Sites();
  ASSERT_EQ(sites.size(), 1u);
  EXPECT_EQ(sites[0].site, kFfn);
  EXPECT_DOUBLE_EQ(sites[0].mean_count, 1);
  EXPECT_EQ(At(sites[0].per_dimension, 3), 3);
  EXPECT_EQ(At(sites[0].per_position, 7), 2);
  EXPECT_EQ(At(sites[0].per_position, 9), 1);
  EXPECT_EQ(sites[0].per_position.sum().item<std::int64_t>(), 3);
}

// OPT's are (B * T, d); a sequence has its own mean and deviation all the same.
TEST(SixSigmaRecorderTest, FlatOutputsAreCountedBySequence) {
  torch::manual_seed(1);
  at::Tensor x = torch::randn({2, 50, 20});
  x[1] *= 100;
  x[0][4][2] = 30;
  SixSigmaRecorder flat;
  flat.OnActivation("hidden.0", x);
  flat.OnActivation("model.decoder.layers.0.fc2", x.view({100, 20}));
  EXPECT_EQ(At(flat.Sites()[0].per_position, 4), 1);
  EXPECT_EQ(flat.Sites()[0].per_dimension.sum().item<std::int64_t>(), 1);
  EXPECT_EQ(flat.Sites()[0].per_position.numel(), 50);
}

TEST(SixSigmaRecorderTest, PaddingIsNotCountedUnlessAsked) {
  at::Tensor x = Quiet(), mask = torch::ones({2, 50}, torch::kLong);
  x[0][7][3] = 100;
  x[0].slice(0, 40).fill_(7);
  mask[0].slice(0, 40).fill_(0);
  SixSigmaRecorder recorder, counting(/*count_padding=*/true);
  for (SixSigmaRecorder* each : {&recorder, &counting}) {
    each->OnPass(mask);
    each->OnActivation(kFfn, x);
  }
  EXPECT_DOUBLE_EQ(recorder.Sites()[0].mean_count, 0.5);
  x[0].slice(0, 40).fill_(-1000);
  SixSigmaRecorder loud;
  loud.OnPass(mask);
  loud.OnActivation(kFfn, x);
  EXPECT_DOUBLE_EQ(loud.Sites()[0].mean_count, 0.5) << "for any values there";
  SixSigmaRecorder loud_counting(/*count_padding=*/true);
  loud_counting.OnPass(mask);
  loud_counting.OnActivation(kFfn, x);
  EXPECT_DOUBLE_EQ(loud_counting.Sites()[0].mean_count, 0) << "the padding raises the deviation";
}

TEST(SixSigmaRecorderTest, ADivergedModelDoesNotLookHealthy) {
  SixSigmaRecorder recorder;
  at::Tensor x = Quiet();
  x[1][2][3] = std::numeric_limits<float>::quiet_NaN();
  recorder.OnActivation(kFfn, x);
  recorder.OnActivation(kFfn, Quiet());
  EXPECT_TRUE(std::isnan(recorder.Sites()[0].mean_count));
}

}  // namespace
}  // namespace inlier
