// Evaluation: the reference's weighting, the reported numbers, and the effects of quantization.
#include "core/train/evaluator.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "core/train/batch_input.h"
#include "core/train/prediction.h"
#include "spec/trial/measurements.h"
#include "tests/core/train/train_fixture.h"

namespace inlier {
namespace {

const c10::Device kCpu(c10::kCPU);

absl::StatusOr<EvaluationResult> EvaluateTiny(const v1::TrialSpec& spec, TrialSink& sink) {
  at::set_num_threads(1);
  return Evaluate(*TinyModel(spec), *TinyDataset(spec), spec, kCpu, sink, [] { return false; });
}

TEST(EvaluatorTest, BatchMeansAreWeightedByExamples) {
  ScoreSum sum;
  sum.Add({.loss = 2.0, .targets = 9, .correct = 3, .classes = 7}, 4);
  sum.Add({.loss = 5.0, .targets = 1, .correct = 1, .classes = 7}, 1);
  EXPECT_DOUBLE_EQ(sum.MeanLoss(), 13.0 / 5.0);
  EXPECT_EQ(sum.examples(), 5);
  const Scores scores = sum.Summary();
  EXPECT_DOUBLE_EQ(*scores.perplexity, std::exp(13.0 / 5.0));
  EXPECT_DOUBLE_EQ(*scores.token_perplexity, std::exp(23.0 / 10.0)) << "by targets";
  EXPECT_DOUBLE_EQ(*scores.accuracy, 0.4) << "by targets, not by examples";
  EXPECT_FALSE(scores.f1.has_value()) << "a metric of examples";
}

TEST(EvaluatorTest, BitsPerByteAreOfAllTargetsAndTheirBytes) {
  ScoreSum sum;
  sum.Add({.loss = 2.0, .targets = 9, .correct = 3, .classes = 7, .bytes = 20}, 4);
  sum.Add({.loss = 5.0, .targets = 1, .correct = 1, .classes = 7, .bytes = 5}, 1);
  sum.Add({.loss = 0, .targets = 0, .classes = 7}, 4);
  EXPECT_DOUBLE_EQ(*sum.Summary().bits_per_byte, 23.0 / 25.0 / std::log(2.0));
  ScoreSum uncounted;
  uncounted.Add({.loss = 2.0, .targets = 9, .correct = 3, .classes = 7}, 4);
  EXPECT_FALSE(uncounted.Summary().bits_per_byte.has_value());
}

// The bytes of the predicted tokens are those of the texts: all but the first token of a sequence, and none of </s>.
TEST(EvaluatorTest, TheBytesOfTokensAreThoseOfTheText) {
  const v1::TrialSpec spec = TinySpec("model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } }");
  const auto dataset = TinyDataset(spec);
  const at::Tensor bytes = dataset->token_bytes();
  ASSERT_EQ(bytes.numel(), dataset->vocab_size());
  const Batch batch = dataset->ValidationBatch(0, 4, 1);
  const std::int64_t begin = dataset->special_tokens().begin;
  for (std::int64_t row = 0; row < 4; ++row) {
    std::vector<std::uint32_t> text;
    for (std::int64_t i = 0; i < batch.ids.size(1); ++i) {
      if (const auto id = batch.ids[row][i].item<std::int64_t>(); id != begin)
        text.push_back(static_cast<std::uint32_t>(id));
    }
    EXPECT_EQ(bytes.index_select(0, batch.ids[row]).sum().item<std::int64_t>(),
              static_cast<std::int64_t>(dataset->tokenizer().Decode(text).size()));
  }
  EXPECT_FALSE(TinyDataset(TinySpec())->token_bytes().defined()) << "masked tokens are not the text";
  CollectingSink sink;
  const EvaluationResult result = EvaluateTiny(spec, sink).value();
  EXPECT_GT(*result.scores.bits_per_byte, 0);
}

TEST(EvaluatorTest, ABatchWithoutATargetHasNoPartInTheLoss) {
  ScoreSum sum;
  sum.Add({.loss = 2.0, .targets = 9, .correct = 3, .classes = 7}, 4);
  sum.Add({.loss = 0, .targets = 0, .classes = 7}, 4);
  EXPECT_DOUBLE_EQ(sum.MeanLoss(), 2.0);
  EXPECT_EQ(sum.examples(), 8);
}

TEST(EvaluatorTest, WithoutAnyTargetThereIsNoLoss) {
  CollectingSink sink;
  const v1::TrialSpec spec = TinySpec("data { text { mask_probability: 1e-9 } } evaluation { batches: 2 }");
  const absl::Status refused = EvaluateTiny(spec, sink).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(refused.message(), testing::HasSubstr("2 batches have no token to predict"));
}

// The definition written out: the first of the largest logits against each target.
TEST(EvaluatorTest, PredictCountsTheTargetsThatTheModelNames) {
  for (const char* model : {"", "model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } }"}) {
    const v1::TrialSpec spec = TinySpec(model);
    const auto language_model = TinyModel(spec);
    language_model->eval();
    const Batch batch = TinyDataset(spec)->ValidationBatch(0, 4, 1);
    ModelInput input;
    input.ids = batch.ids;
    const at::Tensor logits = language_model->Logits(input);
    // Half of the targets are set to the prediction.
    at::Tensor labels = batch.labels.clone();
    const int64_t shift = language_model->causal() ? 1 : 0;
    int64_t targets = 0, correct = 0;
    for (int64_t row = 0; row < labels.size(0); ++row) {
      for (int64_t i = shift; i < labels.size(1); ++i) {
        if (labels[row][i].item<int64_t>() == kIgnoredLabel) continue;
        const int64_t best = logits[row][i - shift].argmax().item<int64_t>();
        if (++targets % 2 == 0) labels[row][i] = best;
        correct += labels[row][i].item<int64_t>() == best;
      }
    }
    ASSERT_GT(correct, 2);
    const Prediction prediction = Predict(*language_model, input, labels);
    EXPECT_EQ(prediction.targets, targets);
    EXPECT_EQ(prediction.correct, correct);
    EXPECT_DOUBLE_EQ(prediction.loss, language_model->Loss(input, labels).item<double>());
    const Prediction none = Predict(*language_model, input, at::full_like(labels, kIgnoredLabel));
    EXPECT_EQ(none.targets, 0);
    EXPECT_EQ(none.loss, 0);
  }
}

// -log of the probability that the logits give each target, written out, over the two batches of the evaluation.
TEST(EvaluatorTest, LossAndAccuracyAreThoseOfTheValidationBatches) {
  CollectingSink sink;
  const v1::TrialSpec spec = TinySpec();
  const EvaluationResult result = EvaluateTiny(spec, sink).value();
  const auto model = TinyModel(spec);
  model->eval();
  const auto dataset = TinyDataset(spec);
  double mean = 0;
  int targets = 0, correct = 0;
  for (int number = 0; number < 2; ++number) {
    const Batch batch = dataset->ValidationBatch(number, 4, spec.evaluation().mask_seed());
    const at::NoGradGuard no_gradient;
    const at::Tensor chances = model->Logits(InputOf(batch, kCpu)).to(torch::kFloat64).exp();
    ASSERT_EQ(chances.size(-1), 300);
    double loss = 0;
    int of_batch = 0;
    for (std::int64_t row = 0; row < 4; ++row) {
      for (std::int64_t i = 0; i < batch.labels.size(1); ++i) {
        const std::int64_t label = batch.labels[row][i].item<std::int64_t>();
        if (label == kIgnoredLabel) continue;
        const at::Tensor here = chances[row][i];
        loss -= std::log(here[label].item<double>() / here.sum().item<double>());
        ++of_batch;
        correct += here.argmax().item<std::int64_t>() == label;
      }
    }
    ASSERT_GT(of_batch, 0);
    mean += loss / of_batch / 2;
    targets += of_batch;
  }
  EXPECT_NEAR(result.scores.loss, mean, 1e-5);
  EXPECT_DOUBLE_EQ(*result.scores.perplexity, std::exp(result.scores.loss));
  EXPECT_DOUBLE_EQ(*result.scores.accuracy, static_cast<double>(correct) / targets);
  EXPECT_EQ(result.examples, 8);
  EXPECT_GT(result.outliers.summary->max_inf_norm, 0);
  EXPECT_EQ(sink.progress.back().phase(), "evaluate");
  EXPECT_EQ(sink.progress.back().step(), 2u);
  EXPECT_EQ(sink.progress.back().steps_total(), 2u);
}

TEST(EvaluatorTest, SameEvaluationTwiceIsBitEqual) {
  CollectingSink sink;
  EXPECT_EQ(EvaluateTiny(TinySpec(), sink)->scores.loss, EvaluateTiny(TinySpec(), sink)->scores.loss);
}

TEST(EvaluatorTest, QuantizationIsCalibratedFirstAndFewerBitsHurtMore) {
  const auto with_bits = [](int n) {
    const std::string number = std::to_string(n);
    return TinySpec("quantization { weights { bits: " + number + " } activations { bits: " + number +
                    " } calibration { batches: 3 batch_size: 4 } }");
  };
  CollectingSink sink;
  const double exact = EvaluateTiny(TinySpec(), sink)->scores.loss;
  sink.progress.clear();
  const EvaluationResult fine = EvaluateTiny(with_bits(16), sink).value();
  EXPECT_EQ(sink.progress.front().phase(), "calibrate");
  EXPECT_EQ(sink.progress.front().steps_total(), 3u);
  const double coarse = EvaluateTiny(with_bits(2), sink)->scores.loss;
  EXPECT_NE(fine.scores.loss, exact);
  EXPECT_NEAR(fine.scores.loss, exact, 1e-3);
  EXPECT_GT(std::abs(coarse - exact), std::abs(fine.scores.loss - exact));
}

TEST(EvaluatorTest, ARotationLearnsOnTheCalibrationBatchesFirst) {
  const v1::TrialSpec spec = TinySpec(
      "model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } quantization { weights { bits: 4 } "
      "activations { bits: 4 } absmax { } rotation { learned { steps: 5 } } "
      "calibration { batches: 2 batch_size: 4 } }");
  CollectingSink sink;
  at::set_num_threads(1);
  const std::shared_ptr<LanguageModel> model = TinyModel(spec);
  const auto data = TinyDataset(spec);
  const double loss = Evaluate(*model, *data, spec, kCpu, sink, [] { return false; })->scores.loss;
  std::vector<std::uint64_t> steps;
  for (const v1::Progress& progress : sink.progress) {
    if (progress.phase() != "calibrate") continue;
    steps.push_back(progress.step());
    EXPECT_EQ(progress.steps_total(), 7u) << "five updates, and two batches";
  }
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7}));
  for (const auto& [name, parameter] : ParametersOf(*model)) EXPECT_FALSE(parameter.grad().defined()) << name;
  EXPECT_EQ(EvaluateTiny(spec, sink)->scores.loss, loss);
  int asked = 0;
  EXPECT_EQ(Evaluate(*model, *data, spec, kCpu, sink, [&] { return ++asked > 3; }).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(EvaluatorTest, WeightsAloneCanBeQuantized) {
  CollectingSink sink;
  const EvaluationResult result =
      EvaluateTiny(TinySpec("quantization { weights { bits: 4 } }"), sink).value();
  EXPECT_NE(result.scores.loss, EvaluateTiny(TinySpec(), sink)->scores.loss);
}

TEST(EvaluatorTest, EverySchemeOfTheLinearsCanBeEvaluated) {
  const std::string opt = "model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } ";
  CollectingSink sink;
  for (const std::string& model : {std::string(), opt}) {
    const double exact = EvaluateTiny(TinySpec(model), sink)->scores.loss;
    for (const char* scheme :
         {"absmax { }", "absmax { activation_axis: FEATURE }", "absmax { granularity: MODERATE }",
          "absmax { granularity: COARSE }", "absmax { granularity: COARSE calibrated: true }",
          "zeropoint { }", "zeropoint { activation_axis: TOKEN }"}) {
      sink.progress.clear();
      const absl::StatusOr<EvaluationResult> result =
          EvaluateTiny(TinySpec(model + "quantization { weights { } activations { } " + scheme + " }"), sink);
      ASSERT_TRUE(result.ok()) << scheme << ": " << result.status();
      EXPECT_NE(result->scores.loss, exact) << scheme;
      EXPECT_NEAR(result->scores.loss, exact, 0.05) << scheme;
      const bool calibrated = std::string(scheme).find("calibrated") != std::string::npos;
      EXPECT_EQ(sink.progress.front().phase(), calibrated ? "calibrate" : "evaluate") << scheme;
    }
  }
}

TEST(EvaluatorTest, TokensAttentionAndGatesAreMeasured) {
  CollectingSink sink;
  const absl::StatusOr<EvaluationResult> result =
      EvaluateTiny(TinySpec("model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } "
                            "attention { softmax { clipped { gamma: -0.5 } } gate { linear { } } }"),
                   sink);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->outliers.tokens.has_value());
  EXPECT_GT(result->outliers.tokens->first.kurtosis, 1);
  ASSERT_TRUE(result->outliers.tokens->rest.has_value());
  EXPECT_EQ(result->outliers.blocks.size(), 2u);
  ASSERT_TRUE(result->outliers.attention.has_value());
  EXPECT_GT(result->outliers.attention->zero_share, 0.3) << "clipped softmax leaves zeros";
  EXPECT_LT(result->outliers.attention->zero_share, 1);
  EXPECT_EQ(result->outliers.attention_layers.size(), 2u);
  ASSERT_EQ(result->outliers.gates.size(), 2u);
  EXPECT_GT(result->outliers.gates[0].mean, 0);
  EXPECT_LT(result->outliers.gates[0].mean, 1);
  const EvaluationResult bert = *EvaluateTiny(TinySpec(), sink);
  EXPECT_EQ(bert.outliers.blocks.size(), 2u);
  EXPECT_EQ(bert.outliers.attention->zero_share, 0) << "nothing is clipped, every key is visible";
  EXPECT_TRUE(bert.outliers.gates.empty());
}

