#include "spec/trial/measurements.h"

namespace inlier {

const std::vector<MeasurementInfo>& Measurements() {
  using enum Better;
  constexpr v1::EvaluationSpec::Measure kNorms = v1::EvaluationSpec::NORMS, kAll = v1::EvaluationSpec::ALL;
  constexpr MeasurementReport kResult{"", "evaluate", true, false}, kBoth{"", "evaluate", true, true},
      kSite{"site", "evaluate", true, false}, kTraining{"", "train", true, false},
      kStep{"step", "train", false, true}, kStepAndEnd{"step", "train", true, true},
      kNormBoth{"", "evaluate", true, true, kNorms}, kNormSite{"site", "evaluate", true, false, kNorms},
      kAllBoth{"", "evaluate", true, true, kAll}, kAllSite{"site", "evaluate", true, false, kAll},
      kQuantizedResult{"", "evaluate", true, false, kAll, true},
      kQuantizedSite{"site", "evaluate", true, false, kAll, true};
  // Row statistics of a captured tensor, flattened behind its first dimension: inf(x) = max |x_j|;
  // kurt(x) = m4 / (s^4 + 1e-6) with m4 = mean (x_j - mean)^4 and s^2 = sum (x_j - mean)^2 / (n - 1), so that
  // a Gaussian has about 3. Of single tokens x of d features at the output of a block: k(x) = mean (x_j -
  // mean)^4 / (mean (x_j - mean)^2)^2, biased, at most about d - 2; token 1 is the first of a sequence, the
  // rest are 2 .. T. A[q,k]: attention weights after the normaliser.
  static const std::vector<MeasurementInfo> table = {
      {kBoth, kLower, "loss", "nat",
       "mean over evaluation batches of the batch's mean cross-entropy (of numbers the mean squared error), "
       "each weighed by its examples"},
      {kResult, kLower, "perplexity", "1", "exp(loss)"},
      {kResult, kLower, "token_perplexity", "1",
       "exp of the mean cross-entropy over all targets, each with the same weight: where sequences differ in "
       "length (instructions) perplexity gives those of a batch with few targets more"},
      {kResult, kLower, "bits_per_byte", "bit",
       "sum of -log2 p over all targets / bytes of their text (UTF-8, as each token decodes by itself; "
       "special tokens are "
       "targets and have none); data.text with CLM. It compares models of different vocabularies"},
      {kResult, kHigher, "accuracy", "1",
       "targets whose most probable class is the right one / all targets: MLM the masked tokens, CLM all but "
       "the first token of a sequence, else one an example"},
      {kResult, kHigher, "f1", "1",
       "2 tp / (2 tp + fp + fn) of the second class (by name), with more than two the mean over classes "
       "(GLUE; Wang et al. 2019)"},
      {kResult, kHigher, "matthews_correlation", "1",
       "Matthews' correlation of the confusion matrix (GLUE; Gorodkin 2004)"},
      {kResult, kHigher, "pearson_correlation", "1",
       "linear correlation of predicted and true numbers (GLUE)"},
      {kResult, kHigher, "spearman_correlation", "1",
       "the same of their ranks, equal ones sharing the mean (GLUE)"},
      {kResult, kNone, "majority_accuracy", "1",
       "accuracy of always naming the most frequent class of the training part, for comparison"},
      {kResult, kNone, "unigram_perplexity", "1",
       "exp of the entropy of the validation targets' own token shares; no model without context does "
       "better"},
      {kResult, kHigher, "choice_accuracy", "1",
       "mean over the groups of questions (\"task\" in the file of evaluation.multiple_choice) of "
       "task_choice_accuracy"},
      {kResult, kHigher, "choice_accuracy_norm", "1", "the same of task_choice_accuracy_norm"},
      {kSite, kHigher, "task_choice_accuracy", "1",
       "questions whose right answer has the largest sum of ln p of its tokens behind the context, the first "
       "of "
       "equal ones / all questions, of one group: acc of lm-evaluation-harness (Gao et al. 2024)"},
      {kSite, kHigher, "task_choice_accuracy_norm", "1",
       "the same of this sum / characters of the answer: its acc_norm"},
      {kSite, kNone, "task_choice_accuracy_stderr", "1",
       "sqrt(a (1 - a) / (n - 1)) of a = task_choice_accuracy of n questions; absent for one"},
      {kSite, kNone, "task_choice_accuracy_norm_stderr", "1", "the same of task_choice_accuracy_norm"},
      {kNormBoth, kLower, "max_inf_norm", "1",
       "the figure the papers print: max_ffn_inf_norm for BERT, max_layer_inf_norm for the others"},
      {kNormBoth, kLower, "max_ffn_inf_norm", "1",
       "max over layers of inf_norm of the second FFN linear's output"},
      {kNormBoth, kLower, "max_layer_inf_norm", "1", "max over layers of inf_norm of the layer's output"},
      {kNormBoth, kLower, "max_residual_inf_norm", "1",
       "max over layers of inf_norm of the residual sum before the last norm of the layer (BERT)"},
      {kNormBoth, kLower, "max_any_inf_norm", "1", "max of inf_norm over all sites"},
      {kNormBoth, kLower, "avg_kurtosis", "1", "mean over sites of kurtosis"},
      {kNormBoth, kLower, "max_kurtosis", "1", "max over sites of kurtosis"},
      {kNormBoth, kLower, "max_layer_kurtosis", "1", "max over layers of kurtosis of the layer's output"},
      {kNormSite, kLower, "inf_norm", "1", "mean over rows of max |x_j|, for one site"},
      {kNormSite, kLower, "kurtosis", "1",
       "mean over rows of m4 / (s^4 + 1e-6), not excess, s unbiased, on the first "
       "evaluation.kurtosis_batches batches, for one site"},
      {kAllBoth, kLower, "kurtosis_all", "1",
       "mean over sequences and tokens, then layers, of k(x) of the layer's output (Kaul et al. 2025)"},
      {kAllBoth, kLower, "kurtosis_first", "1", "the same over token 1 (Kaul et al. 2025)"},
      {kAllBoth, kLower, "kurtosis_rest", "1", "the same over tokens 2 .. T (Kaul et al. 2025)"},
      {kAllBoth, kLower, "kurtosis_first_over_ceiling", "1",
       "kurtosis_first / (d - 2); 1 is one feature that holds everything"},
      {kAllBoth, kLower, "kurtosis_rest_over_ceiling", "1", "kurtosis_rest / (d - 2)"},
      {kAllBoth, kLower, "max_abs_first", "1",
       "mean over layers of the largest |x_j| of token 1 over all sequences, of which more have a larger one "
       "(Kaul et al. 2025)"},
      {kAllBoth, kLower, "max_abs_rest", "1", "the same over tokens 2 .. T (Kaul et al. 2025)"},
      {kAllBoth, kLower, "mean_max_abs_first", "1",
       "mean over sequences, then layers, of the largest |x_j| of token 1: it does not depend on how many "
       "sequences are measured"},
      {kAllBoth, kLower, "mean_max_abs_rest", "1", "the same over tokens 2 .. T"},
      {kAllBoth, kLower, "norm_ratio_first", "1",
       "mean over sequences, then layers, of max |x_j| / ||x||_2 of token 1 (Kaul et al. 2025)"},
      {kAllBoth, kLower, "norm_ratio_rest", "1", "the same over tokens 2 .. T (Kaul et al. 2025)"},
      {kAllBoth, kNone, "pearson_kurtosis_norm_ratio_first", "1",
       "correlation over layers of layer_kurtosis_first and layer_norm_ratio_first; absent for two layers or "
       "fewer (Kaul et al. 2025)"},
      {kAllBoth, kNone, "pearson_kurtosis_norm_ratio_rest", "1",
       "the same over tokens 2 .. T (Kaul et al. 2025)"},
      {kAllSite, kLower, "layer_kurtosis_first", "1", "kurtosis_first of one layer"},
      {kAllSite, kLower, "layer_kurtosis_rest", "1", "kurtosis_rest of one layer"},
      {kAllSite, kLower, "layer_max_abs_first", "1", "max_abs_first of one layer"},
      {kAllSite, kLower, "layer_max_abs_rest", "1", "max_abs_rest of one layer"},
      {kAllSite, kLower, "layer_norm_ratio_first", "1", "norm_ratio_first of one layer"},
      {kAllSite, kLower, "layer_norm_ratio_rest", "1", "norm_ratio_rest of one layer"},
      {kAllSite, kLower, "six_sigma_count", "1",
       "elements of a sequence's layer output with |x - mean| > 6 standard deviations of the sequence, mean "
       "over sequences, for one layer (Bondarenko et al. 2023)"},
      {kAllSite, kLower, "ffn_six_sigma_count", "1",
       "the same of the second FFN linear's output, the tensor of figure 1 of Bondarenko et al. 2023"},
      {kAllBoth, kLower, "massive_activation_count", "1",
       "elements of a sequence's layer output with |x| > 100 and |x| > 1000 times the sequence's median |x|, "
       "mean over sequences, of the layer that has most (Sun et al. 2024)"},
      {kAllSite, kLower, "layer_massive_activation_count", "1", "the same of one layer"},
      {kAllBoth, kLower, "first_attention_share", "1",
       "share of queries, over layers, heads and sequences, with A[q,1] = max_k A[q,k] > 0 (Kaul et al. "
       "2025)"},
      {kAllBoth, kLower, "first_attention_share_without_query1", "1", "the same over queries 2 .. T"},
      {kAllBoth, kLower, "first_key_mass", "1",
       "mean of A[q,1] over layers, heads, sequences and queries (Kaul et al. 2025)"},
      {kAllBoth, kLower, "first_key_mass_normalised", "1",
       "mean of A[q,1] / sum_k A[q,k], 0 for a row of zeros"},
      {kAllBoth, kLower, "first_key_mass_without_query1", "1", "mean of A[q,1] over queries 2 .. T"},
      {kAllBoth, kNone, "uniform_first_key_mass", "1",
       "mean over sequences and queries of 1 / keys that the query may see, 0 where the first is not one of "
       "them: "
       "first_key_mass of uniform "
       "attention, and the first_attention_share to be expected where attention does not depend on "
       "positions"},
      {kAllBoth, kNone, "uniform_first_key_mass_without_query1", "1", "the same over queries 2 .. T"},
      {kAllBoth, kLower, "sink_rate", "1",
       "share of heads, over layers and sequences, whose mean of A[q,1] over the sequence's queries exceeds "
       "evaluation.outliers.sink_threshold (Gu et al. 2025)"},
      {kAllBoth, kNone, "attention_entropy", "nat",
       "mean over layers, heads, sequences and queries of - sum_k a[k] ln a[k], a[k] = A[q,k] / sum_k "
       "A[q,k]; 0 for a row of zeros"},
      {kAllBoth, kNone, "attention_max_weight", "1",
       "mean over layers, heads, sequences and queries of max_k A[q,k]"},
      {kAllSite, kLower, "layer_first_attention_share", "1", "first_attention_share of one layer"},
      {kAllSite, kLower, "layer_first_key_mass", "1", "first_key_mass of one layer"},
      {kAllSite, kLower, "layer_sink_rate", "1", "sink_rate of one layer"},
      {kAllSite, kNone, "layer_attention_entropy", "nat", "attention_entropy of one layer"},
      {kAllSite, kNone, "layer_attention_max_weight", "1", "attention_max_weight of one layer"},
      {kAllBoth, kNone, "attention_zero_share", "1",
       "share of A[q,k] that are exactly 0, over the keys that a query may see (causal: k <= q)"},
      {kAllBoth, kNone, "attention_zero_row_share", "1", "share of queries with A[q,k] = 0 for every k"},
      {kAllSite, kNone, "layer_attention_zero_share", "1", "attention_zero_share of one layer"},
      {kAllSite, kNone, "gate_mean", "1",
       "mean of the gate's values over sequences, heads and tokens, before the output factor, for one layer"},
      {kQuantizedSite, kHigher, "sqnr", "dB",
       "10 log10(sum x^2 / sum (x - q(x))^2) of the tensor that one quantizer rounds, over real tokens; site "
       "<module> for an output, <module>.weight and <module>.input else; absent where nothing is lost"},
      {kQuantizedSite, kLower, "crest_factor", "1",
       "max |x| / s of the tensor that one quantizer rounds, over real tokens, s^2 = mean x^2 - (mean x)^2; "
       "absent where all x are equal"},
      {kQuantizedResult, kHigher, "min_sqnr", "dB", "min over quantizers of sqnr"},
      {kQuantizedSite, kLower, "sensitivity", "nat",
       "sensitivity_baseline - leave_one_out_loss of one quantizer: what it costs"},
      {kQuantizedSite, kNone, "leave_one_out_loss", "nat",
       "loss with every quantizer but one, on the first evaluation.sensitivity_batches batches"},
      {kQuantizedResult, kLower, "sensitivity_baseline", "nat",
       "loss with every quantizer, on the first evaluation.sensitivity_batches batches"},
      {kResult, kLower, "evaluate_seconds", "s",
       "time of the evaluate stage, from the loaded checkpoint to the last number"},
      {kStepAndEnd, kLower, "train_loss", "nat", "mean cross-entropy of the update's batch"},
      {kStep, kNone, "learning_rate", "1", "rate that the update used"},
      {kStep, kNone, "gradient_norm", "1", "L2 norm of the whole gradient before clipping"},
      {kStepAndEnd, kHigher, "tokens_per_second", "1/s", "training tokens a second since the last point"},
      {kTraining, kHigher, "updates_per_second", "1/s", "updates a second, over the last attempt"},
      {kTraining, kLower, "train_seconds", "s",
       "time spent on updates, over all attempts that led to the checkpoint"},
      {kTraining, kNone, "best_step", "1",
       "update whose weights are the result, with training.checkpoint BEST"},
      {kTraining, kNone, "last_step", "1",
       "updates that it did, with training.checkpoint BEST: fewer than it was to do where training.patience "
       "ended it"},
      {kTraining, kNone, "parameters", "1", "numbers that the training changes"},
      {kTraining, kNone, "gate_parameters", "1",
       "those of attention.gate, over all layers (Bondarenko et al. 2023, table 4)"},
      {kTraining, kLower, "peak_gpu_memory_mib", "MiB",
       "largest amount of GPU memory that the last attempt has held in tensors and their cache; absent on "
       "the CPU"},
      {kStep, kLower, "penalty", "nat", "what training.regularizer adds to the loss of the update's batch"},
      {kStep, kLower, "quantized_loss", "nat",
       "loss of the model quantized as training.quantized_curve describes, calibrated again, on the first "
       "training.quantized_curve.batches batches of the validation part",
       "measure_quantized_every"},
      {kStep, kLower, "float_loss", "nat", "loss of the model itself on the same batches",
       "measure_quantized_every"},
      {kStep, kLower, "quantization_gap", "nat", "quantized_loss - float_loss", "measure_quantized_every"},
  };
  return table;
}

std::string_view ReportedWord(const MeasurementReport& report) {
  return report.final && report.curve ? "curve and final" : report.curve ? "curve" : "final";
}

std::string_view BetterWord(Better better) {
  return better == Better::kLower ? "lower" : better == Better::kHigher ? "higher" : "";
}

const MeasurementInfo* FindMeasurement(std::string_view name) {
  for (const MeasurementInfo& info : Measurements()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

std::string_view PeriodFieldOf(const MeasurementInfo& curve) {
  if (!curve.period.empty()) return curve.period;
  return curve.source == "train" ? "measure_every" : "measure_outliers_every";
}

}  // namespace inlier
