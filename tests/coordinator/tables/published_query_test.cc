// A trial of ours finds the papers' figure that is meant by its spec alone, and no other.
#include <gtest/gtest.h>

#include "coordinator/tables/published.h"
#include "spec/schema/yaml_reader.h"

namespace inlier {
namespace {

// The figure that a trial shows next to it: "mean model" of the figure, in our unit; "none".
std::string FigureOf(const std::string& table, const std::string& yaml, const std::string& measurement) {
  const absl::StatusOr<v1::TrialSpec> spec = ReadYaml<v1::TrialSpec>(yaml, "trial.yaml");
  EXPECT_TRUE(spec.ok()) << spec.status();
  const auto figures = PublishedTable(table);
  EXPECT_TRUE(figures.ok()) << figures.status();
  const PublishedFigure* figure = FindPublished(*figures, PublishedQueryOf(*spec, measurement));
  if (figure == nullptr) return "none";
  char text[64];
  std::snprintf(text, sizeof text, "%g ", figure->mean * PublishedUnit(figure->metric));
  return text + figure->model;
}

constexpr char kOpt[] =
    "model: {opt: {preset: 125m}}\n"
    "data: {text: {corpus: wiki, sequence_length: 512}}\n";

TEST(PublishedQueryTest, AlphaIsTheSameSettingAtEveryLength) {
  const std::string decayed = "training.optimizer.adamw.decay_norm_gamma: true\n";
  const std::string alpha = "attention.softmax.clipped.alpha: 4\n";
  EXPECT_EQ(FigureOf("bondarenko2023/6", kOpt + alpha + decayed, "perplexity"), "15.86 opt-125m");
  EXPECT_EQ(FigureOf("bondarenko2023/6", kOpt + decayed + "attention.softmax.clipped.gamma: -0.0078125\n",
                     "perplexity"),
            "15.86 opt-125m");
  EXPECT_EQ(FigureOf("bondarenko2023/6",
                     "model: {opt: {preset: tiny}}\ndata: {text: {corpus: kjv, sequence_length: 64}}\n" +
                         alpha + decayed,
                     "perplexity"),
            "15.86 opt-125m");
  EXPECT_EQ(FigureOf("bondarenko2023/6", kOpt + alpha, "perplexity"), "none") << "only with decayed gains";
  EXPECT_EQ(
      FigureOf("bondarenko2023/6", kOpt + decayed + "attention.softmax.clipped.alpha: 3\n", "perplexity"),
      "none");
}

TEST(PublishedQueryTest, GatesAreDistinguished) {
  const std::string base = "model: {bert: {heads: 12, hidden_size: 768}}\n";
  EXPECT_EQ(FigureOf("bondarenko2023/5", base + "attention.gate.linear.pi_init: 0.75\n", "max_inf_norm"),
            "71.4 bert-base");
  EXPECT_EQ(FigureOf("bondarenko2023/5", base + "attention.gate.mlp.hidden_size: 16\n", "max_inf_norm"),
            "39.2 bert-base")
      << "the paper's n_hid = 4";
  EXPECT_EQ(FigureOf("bondarenko2023/5", base + "attention.gate.mlp.hidden_size: 64\n", "max_inf_norm"),
            "117 bert-base");
  EXPECT_EQ(FigureOf("bondarenko2023/5", base + "attention.gate.all_heads_linear: {}\n", "max_inf_norm"),
            "58.3 bert-base");
  EXPECT_EQ(FigureOf("bondarenko2023/5", base + "attention.gate.linear.pi_init: 0.6\n", "max_inf_norm"),
            "none");
}

TEST(PublishedQueryTest, RangesAndBitsOfTheQuantizationDecide) {
  const std::string base = "model: {bert: {preset: base}}\n";
  const std::string w6a8 = "quantization: {weights: {bits: 6}, activations: {bits: 8}}\n";
  EXPECT_EQ(FigureOf("bondarenko2023/10", base, "perplexity"), "4.49 bert-base");
  EXPECT_EQ(FigureOf("bondarenko2023/10", base + w6a8, "perplexity"), "598 bert-base");
  EXPECT_EQ(FigureOf("bondarenko2023/10",
                     base + "quantization: {weights: {bits: 6, range: {mse: {}}}, activations: {bits: 8}}\n",
                     "perplexity"),
            "6.49 bert-base");
  EXPECT_EQ(FigureOf("bondarenko2023/10",
                     base + "quantization: {weights: {bits: 5}, activations: {bits: 8}}\n", "perplexity"),
            "none");
}

TEST(PublishedQueryTest, OptimizersNormsAndSchemesHaveThePapersNames) {
  const std::string ours =
      "model: {gpt2: {preset: 130m, biases: false}}\n"
      "norm: RMS_NORM_S\n"
      "attention.softmax.softmax_n: {}\n";
  EXPECT_EQ(FigureOf("kaul2024/5", ours + "training.optimizer.ortho_adam: {}\n", "kurtosis_all"),
            "3 gpt2-130m");
  EXPECT_EQ(FigureOf("kaul2024/5", ours + "training.optimizer.sgd: {}\n", "kurtosis_all"), "3.2 gpt2-130m");
  EXPECT_EQ(FigureOf("kaul2024/5", ours + "training.optimizer.sgd.momentum: 0.9\n", "kurtosis_all"),
            "5 gpt2-130m");
  EXPECT_EQ(FigureOf("kaul2024/5", ours + "training.optimizer.ortho_adam: {}\n", "avg_kurtosis"), "none")
      << "another estimator";
  const std::string ortho = ours + "training.optimizer.ortho_adam: {}\n";
  EXPECT_EQ(
      FigureOf("kaul2024/3",
               ortho + "quantization: {weights: {}, activations: {}, absmax: {granularity: MODERATE}}\n",
               "perplexity"),
      "23.1 gpt2-130m");
  EXPECT_EQ(
      FigureOf(
          "kaul2024/3",
          ortho +
              "quantization: {weights: {bits: 4}, activations: {bits: 4}, absmax: {granularity: MODERATE}}\n",
          "perplexity"),
      "none")
      << "the paper's have 8 bits";
  EXPECT_EQ(
      FigureOf("kaul2024/3", ortho + "quantization: {weights: {bits: 4}, zeropoint: {}}\n", "perplexity"),
      "24 gpt2-130m");
  EXPECT_EQ(FigureOf("kaul2024/2", "model: {llama: {preset: 130m}}\ntraining.optimizer.adam: {}\n",
                     "kurtosis_first"),
            "435 llama2-130m");
}

TEST(PublishedQueryTest, UnitsAreOurs) {
  EXPECT_EQ(FigureOf("bondarenko2023/7",
                     "model.vit: {preset: s16, patch_norm: true}\ndata.images.dataset: fashion-mnist\n",
                     "accuracy"),
            "0.8098 vit-s16");
  EXPECT_EQ(FigureOf("bondarenko2023/8",
                     "model.vit.preset: s16\ndata.images.dataset: fashion-mnist\n"
                     "quantization: {weights: {}, activations: {}}\n",
                     "accuracy"),
            "0.7127 vit-s16");
  EXPECT_EQ(FigureOf("bondarenko2023/11", "model.bert.preset: base\n", "train_seconds"), "334080 bert-base");
  EXPECT_EQ(FigureOf("kaul2024/4", "model.gpt2.preset: 60m\n", "tokens_per_second"), "1.83501e+06 gpt2-60m");
  EXPECT_EQ(FigureOf("liao2024/6",
                     "model.bert.preset: liao-small\ndata.text: {corpus: w, sequence_length: 256}\n"
                     "evaluation.sequence_length: 32\n",
                     "accuracy"),
            "0.526 bert-small");
}

TEST(PublishedQueryTest, FineTuningIsKnownByItsInitialModelAndItsData) {
  EXPECT_EQ(FigureOf("bondarenko2023/9",
                     "model.opt.preset: 1.3b\ntraining: {steps: 4000, start_from: {hugging_face: "
                     "/data/models/opt-1.3b}}\n",
                     "perplexity"),
            "29.46 opt-1.3b");
  EXPECT_EQ(
      FigureOf("kaul2024/7",
               "model.llama.layers: 32\n"
               "training: {steps: 1, start_from: {hugging_face: /data/models/Llama-3.1-8B-Instruct/}}\n",
               "kurtosis_all"),
      "69 llama-3.1-8b-instruct");
  const std::string mnli = "model.bert.preset: base\ndata.classification: {path: /data/glue/MNLI";
  EXPECT_EQ(FigureOf("liao2024/5", mnli + ", validation_file: dev_matched.tsv}\n", "accuracy"),
            "0.831 bert-base");
  EXPECT_EQ(FigureOf("liao2024/5", mnli + ", validation_file: dev_mismatched.tsv}\n", "accuracy"),
            "0.833 bert-base");
  const auto glue = [](const std::string& set, const std::string& measurement) {
    return FigureOf("liao2024/5",
                    "model.bert.preset: base\ndata.classification.path: /data/glue/" + set + "\n",
                    measurement);
  };
  EXPECT_EQ(glue("QQP", "f1"), "0.878 bert-base");
  EXPECT_EQ(glue("CoLA", "matthews_correlation"), "0.616 bert-base");
  EXPECT_EQ(glue("STS-B", "pearson_correlation"), "0.853 bert-base");
  EXPECT_EQ(glue("STS-B", "spearman_correlation"), "0.85 bert-base");
  EXPECT_EQ(glue("WNLI", "accuracy"), "none");
  EXPECT_EQ(FigureOf("liao2024/5", "model.bert.preset: base\ndata.classification.path: /data/glue/SST-2/\n",
                     "accuracy"),
            "0.931 bert-base");
}

TEST(PublishedQueryTest, OurOwnSmallSizesHaveNoPublishedFigure) {
  EXPECT_EQ(FigureOf("liao2024/1", "model.bert.preset: small\n", "perplexity"), "none");
  EXPECT_EQ(FigureOf("liao2024/1", "model.bert.preset: liao-small\n", "perplexity"), "6.17 bert-small");
  EXPECT_EQ(FigureOf("liao2024/1/bert-base", "model.bert.preset: small\n", "perplexity"), "4.71 bert-base")
      << "unless the table names one";
}

}  // namespace
}  // namespace inlier
