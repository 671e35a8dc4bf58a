// Whole quantized models against the reference implementation's numbers (tests/golden/ptq_bert, ptq_opt).
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/models/language_model.h"
#include "core/outliers/activation_recorder.h"
#include "core/quant/post_training_quantization.h"
#include "tests/core/outliers/compare_outliers.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

using nlohmann::json;

// Keeps the observations that a case stores, of the last forward pass.
class Capture : public ActivationTap {
 public:
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    if (site.rfind("hidden.", 0) == 0) seen_["out/hidden/" + site.substr(7)] = activation.detach().clone();
    const std::string suffix = ".probs";
    if (site.size() > suffix.size() && site.substr(site.size() - suffix.size()) == suffix) {
      seen_[absl::StrCat("out/attn_probs/", layers_++)] = activation.detach().clone();
    }
    return activation;
  }
  const std::map<std::string, at::Tensor>& seen() const { return seen_; }

 private:
  std::map<std::string, at::Tensor> seen_;
  int layers_ = 0;
};

v1::ReferenceSchemeSpec::Setup ReadSetup(CaseSettings& settings) {
  if (!settings.Has("setup")) return v1::ReferenceSchemeSpec::FP32_HEAD;
  const std::string name =
      settings.OneOf("setup", {"fp32_head", "all", "fp32_head+int16_final_LN", "fp32_head+int16_all_LN"});
  if (name == "all") return v1::ReferenceSchemeSpec::ALL;
  if (name == "fp32_head+int16_final_LN") return v1::ReferenceSchemeSpec::FP32_HEAD_INT16_FINAL_LN;
  if (name == "fp32_head+int16_all_LN") return v1::ReferenceSchemeSpec::FP32_HEAD_INT16_ALL_LN;
  return v1::ReferenceSchemeSpec::FP32_HEAD;
}

void ReadWeights(CaseSettings& settings, v1::WeightQuantizationSpec* weights) {
  weights->set_bits(settings.At("weight_bits"));
  if (settings.OneOf("weight_ranges", {"minmax", "mse"}) == "mse") {
    weights->mutable_range()->mutable_mse();
  } else {
    weights->mutable_range()->mutable_minmax();
  }
}

void ReadActivations(CaseSettings& settings, v1::ActivationQuantizationSpec* activations) {
  activations->set_bits(settings.At("act_bits"));
  activations->set_symmetric(settings.At("act_symmetric"));
  const std::string ranges = settings.OneOf("act_ranges", {"running_minmax", "mse_grid", "mse_brent"});
  if (ranges == "mse_grid") {
    activations->mutable_range()->mutable_mse();
  } else if (ranges == "mse_brent") {
    activations->mutable_range()->mutable_mse_search();
  } else {
    v1::RunningMinMaxRangeSpec* range = activations->mutable_range()->mutable_running_minmax();
    range->set_momentum(settings.At("momentum"));
    if (settings.Has("percentile")) range->set_percentile(settings.At("percentile"));
  }
}

// The generator's settings as a part of a TrialSpec.
v1::QuantizationSpec ReadQuantization(CaseSettings& settings) {
  v1::QuantizationSpec spec;
  spec.mutable_reference()->set_setup(ReadSetup(settings));
  // A part that is not quantized has no settings, and a search has neither momentum nor percentile.
  settings.Describes(
      {"weight_bits", "weight_ranges", "act_bits", "act_symmetric", "act_ranges", "momentum", "percentile"});
  if (settings.At("quantize_weights")) ReadWeights(settings, spec.mutable_weights());
  if (settings.At("quantize_acts")) ReadActivations(settings, spec.mutable_activations());
  spec.mutable_calibration()->set_batches(settings.At("calibration_batches"));
  return spec;
}

v1::QuantizationSpec SpecOf(const GoldenCase& golden) {
  CaseSettings settings(golden, "quantization");
  return ReadQuantization(settings);
}

bool EveryPtqSettingIsUsed(const GoldenCase& golden) {
  CaseSettings file(golden, "");
  file.DescribesTheFile();
  file.Describes({"quantization", "batch_size", "calibration", "smallest_distance_to_a_rounding_tie"});
  CaseSettings quantization(golden, "quantization");
  ReadQuantization(quantization);
  return All({file.AllUsed(), quantization.AllUsed(), SpecIsUsed(golden)});
}

