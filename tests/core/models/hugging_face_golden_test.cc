// GPT-2, Llama, ViT, and BERT under NCS and softmax-1, against patched Hugging Face modules: logits, loss,
// attention probabilities, gates and every gradient, in float64 and float32. Groups gpt2, llama, vit and
// ncs_bert of tests/golden/README-models.md.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "core/models/make_model.h"
#include "core/nn/attention/softmax.h"
#include "core/outliers/activation_recorder.h"
#include "spec/trial/architecture.h"
#include "tests/core/outliers/compare_outliers.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

std::string AttentionScope(std::string_view architecture, const std::string& layer) {
  if (architecture == "gpt2") return "transformer.h." + layer + ".attn.";
  if (architecture == "llama") return "model.layers." + layer + ".self_attn.";
  if (architecture == "vit") return "vit.encoder.layer." + layer + ".attention.attention.";
  return "bert.encoder.layer." + layer + ".attention.self.";
}

// Of BERT's layers: F the second linear of the feed-forward network, R the sum after it, N its norm.
std::string BertSite(const std::string& kind, const std::string& layer) {
  const std::string output = "bert.encoder.layer." + layer + ".output.";
  return output + (kind == "F" ? "dense" : kind == "R" ? "LayerNorm.input" : "LayerNorm");
}

class HuggingFaceCase {
 public:
  HuggingFaceCase(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision)
      : golden_(golden),
        precision_(precision),
        architecture_(ArchitectureName(golden.spec->model())),
        tolerances_(TolerancesOf(golden, precision)),
        compare_(report, golden, precision) {}

  void Run() {
    const auto made = MakeModel(*golden_.spec);
    ASSERT_TRUE(made.ok()) << golden_.name << ": " << made.status();
    model_ = *made;
    model_->eval();
    if (!FillParameters(*model_, golden_, precision_)) return;
    labels_ = golden_.Tensor("input/labels");
    if (architecture_ == "vit") {
      input_.pixels = golden_.Tensor("input/pixel_values").to(precision_);
    } else {
      input_ = InputOfCase(golden_);
    }
    CompareForward();
    CompareInside();
    CompareGradients();
  }

 private:
  double Bound(const char* name) const { return tolerances_[name].get<double>(); }

  // Positions whose numbers the case has: (B, T) and (B, H, T) on.
  at::Tensor AtRealTokens(const at::Tensor& x) const {
    if (!input_.attention_mask.defined() || architecture_ == "bert") return x;
    return x.index({input_.attention_mask.to(at::kBool)});
  }

  void CompareForward() {
    const at::Tensor expected = AtRealTokens(golden_.Tensor("out/logits"));
    const Tolerance tolerance = RelativeToLargest(Bound("logits_relmax"), expected);
    const at::Tensor tapped = model_->Logits(input_, &recorder_);
    compare_.Tensors("logits", AtRealTokens(tapped), expected, tolerance);
    compare_.Tensors("logits without a tap", AtRealTokens(model_->Logits(input_)), expected, tolerance);
    const Tolerance loss{.absolute = Bound("loss_abs")};
    compare_.Tensor("out/loss", model_->Loss(input_, labels_, &recorder_, LabelSmoothing()), loss);
  }

  void CompareInside() {
    for (const std::string& key : golden_.KeysUnder("out/")) {
      const std::size_t slash = key.find('/');
      if (slash == std::string::npos) continue;
      const std::string kind = key.substr(0, slash), layer = key.substr(slash + 1);
      const bool by_head = kind == "attn_probs" || kind == "gate";
      const std::string site = kind == "attn_probs" ? AttentionScope(architecture_, layer) + "probs"
                               : kind == "gate"     ? AttentionScope(architecture_, layer) + "gate"
                                                    : BertSite(kind, layer);
      at::Tensor expected = golden_.Tensor("out/" + key), actual = recorder_.seen[site];
      ASSERT_TRUE(actual.defined()) << golden_.name << ": " << site;
      if (by_head && input_.attention_mask.defined() && architecture_ != "bert") {
        expected = AtRealTokens(expected.transpose(1, 2));
        actual = AtRealTokens(actual.transpose(1, 2));
      }
      const Tolerance tolerance = kind == "attn_probs" ? Tolerance{.absolute = Bound("attn_probs_abs")}
                                                       : RelativeToLargest(Bound("logits_relmax"), expected);
      compare_.Tensors(key, actual, expected, tolerance);
    }
    if (golden_.json["expected"].contains("outliers")) CompareOutliers();
  }

  // Section 4 of the README: the means over sequences with their padding, their largest over layers, and kurtosis.
  void CompareOutliers() {
    ActivationRecorder recorder(v1::ModelSpec::kBert, {.kurtosis_batches = 1, .count_padding = true});
    model_->Logits(input_, &recorder);
    CompareBertOutliers(compare_, golden_.json["expected"]["outliers"], recorder,
                        precision_ == at::kDouble ? 1e-10 : 1e-4);
  }

