#include "proto/spec/measurements.h"

namespace inlier {

const std::vector<MeasurementInfo>& Measurements() {
  // Row statistics of a captured tensor, flattened behind its first dimension: inf(x) = max |x_j|;
  // kurt(x) = m4 / (s^4 + 1e-6) with m4 = mean (x_j - mean)^4 and s^2 = sum (x_j - mean)^2 / (n - 1), so that
  // a Gaussian has about 3.
  static const std::vector<MeasurementInfo> table = {
      {"loss", "nat",
       "mean over evaluation batches of the batch's mean cross-entropy, each weighed by its sequences", "",
       "evaluate", true, false},
      {"perplexity", "1", "exp(loss)", "", "evaluate", true, false},
      {"accuracy", "1",
       "targets whose most probable token is the right one / all targets: MLM the masked tokens, CLM all but "
       "the first token of a sequence",
       "", "evaluate", true, false},
      {"unigram_perplexity", "1",
       "exp of the entropy of the validation targets' own token shares; no model without context does better",
       "", "evaluate", true, false},
      {"max_inf_norm", "1",
       "the figure the papers print: max_ffn_inf_norm for BERT, max_layer_inf_norm for OPT", "", "evaluate",
       true, false},
      {"max_ffn_inf_norm", "1", "max over layers of inf_norm of the second FFN linear's output", "",
       "evaluate", true, false},
      {"max_layer_inf_norm", "1", "max over layers of inf_norm of the layer's output", "", "evaluate", true,
       false},
      {"max_residual_inf_norm", "1",
       "max over layers of inf_norm of the residual sum before the last norm of the layer (BERT)", "",
       "evaluate", true, false},
      {"max_any_inf_norm", "1", "max of inf_norm over all sites", "", "evaluate", true, false},
      {"avg_kurtosis", "1", "mean over sites of kurtosis", "", "evaluate", true, false},
      {"max_kurtosis", "1", "max over sites of kurtosis", "", "evaluate", true, false},
      {"max_layer_kurtosis", "1", "max over layers of kurtosis of the layer's output", "", "evaluate", true,
       false},
      {"inf_norm", "1", "mean over rows of max |x_j|, for one site", "site", "evaluate", true, false},
      {"kurtosis", "1",
       "mean over rows of m4 / (s^4 + 1e-6), not excess, s unbiased, on the first "
       "evaluation.kurtosis_batches batches, for one site",
       "site", "evaluate", true, false},
      {"evaluate_seconds", "s", "time of the evaluate stage, from the loaded checkpoint to the last number",
       "", "evaluate", true, false},
      {"train_loss", "nat", "mean cross-entropy of the update's batch", "step", "train", true, true},
      {"learning_rate", "1", "rate that the update used", "step", "train", false, true},
      {"gradient_norm", "1", "L2 norm of the whole gradient before clipping", "step", "train", false, true},
      {"tokens_per_second", "1/s", "training tokens a second since the last point", "step", "train", true,
       true},
      {"train_seconds", "s", "time spent on updates, over all attempts that led to the checkpoint", "",
       "train", true, false},
  };
  return table;
}

const MeasurementInfo* FindMeasurement(std::string_view name) {
  for (const MeasurementInfo& info : Measurements()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::vector<std::string> MeasurementNames() {
  std::vector<std::string> names;
  for (const MeasurementInfo& info : Measurements()) names.emplace_back(info.name);
  return names;
}

std::string MeasurementsMarkdown() {
  std::string page =
      "# Measurements\n\n"
      "Generated from proto/spec/measurements.cc. What a trial may report; the names are a closed list.\n\n"
      "A row is what is left of a captured tensor at one index of its first dimension, flattened. Within a "
      "row: m4 = mean (x_j - mean)^4,\n"
      "s^2 = sum (x_j - mean)^2 / (n - 1).\n\n"
      "| name | unit | stage | over | reported | formula |\n"
      "|---|---|---|---|---|---|\n";
  for (const MeasurementInfo& info : Measurements()) {
    const std::string_view reported = info.final && info.curve ? "curve and final"
                                      : info.curve             ? "curve"
                                                               : "final";
    std::string formula;
    for (const char c : info.formula) formula += c == '|' ? "\\|" : std::string(1, c);
    page += "| `" + std::string(info.name) + "` | " + std::string(info.unit) + " | " +
            std::string(info.source) + " | " + std::string(info.axis) + " | " + std::string(reported) +
            " | " + formula + " |\n";
  }
  return page;
}

}  // namespace inlier
