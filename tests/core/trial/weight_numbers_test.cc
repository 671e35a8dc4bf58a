// Norms of weights, and the kurtosis of outputs in the basis of OrthoAdam.
#include "core/trial/weight_numbers.h"

#include <ATen/Functions.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "core/models/make_model.h"
#include "core/optim/draw_rotations.h"

namespace inlier {
namespace {

using Rows = std::vector<std::vector<double>>;

v1::TrialSpec SpecOf(const std::string& architecture) {
  v1::TrialSpec spec;
  const std::string fields =
      " { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 vocab_size: 40 max_positions: 16 }";
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "model { " + architecture + fields + " } training { optimizer { ortho_adam {} } }", &spec));
  return spec;
}

TEST(WeightNumbersTest, NormsAreThoseOfWhatWritesADimension) {
  for (const auto& [architecture, name, out] :
       {std::tuple("bert", "bert.encoder.layer.1.output.dense.weight", 0),
        std::tuple("gpt2", "transformer.h.1.mlp.c_proj.weight", 1)}) {
    const auto model = MakeModel(SpecOf(architecture)).value();
    at::NoGradGuard no_grad;
    at::Tensor weight = model->named_parameters()[name];
    weight.normal_();
    weight.select(out, 7).fill_(3);
    const Rows rows = (*WeightNorms(*model))["values"].get<Rows>();
    ASSERT_EQ(rows.size(), 2u);
    ASSERT_EQ(rows[1].size(), 32u);
    EXPECT_NEAR(rows[1][7], 3 * 8, 1e-6) << architecture;
    EXPECT_NEAR(rows[1][9], weight.select(out, 9).norm().item<double>(), 1e-5) << architecture;
  }
}

// A spike is one in its own basis alone, and each layer has a basis of its own.
TEST(WeightNumbersTest, ASpikeIsSpreadOverTheOptimizersBasis) {
  for (const std::string architecture : {"bert", "gpt2"}) {
    v1::TrialSpec spec = SpecOf(architecture);
    const auto model = MakeModel(spec).value();
    at::Tensor spike = at::zeros({6, 32});
    spike.select(1, 5).fill_(2);
    const auto rows = [&] { return (*KurtosisByBasis(spec, *model, {spike, spike}))["values"].get<Rows>(); };
    const Rows by_basis = rows();
    ASSERT_EQ(by_basis.size(), 4u);
    EXPECT_NEAR(by_basis[0][1], 30 + 1. / 31, 1e-3);
    for (int basis = 1; basis < 4; ++basis) EXPECT_LT(by_basis[basis][1], 15) << architecture << basis;
    spec.mutable_training()->mutable_optimizer()->mutable_ortho_adam()->set_rotation_seed(2);
    EXPECT_NEAR(rows()[1][1], by_basis[3][1], 1e-9) << "the next seed's matrix is the other one";
    spec.mutable_training()->mutable_optimizer()->mutable_ortho_adam()->set_rotation_seed(1);
    // Turned by the optimizer's own matrix, a column of it is a spike again.
    v1::OrthoAdamSpec drawn = spec.training().optimizer().ortho_adam();
    const std::string name = architecture == "bert" ? "bert.encoder.layer.1.output.dense.weight"
                                                    : "transformer.h.1.mlp.c_proj.weight";
    const at::Tensor weight = model->named_parameters()[name];
    const auto rotation = DrawRotations(drawn, {{name, weight}}).at(name);
    const bool stored_out_first = architecture == "bert";
    at::Tensor turned = at::zeros_like(weight, at::kDouble);  // Its residual side is e_5 for every input.
    turned.select(stored_out_first ? 0 : 1, 5).fill_(1);
    turned = rotation.ApplyInverse(turned);
    const at::Tensor column = stored_out_first ? turned.t().slice(0, 0, 6) : turned.slice(0, 0, 6);
    const Rows of_column = (*KurtosisByBasis(spec, *model, {column, column}))["values"].get<Rows>();
    EXPECT_NEAR(of_column[1][1], 30 + 1. / 31, 1e-6) << architecture;
    EXPECT_LT(of_column[2][1], 15) << architecture;
  }
}

}  // namespace
}  // namespace inlier