std::unique_ptr<PostTrainingQuantization> QuantizationOf(const GoldenCase& golden) {
  auto quantization =
      PostTrainingQuantization::Create(SpecOf(golden), golden.spec->model().architecture_case());
  EXPECT_TRUE(quantization.ok()) << golden.name << ": " << quantization.status();
  return quantization.ok() ? *std::move(quantization) : nullptr;
}

bool FollowsASearch(const json& quantization) {
  return quantization["quantize_acts"] && quantization["act_ranges"] != "running_minmax";
}

// A search depends on the last bit of its loss, and a range whose zero point is n + 1/2 on the last bit of its
// ends (most of those in ptq_bert/vanilla_w6a4_mse_grid2d), so that a sum in another order upstream, on another
// processor, leads to another range, in double too (docs/decisions/0020-golden-tolerances.md).
bool FoundOtherRanges(const GoldenCase& golden, const PostTrainingQuantization& ptq) {
  if (!FollowsASearch(golden.json["quantization"])) return false;
  const json& expected = golden.json["expected"]["quantizers"];
  const std::vector<QuantizerReport> table = ptq.Table();
  for (std::size_t i = 0; i < std::min(table.size(), expected.size()); ++i) {
    const double scale = expected[i]["scale"];
    const double zero_point = expected[i]["zero_point"];
    if (std::abs(table[i].grid.scale[0] - scale) > 1e-6 * scale) return true;
    if (std::abs(table[i].grid.zero_point[0] - zero_point) > 0.5) return true;
  }
  return false;
}

// Gives the activation quantizers the reference's ranges.
void SetReferenceRanges(const GoldenCase& golden, PostTrainingQuantization& ptq) {
  for (const json& quantizer : golden.json["expected"]["quantizers"]) {
    if (quantizer["kind"] != "activation") continue;
    const std::string name = quantizer["name"];
    ptq.SetActivationRange(name.substr(0, name.rfind('.')),
                           {{quantizer["estimated_min"]}, {quantizer["estimated_max"]}, false});
  }
}

struct Evaluation {
  std::vector<double> losses;
  double perplexity;
};

// Batch losses over all evaluation rows; the perplexity of their mean weighted by rows.
Evaluation Evaluate(LanguageModel& model, const GoldenCase& golden, ActivationTap* tap) {
  const std::int64_t batch_size = golden.json["batch_size"];
  const std::int64_t rows = golden.Tensor("input/eval/input_ids").size(0);
  Evaluation result;
  double sum = 0;
  for (std::int64_t first = 0; first < rows; first += batch_size) {
    const std::int64_t count = std::min(batch_size, rows - first);
    const double loss = model
                            .Loss(InputOfCase(golden, "input/eval/", first, count),
                                  LabelsOfCase(golden, "input/eval/", first, count), tap)
                            .item<double>();
    result.losses.push_back(loss);
    sum += loss * static_cast<double>(count);
  }
  result.perplexity = std::exp(sum / static_cast<double>(rows));
  return result;
}

ModelInput CalibrationBatch(const GoldenCase& golden, std::int64_t index) {
  const std::int64_t batch_size = golden.json["batch_size"];
  return InputOfCase(golden, golden.Has("input/calib/input_ids") ? "input/calib/" : "input/eval/",
                     index * batch_size, batch_size);
}

void Calibrate(LanguageModel& model, const GoldenCase& golden, PostTrainingQuantization& ptq) {
  const std::int64_t batches =
      ptq.needs_calibration() ? golden.json["quantization"]["calibration_batches"].get<std::int64_t>() : 0;
  for (std::int64_t i = 0; i < batches; ++i) model.Logits(CalibrationBatch(golden, i), &ptq);
  EXPECT_TRUE(ptq.Freeze().ok());
}