// Of three batches the first is measured: the loss is that of all, bit by bit, and the rest that of one batch.
TEST(EvaluatorTest, ActivationsAreMeasuredOnTheFirstBatchesWhenAsked) {
  for (const char* more :
       {"", "quantization { weights {} activations {} calibration { batches: 1 batch_size: 4 } }"}) {
    CollectingSink sink;
    const std::string changes = more;
    const EvaluationResult all =
        *EvaluateTiny(TinySpec(changes + "evaluation { batches: 3 measure: ALL }"), sink);
    const EvaluationResult one =
        *EvaluateTiny(TinySpec(changes + "evaluation { batches: 1 measure: ALL }"), sink);
    const EvaluationResult capped = *EvaluateTiny(
        TinySpec(changes + "evaluation { batches: 3 outliers { batches: 1 } measure: ALL }"), sink);
    EXPECT_EQ(capped.scores.loss, all.scores.loss);
    EXPECT_EQ(capped.examples, all.examples);
    EXPECT_EQ(capped.outliers.summary->max_inf_norm, one.outliers.summary->max_inf_norm);
    EXPECT_EQ(capped.outliers.attention->first_key_mass, one.outliers.attention->first_key_mass);
    EXPECT_NE(capped.outliers.summary->max_inf_norm, all.outliers.summary->max_inf_norm);
    EXPECT_NE(capped.outliers.tokens->kurtosis, all.outliers.tokens->kurtosis);
  }
}