  // The training path: no tap, the head at the targets only.
  void CompareGradients() {
    const at::Tensor loss = model_->Loss(input_, labels_, nullptr, LabelSmoothing());
    compare_.Tensor("out/loss", loss, {.absolute = Bound("loss_abs")});
    loss.backward();
    double squares = 0;
    for (const auto& item : model_->named_parameters()) {
      const at::Tensor expected = golden_.Tensor("grad/" + item.key());
      ASSERT_TRUE(expected.defined() && item.value().grad().defined()) << item.key();
      compare_.Tensors("grad/" + item.key(), item.value().grad(), expected,
                       RelativeToLargest(Bound("grads_relmax"), expected));
      squares += item.value().grad().to(at::kDouble).square().sum().item<double>();
    }
    const double norm = golden_.json["expected"]["grad_global_norm"].get<double>();
    compare_.Number("grad_global_norm", std::sqrt(squares), norm, {.relative = Bound("grads_relmax")});
  }

  double LabelSmoothing() const { return golden_.spec->training().label_smoothing(); }

  const GoldenCase& golden_;
  const at::ScalarType precision_;
  const std::string_view architecture_;
  const nlohmann::json tolerances_;
  GoldenComparison compare_;
  std::shared_ptr<Model> model_;
  ModelInput input_;
  at::Tensor labels_;
  RecordingTap recorder_;
};

// The model of a row of param_counts.json, as a TrialSpec.
v1::TrialSpec ReadRow(const std::string& group, CaseSettings& row) {
  v1::TrialSpec spec;
  const std::string norm = row.OneOf("norm", {"layernorm", "rmsnorm_s", "rmsnorm_m"});
  spec.set_norm(norm == "layernorm" ? v1::LAYER_NORM : norm == "rmsnorm_s" ? v1::RMS_NORM_S : v1::RMS_NORM_M);
  const auto fill = [&row](auto* model) {
    model->set_layers(row.At("L"));
    model->set_hidden_size(row.At("d"));
    model->set_heads(row.At("H"));
    model->set_vocab_size(row.At("vocab"));
  };
  if (group == "gpt2") {
    v1::Gpt2Spec* gpt2 = spec.mutable_model()->mutable_gpt2();
    fill(gpt2);
    gpt2->set_max_positions(row.At("n_positions"));
    gpt2->set_ffn_size(row.At("n_inner"));
    gpt2->set_biases(row.At("bias"));
    gpt2->set_tied_head(row.At("tied"));
  } else {
    v1::LlamaSpec* llama = spec.mutable_model()->mutable_llama();
    fill(llama);
    llama->set_max_positions(256);  // Of no parameter.
    llama->set_kv_heads(row.At("KV"));
    llama->set_ffn_size(row.At("ff"));
    llama->set_tied_head(row.At("tie"));
  }
  return spec;
}

void CompareParameterCounts(GoldenReport& report, const GoldenCase& golden) {
  GoldenComparison compare(report, golden, at::kFloat);
  for (const auto& row : golden.json["rows"]) {
    CaseSettings settings(golden, "rows", row);
    settings.Describes({"name", "parameters"});
    const auto model = MakeModel(ReadRow(golden.group, settings));
    if (!settings.AllUsed()) continue;
    ASSERT_TRUE(model.ok()) << model.status();
    compare.Number(row["name"].get<std::string>() + " " + row["norm"].get<std::string>(),
                   static_cast<double>(CountParameters(**model)), row["parameters"].get<double>(), {});
  }
}

// One set of weights and one stream of tokens, cut into sequences of several lengths.
v1::TrialSpec ReadLengthCase(CaseSettings& config, CaseSettings& method) {
  v1::TrialSpec spec;
  v1::BertSpec* bert = spec.mutable_model()->mutable_bert();
  bert->set_layers(config.At("L"));
  bert->set_hidden_size(config.At("d"));
  bert->set_heads(config.At("H"));
  bert->set_ffn_size(config.At("ff"));
  bert->set_vocab_size(config.At("vocab"));
  bert->set_max_positions(config.At("n_positions"));
  bert->set_norm_epsilon(config.At("eps"));
  config.Require("arch", "bert");
  config.Require("act", "gelu");
  config.Describes({"total_tokens", "lengths", "T_cfg", "seed"});
  v1::SoftmaxSpec* softmax = spec.mutable_attention()->mutable_softmax();
  const std::string kind = method.OneOf("kind", {"softmax", "clipped", "ncs", "softmax1"});
  if (kind == "clipped") {
    method.Describes({"gamma"});  // -alpha / T_cfg.
    softmax->mutable_clipped()->set_alpha(method.At("alpha"));
    softmax->mutable_clipped()->set_zeta(method.ValueOr("zeta", 1.0));
    spec.mutable_data()->mutable_text()->set_sequence_length(method.At("T_cfg"));
  } else if (kind == "ncs") {
    method.Require("len_source", "run");
    softmax->mutable_ncs()->set_beta(method.At("beta"));
    softmax->mutable_ncs()->set_zeta(method.ValueOr("zeta", 1.0));
    softmax->mutable_ncs()->set_length(v1::NcsSpec::RUN);
  } else if (kind == "softmax1") {
    softmax->mutable_softmax_n();
  }
  return spec;
}