// Nothing before the first activation quantizer depends on a search: the range that it found is as good as the
// reference's, by the loss that was searched. A grid sums it over the batches, else the last batch decides.
void CompareFirstSearch(GoldenComparison& compare, const GoldenCase& golden, LanguageModel& model,
                        PostTrainingQuantization& ptq) {
  const json& quantizers = golden.json["expected"]["quantizers"];
  const auto theirs = std::find_if(quantizers.begin(), quantizers.end(),
                                   [](const json& quantizer) { return quantizer["kind"] == "activation"; });
  const std::vector<QuantizerReport> table = ptq.Table();
  const auto ours = std::find_if(table.begin(), table.end(),
                                 [](const QuantizerReport& report) { return !report.is_weight(); });
  ASSERT_TRUE(theirs != quantizers.end() && ours != table.end());
  const ValueRange wanted = {{(*theirs)["estimated_min"]}, {(*theirs)["estimated_max"]}, false};
  const std::int64_t batches = golden.json["quantization"]["calibration_batches"];
  const bool adds_up = golden.json["quantization"]["act_ranges"] == "mse_grid";
  double found = 0, reference = 0;
  for (std::int64_t i = adds_up ? 0 : batches - 1; i < batches; ++i) {
    RecordingTap recorder;
    TapChain taps({&recorder, &ptq});
    model.Logits(CalibrationBatch(golden, i), &taps);
    const at::Tensor& seen = recorder.seen.at(ours->site);
    found += RoundingError(seen, ours->range, ours->bits, ours->symmetric, false)[0];
    reference += RoundingError(seen, wanted, ours->bits, ours->symmetric, false)[0];
  }
  std::printf("    %s: the first search's loss is %.6f of the reference's\n", golden.name.c_str(),
              found / reference);
  compare.Number("loss of the first search beyond 1.02 of the reference's",
                 std::max(found - 1.02 * reference, 0.0), 0, {.absolute = 1e-12});
}

// With `loose` the ranges of activations are not compared.
void CompareTable(GoldenComparison& compare, const GoldenCase& golden, const PostTrainingQuantization& ptq,
                  bool in_double, bool loose) {
  const json& expected = golden.json["expected"]["quantizers"];
  const std::vector<QuantizerReport> table = ptq.Table();
  compare.Number("number of quantizers", static_cast<double>(table.size()),
                 static_cast<double>(expected.size()), {.absolute = 0.5});
  for (std::size_t i = 0; i < std::min(table.size(), expected.size()); ++i) {
    const QuantizerReport& ours = table[i];
    const json& theirs = expected[i];
    const std::string name = ours.site + (ours.is_weight() ? ".weight_quantizer" : ".activation_quantizer");
    compare.Equal("quantizer name", name, theirs["name"]);
    compare.Equal(name + " shape", json(ours.shape).dump(), theirs["shape"].dump());
    compare.Number(name + " order", ours.order, theirs["order"], {.absolute = 0.5});
    compare.Number(name + " bits", ours.bits, theirs["n_bits"], {.absolute = 0.5});
    compare.Number(name + " symmetric", ours.symmetric, theirs["symmetric"].get<bool>(), {.absolute = 0.5});
    if (theirs.contains("signed"))
      compare.Number(name + " signed", ours.is_signed, theirs["signed"].get<bool>(), {.absolute = 0.5});
    compare.Number(name + " int_min", ours.grid.integer_min, theirs["int_min"], {.absolute = 0.5});
    compare.Number(name + " int_max", ours.grid.integer_max, theirs["int_max"], {.absolute = 0.5});
    if (loose && !ours.is_weight()) continue;
    const double scale_tolerance = in_double ? 1e-6 : ours.is_weight() ? 1e-5 : 2e-2;
    compare.Number(name + " scale", ours.grid.scale[0], theirs["scale"],
                   {.absolute = 1e-30, .relative = scale_tolerance});
    // Rounding flips upstream move a range; with more bits the same move is more steps.
    const double zero_point_tolerance =
        in_double || ours.is_weight() ? 1e-9 : 2.0 * std::max(1.0, std::ldexp(1.0, ours.bits - 8));
    compare.Number(name + " zero_point", ours.grid.zero_point[0], theirs["zero_point"],
                   {.absolute = zero_point_tolerance});
  }
}

// Only positions of real tokens: the attention of a padded position is unused.
// x: (B, T, …), or (B, H, T, T) with heads.
at::Tensor AtRealTokens(const at::Tensor& x, const at::Tensor& mask, bool has_heads) {
  const at::Tensor by_token = has_heads ? x.transpose(1, 2) : x;
  return by_token.index({mask.to(torch::kBool)});
}

at::Tensor MaskOfFirstBatch(const GoldenCase& golden) {
  const ModelInput input = InputOfCase(golden, "input/eval/", 0, golden.json["batch_size"]);
  return input.attention_mask.defined() ? input.attention_mask : torch::ones_like(input.ids);
}