// What is measured changes no number of what is measured in any case.
TEST(EvaluatorTest, OnlyWhatIsAskedForIsMeasured) {
  for (const char* quantization :
       {"", "quantization { weights {} activations {} calibration { batches: 1 batch_size: 4 } } "}) {
    CollectingSink sink;
    const auto with = [&](const std::string& measure) {
      return *EvaluateTiny(TinySpec(std::string(quantization) + "evaluation { " + measure + " }"), sink);
    };
    const EvaluationResult all = with("measure: ALL"), norms = with("measure: NORMS"),
                           none = with("measure: SCORES");
    EXPECT_EQ(norms.scores.loss, all.scores.loss);
    EXPECT_EQ(none.scores.loss, all.scores.loss);
    EXPECT_EQ(norms.outliers.summary->max_inf_norm, all.outliers.summary->max_inf_norm);
    EXPECT_TRUE(norms.quantizers.empty() && !norms.outliers.tokens && !norms.outliers.attention);
    EXPECT_TRUE(none.quantizers.empty() && !none.outliers.summary && none.outliers.sites.empty());
    EXPECT_NE(all.quantizers.empty(), *quantization != '\0');
    EXPECT_TRUE(with("").outliers.summary.has_value()) << "by default";
    EXPECT_EQ(with("").outliers.attention.has_value(), *quantization == '\0') << "by default";
    // The names that each reports are those that the list of measurements gives it.
    for (const auto& [measure, result] :
         {std::pair(v1::EvaluationSpec::ALL, &all), std::pair(v1::EvaluationSpec::NORMS, &norms),
          std::pair(v1::EvaluationSpec::SCORES, &none)}) {
      sink.measurements.clear();
      ReportEvaluation(*result, {}, 1, sink);
      v1::EvaluationSpec::Measure most = v1::EvaluationSpec::SCORES;
      for (const v1::MeasurementPoint& point : sink.measurements) {
        ASSERT_LE(FindMeasurement(point.name())->measure, measure) << point.name();
        most = std::max(most, FindMeasurement(point.name())->measure);
      }
      EXPECT_EQ(most, measure);
    }
  }
}

