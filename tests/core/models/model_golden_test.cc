// BERT and OPT against the official code: logits, losses, every inner tensor and every gradient, in float64
// and float32.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"
#include "tests/core/support/loss_per_token.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

// The site of out/<kind>/<layer>.
std::string SiteOf(const GoldenCase& golden, const std::string& kind, const std::string& layer) {
  if (kind == "hidden") return "hidden." + layer;
  const std::string attention = golden.group == "bert" ? "bert.encoder.layer." + layer + ".attention.self."
                                                       : "model.decoder.layers." + layer + ".self_attn.";
  return attention + (kind == "attn_probs" ? "probs" : kind);
}

// The rows of real query positions: (B, T, ...) or (B, H, T, ...) -> (rows, ...).
at::Tensor RealQueries(const at::Tensor& tensor, const at::Tensor& mask, bool by_head) {
  return (by_head ? tensor.transpose(1, 2) : tensor).index({mask.to(at::kBool)});
}

void CompareCase(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision) {
  const std::shared_ptr<LanguageModel> model = ModelOfCase(golden, precision);
  if (model == nullptr) return;
  GoldenComparison compare(report, golden, precision);
  const bool is_double = precision == at::kDouble;
  const Tolerance outputs{.absolute = is_double ? 1e-9 : 2e-5, .per_magnitude = true};
  const Tolerance inner{.absolute = is_double ? 2e-7 : 2e-5, .per_magnitude = true};  // Stored as float32.

  const ModelInput input = InputOfCase(golden);
  const at::Tensor labels = LabelsOfCase(golden);
  // Full sequences come without a mask in training, and may then take a faster way.
  ModelInput training = input;
  if (input.attention_mask.all().item<bool>()) training.attention_mask = at::Tensor();
  RecordingTap recorder;
  at::Tensor logits = model->Logits(input, &recorder);
  at::Tensor expected_logits = golden.Tensor("out/logits");
  compare.Tensors("logits", RealQueries(logits, input.attention_mask, false),
                  RealQueries(expected_logits, input.attention_mask, false), outputs);
  compare.Tensors("logits without a tap", RealQueries(model->Logits(input), input.attention_mask, false),
                  RealQueries(expected_logits, input.attention_mask, false), outputs);
  compare.Tensors("logits without a mask", RealQueries(model->Logits(training), input.attention_mask, false),
                  RealQueries(expected_logits, input.attention_mask, false), outputs);
  compare.Tensor("out/loss_per_token", LossPerToken(*model, input, labels), outputs);
  compare.Tensor("out/loss", model->Loss(input, labels, &recorder), outputs);

  std::int64_t zeros = 0, ones = 0;
  for (const std::string& key : golden.KeysUnder("out/")) {
    const std::size_t slash = key.find('/');
    if (slash == std::string::npos) continue;
    const std::string kind = key.substr(0, slash);
    const at::Tensor expected = golden.Tensor("out/" + key);
    const at::Tensor actual = recorder.seen[SiteOf(golden, kind, key.substr(slash + 1))];
    if (!actual.defined() || actual.sizes() != expected.sizes()) {
      compare.Tensors(key, at::Tensor(), expected, inner);
      continue;
    }
    if (kind == "attn_probs") {
      // Visible keys only: of the same sequence, not padding, not in the future of a causal model.
      at::Tensor visible =
          input.attention_mask.to(at::kBool).view({actual.size(0), 1, 1, -1}).expand(actual.sizes());
      if (model->causal()) visible = visible.logical_and(at::ones_like(actual, at::kBool).tril());
      zeros += actual.eq(0).logical_and(visible).sum().item<std::int64_t>();
      ones += actual.eq(1).logical_and(visible).sum().item<std::int64_t>();
      const at::Tensor hidden_keys =
          input.attention_mask.eq(0).view({actual.size(0), 1, 1, -1}).expand(actual.sizes());
      const at::Tensor of_real_queries = RealQueries(actual * hidden_keys, input.attention_mask, true);
      compare.Number(key + ", weight on padding", of_real_queries.abs().sum().item<double>(), 0, {});
    }
    const bool by_head = kind == "attn_probs" || kind == "gate";
    if (actual.dim() < 3 || (by_head && actual.size(2) == 1)) {
      compare.Tensors(key, actual, expected, inner);  // One value a head, not one a token.
    } else {
      compare.Tensors(key, RealQueries(actual, input.attention_mask, by_head),
                      RealQueries(expected, input.attention_mask, by_head), inner);
    }
  }
  if (is_double && golden.json["attention"]["softmax"] == "clipped") {
    compare.Number("clipped_to_zero", zeros, golden.json["expected"]["clipped_to_zero"].get<double>(), {});
    compare.Number("clipped_to_one", ones, golden.json["expected"]["clipped_to_one"].get<double>(), {});
  }

  // The training path of both engines: no tap, the head at the targets only.
  double largest = 0;
  for (const std::string& name : golden.KeysUnder("grad/")) {
    largest = std::max(largest, golden.Tensor("grad/" + name).abs().max().item<double>());
  }
  const Tolerance gradients{.absolute = (is_double ? 1e-7 : 1e-4) * largest};
  for (const layer::Products products : {layer::Products::kReference, layer::Products::kFloat32}) {
    if (products != layer::Products::kReference && !model->can_fuse(layer::Place::kCpuFloat32)) continue;
    training.products = products;
    model->zero_grad();
    const at::Tensor loss = model->Loss(training, labels);
    compare.Tensor("out/loss", loss, outputs);
    loss.backward();
    for (const auto& item : model->named_parameters()) {
      compare.Tensor("grad/" + item.key(), item.value().grad(), gradients);
    }
  }
}