void CompareFirstBatch(GoldenComparison& compare, const GoldenCase& golden, LanguageModel& model,
                       PostTrainingQuantization& ptq) {
  const ModelInput input = InputOfCase(golden, "input/eval/", 0, golden.json["batch_size"]);
  const at::Tensor mask = MaskOfFirstBatch(golden);
  const auto at_tokens = [&](const at::Tensor& x) { return AtRealTokens(x, mask, /*has_heads=*/false); };
  compare.Tensors("out/fp_logits", at_tokens(model.Logits(input)), at_tokens(golden.Tensor("out/fp_logits")),
                  {.absolute = 1e-9, .per_magnitude = true});

  Capture capture;
  TapChain taps({&ptq, &capture});
  compare.Tensors("out/logits", at_tokens(model.Logits(input, &taps)), at_tokens(golden.Tensor("out/logits")),
                  {.absolute = 1e-5});
  for (const std::string& key : golden.KeysUnder("out/hidden/")) {
    const auto found = capture.seen().find("out/hidden/" + key);
    ASSERT_NE(found, capture.seen().end()) << key;
    compare.Tensors("out/hidden/" + key, at_tokens(found->second),
                    at_tokens(golden.Tensor("out/hidden/" + key)), {.absolute = 1e-5});
  }
  for (const std::string& key : golden.KeysUnder("out/attn_probs/")) {
    const auto found = capture.seen().find("out/attn_probs/" + key);
    ASSERT_NE(found, capture.seen().end()) << key;
    compare.Tensors("out/attn_probs/" + key, AtRealTokens(found->second, mask, true),
                    AtRealTokens(golden.Tensor("out/attn_probs/" + key), mask, true), {.absolute = 1e-6});
  }
}

void CompareWeights(GoldenComparison& compare, const GoldenCase& golden,
                    const PostTrainingQuantization& ptq) {
  for (const std::string& site : golden.KeysUnder("out/qweight/")) {
    // The position table's quantizer is one level deeper than its weight.
    auto weight = ptq.QuantizedWeight(site);
    if (!weight) weight = ptq.QuantizedWeight(site + ".quant_embedding");
    ASSERT_TRUE(weight) << site;
    compare.Tensor("out/qweight/" + site, *weight, {.absolute = 1e-6});
  }
}

void CompareWholeModel(GoldenReport& report, const GoldenCase& golden, at::ScalarType dtype) {
  const bool in_double = dtype == torch::kFloat64;
  const auto model = ModelOfCase(golden, dtype);
  ASSERT_NE(model, nullptr);
  const auto architecture = golden.spec->model().architecture_case();
  const torch::NoGradGuard no_grad;
  GoldenComparison compare(report, golden, dtype);
  const json& expected = golden.json["expected"];
  const Evaluation exact = Evaluate(*model, golden, nullptr);
  const auto quantization = QuantizationOf(golden);
  ASSERT_NE(quantization, nullptr);
  PostTrainingQuantization& ptq = *quantization;
  Calibrate(*model, golden, ptq);
  const bool searches = FollowsASearch(golden.json["quantization"]);
  if (searches) CompareFirstSearch(compare, golden, *model, ptq);
  if (in_double && FoundOtherRanges(golden, ptq)) {
    compare.Number("perplexity with the ranges found", Evaluate(*model, golden, &ptq).perplexity,
                   expected["quantized"]["perplexity"], {.relative = 0.1});
    SetReferenceRanges(golden, ptq);
  }
  // In float every search after the first starts from a tensor that is rounded in another way on another processor, and its
  // optimum moves with it: at four bits perplexity by 5 to 12 %. The rest is compared with the reference's ranges.
  const bool loose = !in_double && searches;
  if (loose) SetReferenceRanges(golden, ptq);
  ActivationRecorder recorder(
      architecture, {.kurtosis_batches = ReferenceKurtosisBatches(architecture), .count_padding = true});
  TapChain taps({&ptq, &recorder});
  const Evaluation quantized = Evaluate(*model, golden, &taps);

  CompareTable(compare, golden, ptq, in_double, loose);
  for (std::size_t i = 0; i < expected["quantized"]["per_batch_loss"].size(); ++i) {
    const std::string batch = absl::StrCat(" loss of batch ", i);
    compare.Number("float" + batch, exact.losses.at(i), expected["full_precision"]["per_batch_loss"][i],
                   {.absolute = in_double ? 1e-9 : 1e-4});
    compare.Number("quantized" + batch, quantized.losses.at(i), expected["quantized"]["per_batch_loss"][i],
                   {.absolute = in_double ? 1e-6 : 0.05});
  }
  compare.Number("perplexity", quantized.perplexity, expected["quantized"]["perplexity"],
                 {.relative = in_double ? 2e-6 : 0.03});
  CompareWeights(compare, golden, ptq);
  if (!in_double) return;
  if (expected["quantized"].contains("summary"))  // The reference takes them of quantized BERT only.
    CompareOutlierSummary(compare, expected["quantized"], recorder, {.absolute = 1e-12, .relative = 1e-6});
  CompareFirstBatch(compare, golden, *model, ptq);
}