void CompareLengths(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision) {
  GoldenComparison compare(report, golden, precision);
  const Tolerance loss_tolerance{.absolute = TolerancesOf(golden, precision)["loss_abs"]};
  for (const auto& [name, attention] : golden.json["method"]["attention"].items()) {
    CaseSettings config(golden, "config"), method(golden, "method.attention." + name, attention);
    const auto model = MakeLanguageModel(ReadLengthCase(config, method));
    if (!All({config.AllUsed(), method.AllUsed()})) continue;
    ASSERT_TRUE(model.ok()) << model.status();
    (*model)->eval();
    if (!FillParameters(**model, golden, precision)) return;
    for (const std::int64_t tokens : golden.json["config"]["lengths"]) {
      const auto& expected = golden.json["expected"][name][std::to_string(tokens)];
      ModelInput input;
      input.ids = golden.Tensor("input/stream_input_ids").view({-1, tokens});
      const at::Tensor labels = golden.Tensor("input/stream_labels").view({-1, tokens});
      const std::string what = name + " at " + std::to_string(tokens) + ", ";
      const at::Tensor masked = labels.ne(kIgnoredLabel);
      const at::Tensor right = (*model)->Logits(input).argmax(-1).eq(labels).logical_and(masked);
      compare.Number(what + "correct", right.sum().item<double>(), expected["correct"].get<double>(), {});
      compare.Number(what + "total", masked.sum().item<double>(), expected["total"].get<double>(), {});
      compare.Number(what + "loss", (*model)->Loss(input, labels).item<double>(),
                     expected["loss"].get<double>(), loss_tolerance);
    }
  }
}

void CompareGammas(GoldenReport& report, const GoldenCase& golden) {
  GoldenComparison compare(report, golden, at::kDouble);
  for (const auto& row : golden.json["rows"]) {
    CaseSettings settings(golden, "rows", row);
    settings.Describes({"gamma", "zero_threshold_p", "alpha_equivalent"});  // Results.
    const double n = settings.At("n"), beta = settings.At("beta"), zeta = settings.ValueOr("zeta", 1.0);
    if (!settings.AllUsed()) continue;
    compare.Number("gamma at n = " + row["n"].dump(), NcsGamma(beta, zeta, n), row["gamma"].get<double>(),
                   {.absolute = 1e-15, .relative = 1e-14});
    compare.Number("gamma tensor at n = " + row["n"].dump(),
                   NcsGamma(beta, zeta, torch::tensor({n}, at::kDouble)).item<double>(),
                   row["gamma"].get<double>(), {.absolute = 1e-15, .relative = 1e-14});
  }
}

void CompareHubModels(const std::string& group) {
  GoldenReport report(group);
  for (const GoldenCase& golden : FindGoldenCases(group)) {
    if (report.SkipWhatIsNotSupported(golden)) continue;
    const bool used = FileIsUsed(golden, {"config", "method", "rows", "columns", "formula"});
    if (!report.Accepts(golden, All({used, SpecIsUsed(golden, {"training.label_smoothing"})}))) continue;
    const bool has_rows = golden.json.contains("rows");
    if (has_rows && golden.json["rows"][0].contains("parameters")) {
      CompareParameterCounts(report, golden);
    } else if (has_rows && golden.json["rows"][0].contains("gamma")) {
      CompareGammas(report, golden);
    } else if (has_rows) {
      continue;  // A table of names: the importer's business.
    } else {
      for (const at::ScalarType precision : {at::kDouble, at::kFloat}) {
        if (golden.spec) {
          HuggingFaceCase(report, golden, precision).Run();
        } else {
          CompareLengths(report, golden, precision);
        }
      }
    }
  }
  report.Finish();
}

TEST(HuggingFaceGoldenTest, Gpt2) { CompareHubModels("gpt2"); }
TEST(HuggingFaceGoldenTest, Llama) { CompareHubModels("llama"); }
TEST(HuggingFaceGoldenTest, Vit) { CompareHubModels("vit"); }
TEST(HuggingFaceGoldenTest, BertWithNcsAndSoftmax1) { CompareHubModels("ncs_bert"); }

}  // namespace
}  // namespace inlier