void CompareModels(const std::string& group) {
  GoldenReport report(group);
  for (const GoldenCase& golden : FindGoldenCases(group)) {
    if (report.SkipWhatIsNotSupported(golden)) continue;
    const bool used = FileIsUsed(golden, {"min_distance_to_kink", "grads_exactly_zero_in_theory"});
    if (!report.Accepts(golden, All({used, SpecIsUsed(golden)}))) continue;
    CompareCase(report, golden, at::kDouble);
    CompareCase(report, golden, at::kFloat);
  }
  report.Finish();
}

TEST(ModelGoldenTest, BertMatchesTheReference) { CompareModels("bert"); }

TEST(ModelGoldenTest, OptMatchesTheReference) { CompareModels("opt"); }

// The tensors that the outlier metrics of the reference measure are found under the reference's names, with
// its row shapes.
TEST(ModelGoldenTest, EveryMeasuredTensorIsASite) {
  int cases = 0;
  for (const GoldenCase& golden : FindGoldenCases("outliers_bert_opt")) {
    if (!golden.spec) continue;
    ++cases;
    const std::shared_ptr<LanguageModel> model = ModelOfCase(golden, at::kDouble);
    ASSERT_NE(model, nullptr);
    const at::Tensor rows = golden.Tensor("input/input_ids");
    RecordingTap recorder;
    model->Logits(InputOfCase(golden), &recorder);
    for (const std::string& key : golden.KeysUnder("out/row_inf_norm/")) {
      const auto seen = recorder.seen.find(key);
      ASSERT_NE(seen, recorder.seen.end()) << golden.name << ": " << key;
      const at::Tensor expected = golden.Tensor("out/row_inf_norm/" + key);
      ASSERT_EQ(seen->second.size(0), expected.size(0)) << golden.name << ": " << key;
      const at::Tensor norms = seen->second.flatten(1).abs().amax(1);
      EXPECT_TRUE(at::allclose(norms, expected.to(at::kDouble), 1e-8, 1e-8)) << golden.name << ": " << key;
    }
  }
  EXPECT_GT(cases, 0);
}

}  // namespace
}  // namespace inlier