// compare(report, golden) of every case of the group whose settings are read.
template <typename Compare>
void ForEachCase(const std::string& group, Compare compare) {
  GoldenReport report(group);
  for (const GoldenCase& golden : FindGoldenCases(group)) {
    if (report.SkipWhatIsNotSupported(golden) || !report.Accepts(golden, EveryPtqSettingIsUsed(golden)))
      continue;
    compare(report, golden);
  }
  report.Finish();
}

class PtqGoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(PtqGoldenTest, InDoubleEveryQuantizerAndEveryOutputIsThatOfTheReference) {
  ForEachCase(GetParam(), [](GoldenReport& report, const GoldenCase& golden) {
    CompareWholeModel(report, golden, torch::kFloat64);
  });
}

TEST_P(PtqGoldenTest, InFloatLossesAndRangesStayWithinRoundingFlips) {
  ForEachCase(GetParam(), [](GoldenReport& report, const GoldenCase& golden) {
    CompareWholeModel(report, golden, torch::kFloat32);
  });
}

// The last quantizer that the hidden state `index` has passed: the last activation quantizer before the first
// layer, of layer index - 1, or, for the last hidden state, before the head. The step of its grid, or of the
// quantizer before it where that is wider.
double StepOfHidden(const json& quantizers, int index, bool last) {
  double step = 0, step_before = 0;
  for (const json& quantizer : quantizers) {
    const std::string name = quantizer["name"];
    if (quantizer["kind"] != "activation") continue;
    int layer = -1;
    for (const char* prefix : {".layer.", ".layers."}) {
      const std::size_t at = name.find(prefix);
      if (at != std::string::npos) layer = std::stoi(name.substr(at + std::string(prefix).size()));
    }
    const bool after_layers = layer < 0 && step > 0 && index > 0;
    if (name.rfind("lm_head", 0) == 0 || (layer >= index) || (after_layers && !last)) continue;
    step_before = step;
    step = quantizer["scale"];
  }
  return std::max(step, step_before);
}

// With the reference's activation ranges a float run differs by rounding flips only.
TEST_P(PtqGoldenTest, InFloatWithTheReferencesRangesHiddenStatesAreWithinOneStep) {
  ForEachCase(GetParam(), [](GoldenReport& report, const GoldenCase& golden) {
    const auto model = ModelOfCase(golden, torch::kFloat32);
    ASSERT_NE(model, nullptr);
    const torch::NoGradGuard no_grad;
    GoldenComparison compare(report, golden, torch::kFloat32);
    const auto quantization = QuantizationOf(golden);
    ASSERT_NE(quantization, nullptr);
    PostTrainingQuantization& ptq = *quantization;
    const json& quantizers = golden.json["expected"]["quantizers"];
    SetReferenceRanges(golden, ptq);
    EXPECT_TRUE(ptq.Freeze().ok());

    Capture capture;
    TapChain taps({&ptq, &capture});
    model->Logits(InputOfCase(golden, "input/eval/", 0, golden.json["batch_size"]), &taps);
    const at::Tensor mask = MaskOfFirstBatch(golden);
    const std::vector<std::string> keys = golden.KeysUnder("out/hidden/");
    double beyond = 0, elements = 0;
    for (const std::string& key : keys) {
      const bool last = std::stoul(key) + 1 == keys.size();
      const at::Tensor ours =
          AtRealTokens(capture.seen().at("out/hidden/" + key), mask, false).to(torch::kDouble);
      const at::Tensor theirs =
          AtRealTokens(golden.Tensor("out/hidden/" + key), mask, false).to(torch::kDouble);
      const double allowed =
          ptq.needs_calibration() ? 1.001 * StepOfHidden(quantizers, std::stoi(key), last) : 1e-4;
      beyond += (ours - theirs).abs().gt(allowed).to(torch::kDouble).sum().item<double>();
      elements += static_cast<double>(ours.numel());
    }
    compare.Number("share of hidden elements beyond one step", beyond / elements, 0, {.absolute = 0.01});
  });
}

INSTANTIATE_TEST_SUITE_P(Groups, PtqGoldenTest, testing::Values("ptq_bert", "ptq_opt"),
                         [](const testing::TestParamInfo<std::string>& group) { return group.param; });

}  // namespace
}  // namespace inlier