TEST(EvaluatorTest, StopsBetweenBatchesWhenAsked) {
  const v1::TrialSpec spec = TinySpec();
  CollectingSink sink;
  const absl::StatusOr<EvaluationResult> result =
      Evaluate(*TinyModel(spec), *TinyDataset(spec), spec, kCpu, sink, [] { return true; });
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(sink.progress.empty());
}

TEST(EvaluatorTest, EveryReportedNameIsInTheTableOfMeasurements) {
  for (const char* model : {"", "model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } }"}) {
    const v1::TrialSpec spec = TinySpec(model);
    CollectingSink sink;
    const EvaluationResult result = EvaluateTiny(spec, sink).value();
    ReportEvaluation(result, {.unigram_perplexity = 123.0}, 20, sink);
    std::map<std::string, int> whole_model;
    for (const v1::MeasurementPoint& point : sink.measurements) {
      const MeasurementInfo* info = FindMeasurement(point.name());
      ASSERT_NE(info, nullptr) << point.name();
      EXPECT_EQ(info->source, "evaluate") << point.name();
      EXPECT_EQ(info->axis == "site", point.has_site()) << point.name();
      EXPECT_TRUE(point.final());
      EXPECT_EQ(point.step(), 20u);
      if (!point.has_site()) ++whole_model[point.name()];
    }
    for (const char* name :
         {"perplexity", "token_perplexity", "accuracy", "unigram_perplexity", "max_inf_norm", "avg_kurtosis",
          "kurtosis_first", "kurtosis_rest", "max_abs_first", "mean_max_abs_first", "first_attention_share",
          "attention_zero_share", "uniform_first_key_mass", "sink_rate", "attention_entropy",
          "attention_max_weight", "massive_activation_count"})
      EXPECT_EQ(whole_model[name], 1) << name;
  }
}

}  // namespace
}  // namespace inlier
