// OrthoAdam where it must equal AdamW, where it must not, and the bases that it refuses to continue in.
#include "core/optim/ortho_adam.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/optim/draw_rotations.h"
#include "core/optim/orthogonal_matrix.h"
#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

constexpr OrthoAdam::Options kOptions = {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1};

// A matrix for every axis of every parameter.
std::map<std::string, Rotation> OnEveryAxis(const SmallNetwork& model,
                                            const std::function<at::Tensor(std::int64_t)>& matrix) {
  std::map<std::string, Rotation> rotations;
  for (const auto& [name, parameter] : model.parameters()) {
    std::vector<AxisRotation> axes;
    for (std::int64_t axis = 0; axis < parameter.dim(); ++axis)
      axes.push_back(AxisRotation::Dense(axis, matrix(parameter.size(axis))));
    rotations.emplace(name, Rotation(std::move(axes)));
  }
  return rotations;
}

at::Tensor HaarOf(std::int64_t size) {
  RandomStream stream(3, "ortho_adam_test");
  return HaarMatrix(size, stream);
}

// A cyclic shift with alternating signs.
at::Tensor SignedPermutation(std::int64_t size) {
  const at::Tensor signs = at::ones({size}, at::kDouble);
  signs.slice(0, 0, size, 2).fill_(-1);
  return at::eye(size, at::kDouble).roll(1, 0) * signs;
}

// The distance of OrthoAdam with these rotations from AdamW after 20 updates.
double DistanceFromAdamW(const std::function<at::Tensor(std::int64_t)>& matrix) {
  SmallNetwork rotated, plain;
  OrthoAdam ortho(SplitForDecay(rotated.parameters(), false), kOptions, OnEveryAxis(rotated, matrix));
  Adam adam(
      SplitForDecay(plain.parameters(), false),
      {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .decay = Adam::Decay::kDecoupled});
  rotated.Run(ortho, 0, 20);
  plain.Run(adam, 0, 20);
  return rotated.DistanceFrom(plain);
}

TEST(OrthoAdamTest, IdentityEqualsAdamW) {
  EXPECT_LT(DistanceFromAdamW([](std::int64_t size) { return at::eye(size, at::kDouble); }), 1e-12);
}

TEST(OrthoAdamTest, SignedPermutationEqualsAdamW) { EXPECT_LT(DistanceFromAdamW(SignedPermutation), 1e-12); }

TEST(OrthoAdamTest, AnotherBasisDoesNot) { EXPECT_GT(DistanceFromAdamW(HaarOf), 1e-2); }

TEST(OrthoAdamTest, WithoutRotationsItIsAdamW) {
  SmallNetwork ours, plain;
  OrthoAdam ortho(ours.groups(), kOptions, {});
  Adam adam(
      plain.groups(),
      {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1, .decay = Adam::Decay::kDecoupled});
  ours.Run(ortho, 0, 5);
  plain.Run(adam, 0, 5);
  EXPECT_EQ(ours.DistanceFrom(plain), 0);
}

// The first update is plus or minus the rate in every coordinate of the rotated basis.
TEST(OrthoAdamTest, FirstUpdateHasTheNormOfAdams) {
  SmallNetwork model, start;
  OrthoAdam::Options options = kOptions;
  options.weight_decay = 0;
  OrthoAdam ortho(model.groups(), options, OnEveryAxis(model, HaarOf));
  model.Run(ortho, 0, 1, /*learning_rate=*/0.01);
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    const at::Tensor update = model.parameters()[i].second.detach() - start.parameters()[i].second.detach();
    EXPECT_NEAR(update.norm().item<double>(), 0.01 * std::sqrt(static_cast<double>(update.numel())), 1e-6)
        << model.parameters()[i].first;
  }
}

TEST(OrthoAdamTest, LeavesTheGradientsAsTheyAre) {
  SmallNetwork model, other;
  OrthoAdam ortho(model.groups(), kOptions, OnEveryAxis(model, HaarOf));
  model.FillGradients(0);
  other.FillGradients(0);
  ortho.Step(0.1);
  for (std::size_t i = 0; i < model.parameters().size(); ++i)
    EXPECT_TRUE(at::equal(model.parameters()[i].second.grad(), other.parameters()[i].second.grad()));
}

TEST(OrthoAdamTest, StateHasOneChecksumARotatedParameter) {
  SmallNetwork model;
  OrthoAdam ortho(model.groups(), kOptions, DrawRotations(v1::OrthoAdamSpec(), model.parameters()));
  const auto state = CopyOfState(ortho);
  EXPECT_EQ(state.size(), 1 + 2 * model.parameters().size() + 3);
  EXPECT_EQ(state.at("first_moment/model.layers.0.mlp.down_proj.weight").sizes(), at::IntArrayRef({8, 12}));
  EXPECT_EQ(state.at("rotation_checksum/model.layers.0.mlp.down_proj.weight").sizes(), at::IntArrayRef({1}));
  EXPECT_FALSE(state.contains("rotation_checksum/model.norm.weight"));
}

TEST(OrthoAdamTest, AStateInAnotherBasisIsRefused) {
  SmallNetwork model;
  const auto make = [&model](const v1::OrthoAdamSpec& spec) {
    return OrthoAdam(model.groups(), kOptions, DrawRotations(spec, model.parameters()));
  };
  const auto state = CopyOfState(make(v1::OrthoAdamSpec()));
  EXPECT_TRUE(make(v1::OrthoAdamSpec()).LoadState(state).ok());
  v1::OrthoAdamSpec other_seed, other_side, fewer;
  other_seed.set_rotation_seed(2);
  other_side.set_side(v1::OrthoAdamSpec::BOTH);
  fewer.set_max_size(4);
  for (const v1::OrthoAdamSpec& spec : {other_seed, other_side, fewer}) {
    const absl::Status status = make(spec).LoadState(state);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << spec.ShortDebugString();
  }
  EXPECT_EQ(
      make(other_seed).LoadState(state).message(),
      "the optimizer's state is in another basis than the one made here "
      "(rotation_checksum/model.embed_tokens.weight differs): side, kind, block, max_size or rotation_seed "
      "of ortho_adam have changed, or this build draws other matrices");
  // And the other way round: a state without rotations.
  EXPECT_FALSE(make(v1::OrthoAdamSpec()).LoadState(CopyOfState(make(fewer))).ok());
}

}  // namespace
}  // namespace inlier
