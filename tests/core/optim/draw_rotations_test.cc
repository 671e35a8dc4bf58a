// Which weights are rotated on which axes, and that the matrices depend on seed, name, axis and size alone.
#include "core/optim/draw_rotations.h"

#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "tests/core/optim/optimizer_fixture.h"

namespace inlier {
namespace {

v1::OrthoAdamSpec OrthoSpec(const std::string& text) {
  v1::OrthoAdamSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

// The matrix that acts on the axis of a (rows, columns) parameter, or the identity.
at::Tensor MatrixOf(const std::map<std::string, Rotation>& rotations, const std::string& name,
                    std::int64_t size) {
  const auto found = rotations.find(name);
  const at::Tensor eye = at::eye(size, at::kDouble);
  return found == rotations.end() ? eye : found->second.Apply(eye);
}

// "0", "1", "01" or "": which axes of a parameter of this name and shape are rotated.
std::string Axes(const std::string& spec, const std::string& name, std::vector<std::int64_t> shape) {
  const auto rotations = DrawRotations(OrthoSpec(spec), {{name, at::zeros(shape)}});
  if (rotations.empty()) return "";
  // A rotation of axis 0 mixes rows: it moves a matrix with a single row that is not 0 to other rows.
  at::Tensor x = at::zeros(shape, at::kDouble);
  x[0][0] = 1;
  const at::Tensor moved = rotations.at(name).Apply(x).abs() > 1e-12;
  std::string axes;
  if (moved.any(1).sum().item<std::int64_t>() > 1) axes += "0";
  if (moved.any(0).sum().item<std::int64_t>() > 1) axes += "1";
  return axes;
}

TEST(DrawRotationsTest, SideChoosesTheAxes) {
  struct Case {
    const char* name;
    std::vector<std::int64_t> shape;
    const char *residual, *out, *in, *both;
  };
  const Case cases[] = {
      {"model.embed_tokens.weight", {20, 8}, "1", "", "1", "1"},
      {"model.layers.0.self_attn.q_proj.weight", {8, 8}, "1", "0", "1", "01"},
      {"model.layers.0.mlp.down_proj.weight", {8, 16}, "0", "0", "1", "01"},
      {"transformer.h.0.attn.c_attn.weight", {8, 24}, "0", "1", "0", "01"},
      {"transformer.h.0.mlp.c_proj.weight", {32, 8}, "1", "1", "0", "01"},
      {"x.gate.weight", {4, 8}, "1", "0", "1", "01"},  // Of all heads: it reads the stream.
      {"x.gate.0.weight", {1, 8}, "", "", "1", "1"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Axes("", c.name, c.shape), c.residual) << c.name;
    EXPECT_EQ(Axes("side: OUT", c.name, c.shape), c.out) << c.name;
    EXPECT_EQ(Axes("side: IN", c.name, c.shape), c.in) << c.name;
    EXPECT_EQ(Axes("side: BOTH", c.name, c.shape), c.both) << c.name;
  }
}

// Parameters that write the residual stream of a ViT, of more axes than a matrix: Q on the features, nothing else.
TEST(DrawRotationsTest, TheEmbeddingsOfAVitAreRotatedOnTheirFeatures) {
  const std::pair<const char*, std::vector<std::int64_t>> parameters[] = {
      {"vit.embeddings.patch_embeddings.projection.weight", {8, 3, 2, 2}},
      {"vit.embeddings.cls_token", {1, 1, 8}},
      {"vit.embeddings.position_embeddings", {1, 5, 8}}};
  for (const auto& [name, shape] : parameters) {
    const at::Tensor x = at::arange(at::zeros(shape).numel(), at::kDouble).sin().view(shape);
    const bool features_first = x.dim() == 4;
    const auto rotations = DrawRotations(OrthoSpec(""), {{name, x}});
    ASSERT_EQ(rotations.size(), 1u) << name;
    const at::Tensor turned = rotations.at(name).Apply(x);
    const auto rows = [features_first](const at::Tensor& t) {
      return features_first ? t.reshape({8, -1}).t() : t.reshape({-1, 8});
    };
    // Rows keep their lengths and the angles between them, and change.
    EXPECT_TRUE(
        at::allclose(rows(turned).matmul(rows(turned).t()), rows(x).matmul(rows(x).t()), 1e-12, 1e-12))
        << name;
    EXPECT_GT((turned - x).abs().max().item<double>(), 0.1) << name;
    for (const char* side : {"side: OUT", "side: IN", "side: BOTH"})
      EXPECT_TRUE(DrawRotations(OrthoSpec(side), {{name, x}}).empty()) << name << side;
  }
}

TEST(DrawRotationsTest, VectorsAreNotRotated) {
  EXPECT_TRUE(
      DrawRotations(OrthoSpec(""), {{"model.norm.weight", at::zeros({8})}, {"lm_head.bias", at::zeros({8})}})
          .empty());
  EXPECT_TRUE(DrawRotations(OrthoSpec("side: BOTH"),
                            {{"model.norm.weight", at::zeros({8})}, {"lm_head.bias", at::zeros({8})}})
                  .empty());
}

TEST(DrawRotationsTest, LongAxesAreLeftUnlessTheyAreCutIntoBlocks) {
  EXPECT_EQ(Axes("side: BOTH max_size: 16", "lm_head.weight", {17, 16}), "1");
  EXPECT_EQ(Axes("side: BOTH max_size: 17", "lm_head.weight", {17, 16}), "01");
  EXPECT_EQ(Axes("side: BOTH max_size: 16 block: 4", "lm_head.weight", {17, 16}), "01");
  EXPECT_EQ(Axes("side: BOTH max_size: 16 block: 17", "lm_head.weight", {17, 16}), "1");
}

TEST(DrawRotationsTest, BlocksKeepToThemselves) {
  const auto rotations = DrawRotations(OrthoSpec("block: 4"), {{"lm_head.weight", at::zeros({10, 10})}});
  const at::Tensor q = MatrixOf(rotations, "lm_head.weight", 10).t();
  EXPECT_LE((q.matmul(q.t()) - at::eye(10, at::kDouble)).abs().max().item<double>(), 1e-14);
  for (int row = 0; row < 10; ++row) {
    for (int column = 0; column < 10; ++column)
      EXPECT_EQ(q[row][column].item<double>() != 0, row / 4 == column / 4) << row << " " << column;
  }
  EXPECT_GT((q.slice(0, 0, 4).slice(1, 0, 4) - q.slice(0, 4, 8).slice(1, 4, 8)).abs().max().item<double>(),
            0.01);
}

TEST(DrawRotationsTest, MatricesDependOnSeedNameAxisAndSizeAlone) {
  const at::Tensor weight = at::zeros({8, 8});
  const auto draw = [&weight](const std::string& spec, const std::string& name) {
    return MatrixOf(DrawRotations(OrthoSpec(spec), {{"lm_head.weight", at::zeros({4, 8})}, {name, weight}}),
                    name, 8);
  };
  const at::Tensor q = draw("", "a.q_proj.weight");
  EXPECT_TRUE(at::equal(q, draw("", "a.q_proj.weight")));
  EXPECT_TRUE(at::equal(q, draw("side: IN beta1: 0.5", "a.q_proj.weight")));
  const auto differs = [&q](const at::Tensor& other) {
    return (q - other).abs().max().item<double>() > 0.01;
  };
  EXPECT_TRUE(differs(draw("rotation_seed: 2", "a.q_proj.weight")));
  EXPECT_TRUE(differs(draw("", "b.q_proj.weight")));
  EXPECT_TRUE(differs(draw("kind: HADAMARD", "a.q_proj.weight")));
  EXPECT_TRUE(differs(draw("side: OUT", "a.q_proj.weight").t()));  // Q I on axis 0, I Q^T on axis 1.
}

TEST(DrawRotationsTest, HadamardNeedsPowersOfTwo) {
  const std::vector<NamedParameter> parameters = {{"lm_head.weight", at::zeros({5, 24})}};
  EXPECT_TRUE(CheckRotations(OrthoSpec(""), parameters).ok());
  EXPECT_TRUE(CheckRotations(OrthoSpec("kind: HADAMARD block: 8"), parameters).ok());
  EXPECT_TRUE(CheckRotations(OrthoSpec("kind: HADAMARD block: 16"), parameters).ok());  // 16 and 8.
  EXPECT_TRUE(CheckRotations(OrthoSpec("kind: HADAMARD max_size: 16"), parameters).ok());
  const absl::Status status = CheckRotations(OrthoSpec("kind: HADAMARD"), parameters);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "training.optimizer.ortho_adam.kind: HADAMARD needs powers of two, and axis 1 of lm_head.weight, 24 "
      "long, has a block of 24: use HAAR, or a training.optimizer.ortho_adam.block that cuts it into "
      "powers of two");
  EXPECT_FALSE(CheckRotations(OrthoSpec("kind: HADAMARD block: 10"), parameters).ok());
  EXPECT_FALSE(CheckRotations(OrthoSpec("kind: HADAMARD side: OUT"), parameters).ok());
}

}  // namespace
}  // namespace inlier
