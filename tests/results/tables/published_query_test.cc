// A trial of ours finds the papers' figure that is meant by its spec alone, and no other; what differs is named.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "results/tables/published.h"
#include "spec/schema/yaml_reader.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

// The figure next to a trial: "mean model" of the figure, in our unit, then what differs; "none".
std::string FigureOf(const std::string& table, const std::string& yaml, const std::string& measurement) {
  const v1::TrialSpec spec = Resolve(ReadYaml<v1::TrialSpec>(yaml, "trial.yaml").value()).value();
  const auto figures = PublishedTable(table).value();
  const PublishedMatch match = FindPublished(figures, PublishedQueryOf(spec, measurement));
  if (match.figure == nullptr) return "none";
  char text[64];
  std::snprintf(text, sizeof text, "%g ", InOurUnit(match.figure->metric, match.figure->mean));
  const std::string differs = absl::StrJoin(match.differences, ", ");
  return absl::StrCat(text, match.figure->model, differs.empty() ? "" : ", other " + differs);
}

// Bondarenko et al. 2023 as their commands train.
constexpr char kBert[] =
    "model.bert.preset: base\n"
    "dropout: 0.1\n"
    "data: {text: {corpus: bookcorpus-wiki, tokenizer: {wordpiece: {}}, sequence_length: 128}}\n"
    "training: {steps: 1000000, batch_size: 256, optimizer: {adamw: {learning_rate: 1e-4}}, "
    "schedule: {linear: {}, warmup_steps: 10000}}\n";
std::string Opt(const std::string& corpus = "bookcorpus-wiki", bool decays_gains = true, int length = 512,
                const std::string& preset = "125m") {
  return absl::StrCat(
      "model.opt.preset: ", preset, "\ndropout: 0.1\ndata: {text: {corpus: ", corpus,
      ", tokenizer: {gpt2: {vocab: opt}}, sequence_length: ", length,
      "}}\ntraining: {steps: 125000, batch_size: 48, gradient_accumulation: 4, optimizer: {adamw: "
      "{learning_rate: 4e-4, beta2: 0.95, weight_decay: 0.1, decay_norm_gamma: ",
      decays_gains ? "true" : "false", "}}, schedule: {linear: {}, warmup_steps: 2000}}\n");
}
constexpr char kVit[] =
    "model.vit: {preset: s16, patch_norm: true}\n"
    "data.images.path: /data/imagenet\n"
    "training: {epochs: 300, batch_size: 512, optimizer: {adamw: {weight_decay: 0.03}}, schedule: {cosine: "
    "{}, "
    "warmup_fraction: 0.07}}\n";
// Kaul et al. 2025, with an optimizer and updates.
std::string Gpt2(const std::string& optimizer, int steps = 40000, const std::string& preset = "130m",
                 int warmup = 2000) {
  return absl::StrCat("model: {gpt2: {preset: ", preset, ", biases: false}}\nnorm: RMS_NORM_S\n",
                      "data: {text: {corpus: c4, tokenizer: {gpt2: {}}, sequence_length: 256}}\n",
                      "training: {steps: ", steps, ", batch_size: 512, optimizer: {", optimizer,
                      "}, schedule: {cosine: {}, warmup_steps: ", warmup, "}}\n");
}
// Next to Bondarenko et al.'s BERT with more in its specification.
std::string BertFigure(const std::string& more, const std::string& measurement = "perplexity") {
  return FigureOf("bondarenko2023/2", kBert + more, measurement);
}
constexpr char kSoftmax1[] = "attention.softmax.softmax_n: {}\n";
constexpr char kOrthoAdam[] = "ortho_adam: {}";

TEST(PublishedQueryTest, EverythingThatThePaperNamesAgreesOrIsNamed) {
  const std::string clipped = "attention.softmax.clipped.gamma: -0.025\n";
  EXPECT_EQ(FigureOf("bondarenko2023/2", kBert, "perplexity"), "4.49 bert-base");
  EXPECT_EQ(BertFigure(clipped), "4.39 bert-base");
  EXPECT_EQ(BertFigure("attention.softmax.clipped.gamma: -0.03\n"), "4.39 bert-base, other gamma")
      << "the table prints the best gamma, -0.025";
  EXPECT_EQ(FigureOf("bondarenko2023/2",
                     "model.bert: {preset: tiny, layers: 2}\n"
                     "data: {text: {corpus: gcide, sequence_length: 32, mask_probability: 0.3}}\n"
                     "training: {steps: 1500, optimizer: {adamw: {learning_rate: 2e-3}}}\n",
                     "perplexity"),
            "4.49 bert-base, other model, data, training");
  EXPECT_EQ(FigureOf("bondarenko2023/2", Opt("wiki", false), "perplexity"), "15.84 opt-125m, other data");
  EXPECT_EQ(FigureOf("bondarenko2023/2", Opt(), "perplexity"), "15.84 opt-125m, other weight decay of norms");
}

// The construction decides, not the name of the preset.
TEST(PublishedQueryTest, ChangedPresetIsAnotherModel) {
  const auto bert = [](const std::string& change) {
    return BertFigure("model.bert." + change + "\n", "max_inf_norm");
  };
  EXPECT_EQ(bert("max_positions: 128"), "735 bert-base");
  EXPECT_EQ(bert("layers: 2"), "735 bert-base, other model");
  EXPECT_EQ(bert("norm_placement: PRE"), "735 bert-base, other model");
  EXPECT_EQ(bert("activation: RELU"), "735 bert-base, other model");
  EXPECT_EQ(bert("initialisation: LIBRARY"), "735 bert-base, other model");
  std::string sizes = kBert;
  sizes.replace(0, sizes.find('\n'), "model.bert: {layers: 12, hidden_size: 768, heads: 12, ffn_size: 3072}");
  EXPECT_EQ(FigureOf("bondarenko2023/2", sizes, "max_inf_norm"), "735 bert-base");
}

TEST(PublishedQueryTest, MethodsThatNoPaperHasBorrowNoFigure) {
  for (const std::string part : {"query_key_norm: HEAD_RMS", "key_value_bias: true"}) {
    EXPECT_EQ(BertFigure("attention: {" + part + "}\n"), "none") << part;
  }
  for (const std::string softmax : {"softpick: {}", "sigmoid: {}", "sink: {}", "softmax_n: {}",
                                    "softmax_n: {n: 2}", "script: {file: /a.pt}"}) {
    EXPECT_EQ(BertFigure("attention.softmax: {" + softmax + "}\n"), "none") << softmax;
  }
  EXPECT_EQ(FigureOf("kaul2024/5", Gpt2(kOrthoAdam) + "attention.softmax.softmax_n.n: 2\n", "kurtosis_all"),
            "none");
  for (const std::string gate : {"unconditional: {}", "linear: {}, pooled: true", "projected: {}"}) {
    EXPECT_EQ(BertFigure("attention.gate: {" + gate + "}\n"), "none") << gate;
  }
  EXPECT_EQ(BertFigure("attention: {gate: {mlp: {hidden_size: 16}}, softmax: {clipped: {gamma: -0.025}}}\n"),
            "none")
      << "two methods at once";
  EXPECT_EQ(BertFigure("training.regularizer.kurtosis.weight: 0.1\n"), "none");
}

TEST(PublishedQueryTest, AlphaIsTheSameSettingAtEveryLength) {
  const std::string alpha = "attention.softmax.clipped.alpha: 4\n";
  EXPECT_EQ(FigureOf("bondarenko2023/6", Opt() + alpha, "perplexity"), "15.86 opt-125m");
  EXPECT_EQ(
      FigureOf("bondarenko2023/6", Opt() + "attention.softmax.clipped.gamma: -0.0078125\n", "perplexity"),
      "15.86 opt-125m");
  EXPECT_EQ(FigureOf("bondarenko2023/6", Opt("kjv", true, 64, "tiny") + alpha, "perplexity"),
            "15.86 opt-125m, other model, data");
  EXPECT_EQ(FigureOf("bondarenko2023/6", Opt("bookcorpus-wiki", false) + alpha, "perplexity"), "none")
      << "only with decayed gains";
  EXPECT_EQ(FigureOf("bondarenko2023/6", Opt() + "attention.softmax.clipped.alpha: 3\n", "perplexity"),
            "none");
}

TEST(PublishedQueryTest, GatesAreDistinguished) {
  const auto gate = [](const std::string& text) {
    return FigureOf("bondarenko2023/5", kBert + ("attention.gate." + text + "\n"), "max_inf_norm");
  };
  EXPECT_EQ(gate("linear.pi_init: 0.75"), "71.4 bert-base");
  EXPECT_EQ(gate("mlp.hidden_size: 16"), "39.2 bert-base") << "the paper's n_hid = 4";
  EXPECT_EQ(gate("mlp.hidden_size: 64"), "117 bert-base");
  EXPECT_EQ(gate("mlp.hidden_size: 4"), "none") << "four units are no quarter of a head";
  EXPECT_EQ(gate("all_heads_linear: {}"), "58.3 bert-base");
  EXPECT_EQ(gate("all_heads_linear: {pi_init: 0.25}"), "none");
  EXPECT_EQ(gate("linear.pi_init: 0.6"), "none");
  EXPECT_EQ(FigureOf("bondarenko2023/5",
                     std::string(kBert) + "attention.gate: {linear: {pi_init: 0.75}, output_factor: 2}\n",
                     "max_inf_norm"),
            "71.4 bert-base, other gate");
}

TEST(PublishedQueryTest, RangesAndBitsOfTheQuantizationDecide) {
  const auto quantized = [](const std::string& text) {
    return FigureOf("bondarenko2023/10", kBert + ("quantization: {" + text + "}\n"), "perplexity");
  };
  EXPECT_EQ(FigureOf("bondarenko2023/10", kBert, "perplexity"), "4.49 bert-base");
  EXPECT_EQ(quantized("weights: {bits: 6}, activations: {bits: 8}"), "598 bert-base");
  EXPECT_EQ(quantized("weights: {bits: 6, range: {mse: {}}}, activations: {bits: 8}"), "6.49 bert-base");
  EXPECT_EQ(quantized("weights: {bits: 6, range: {percentile: {}}}, activations: {bits: 8}"), "none");
  EXPECT_EQ(quantized("weights: {bits: 5}, activations: {bits: 8}"), "none");
  EXPECT_EQ(
      quantized("weights: {bits: 8}, activations: {bits: 8, range: {running_minmax: {percentile: 99}}}"),
      "1294 bert-base, other ranges");
  EXPECT_EQ(quantized("weights: {bits: 8, per_channel: true}, activations: {bits: 8}"),
            "1294 bert-base, other quantization");
  EXPECT_EQ(quantized("weights: {bits: 8}, activations: {bits: 8}, zeropoint: {}"),
            "1294 bert-base, other quantization");
  EXPECT_EQ(
      quantized("weights: {bits: 6, range: {mse: {}}}, activations: {bits: 6, range: {mse_search: {}}}"),
      "42.8 bert-base");
  EXPECT_EQ(quantized("weights: {bits: 6, range: {mse: {}}}, activations: {bits: 6, range: {mse: {}}}"),
            "42.8 bert-base, other ranges")
      << "the code searches without a grid";
  EXPECT_EQ(quantized("weights: {bits: 6, range: {mse: {}}}, activations: {bits: 6}"),
            "42.8 bert-base, other ranges");
  EXPECT_EQ(BertFigure("quantization: {weights: {}, activations: {}}\n", "max_inf_norm"),
            "735 bert-base, other quantization")
      << "the paper measures norms of the float model";
}

TEST(PublishedQueryTest, OptimizersNormsAndSchemesHaveThePapersNames) {
  EXPECT_EQ(FigureOf("kaul2024/5", Gpt2(kOrthoAdam) + kSoftmax1, "kurtosis_all"), "3 gpt2-130m");
  EXPECT_EQ(FigureOf("kaul2024/5", Gpt2("sgd: {learning_rate: 0.2}", 320000) + kSoftmax1, "kurtosis_all"),
            "3.2 gpt2-130m");
  EXPECT_EQ(FigureOf("kaul2024/5", Gpt2("sgd: {learning_rate: 0.2}") + kSoftmax1, "kurtosis_all"),
            "3.2 gpt2-130m, other training")
      << "SGD trains eight times as long";
  EXPECT_EQ(FigureOf("kaul2024/5", Gpt2("sgd: {learning_rate: 0.2, momentum: 0.9}", 320000) + kSoftmax1,
                     "kurtosis_all"),
            "5 gpt2-130m");
  EXPECT_EQ(FigureOf("kaul2024/5", Gpt2(kOrthoAdam) + kSoftmax1, "avg_kurtosis"), "none")
      << "another estimator";
  EXPECT_EQ(FigureOf("kaul2024/5", Gpt2(kOrthoAdam) + kSoftmax1, "max_abs_first"),
            "43.5 gpt2-130m, other tokens")
      << "the table does not name token 1";
  const std::string ortho = Gpt2(kOrthoAdam, 320000) + kSoftmax1;
  const std::string moderate = ", absmax: {granularity: MODERATE}";
  const auto quantized = [&](const std::string& quantization) {
    return FigureOf("kaul2024/3", ortho + "quantization: {" + quantization + "}\n", "perplexity");
  };
  EXPECT_EQ(quantized("weights: {}, activations: {}" + moderate), "23.1 gpt2-130m");
  EXPECT_EQ(quantized("weights: {bits: 4}, activations: {bits: 4}" + moderate), "none")
      << "the paper's have 8 bits";
  EXPECT_EQ(quantized("weights: {bits: 4}, zeropoint: {}"), "24 gpt2-130m");
  for (const std::string method : {"rotation: {}", "smoothing: {}", "gptq: {}", "awq: {clip: false}", "kv_cache: {bits: 4}"}) {
    EXPECT_EQ(quantized("weights: {}, activations: {}, " + method + moderate), "none");
    EXPECT_EQ(quantized("weights: {bits: 4}, zeropoint: {}, " + method), "none");
  }
  EXPECT_EQ(quantized("weights: {format: FP8_E4M3}, activations: {}" + moderate), "none");
  EXPECT_EQ(
      FigureOf("kaul2024/2",
               "model: {llama: {preset: 130m}}\nnorm: RMS_NORM_S\n"
               "data: {text: {corpus: c4, tokenizer: {byte_pair: {vocab_size: 32000}}, "
               "sequence_length: 256}}\n"
               "training: {steps: 320000, batch_size: 512, optimizer: {adam: {}}, schedule: {cosine: {}, "
               "warmup_steps: 2000}}\n",
               "kurtosis_first"),
      "435 llama2-130m, other tokenizer");
}

TEST(PublishedQueryTest, UnitsAreOurs) {
  EXPECT_EQ(FigureOf("bondarenko2023/7", kVit, "accuracy"), "0.8098 vit-s16");
  EXPECT_EQ(FigureOf("bondarenko2023/8",
                     "model.vit.preset: s16\ndata.images.dataset: fashion-mnist\n"
                     "quantization: {weights: {}, activations: {}}\n",
                     "accuracy"),
            "0.7127 vit-s16, other data, training");
  EXPECT_EQ(FigureOf("bondarenko2023/11", kBert, "train_seconds"), "334080 bert-base");
  EXPECT_EQ(FigureOf("kaul2024/4", Gpt2("adam: {}", 1000, "60m"), "tokens_per_second"),
            "1.83501e+06 gpt2-60m");
  EXPECT_EQ(FigureOf("kaul2024/4", Gpt2("adam: {}", 1000, "60m"), "peak_gpu_memory_mib"), "16793.6 gpt2-60m");
  EXPECT_EQ(
      FigureOf("liao2024/6",
               "model.bert.preset: liao-small\n"
               "data.text: {corpus: bookcorpus-wiki, tokenizer: {wordpiece: {}}, sequence_length: 256}\n"
               "training: {steps: 125000, batch_size: 2048, optimizer: {adamw: {learning_rate: 7e-4, "
               "beta2: 0.98}}, schedule: {linear: {}, warmup_steps: 2000}}\n"
               "evaluation.sequence_length: 32\n",
               "accuracy"),
      "0.526 bert-small");
}

TEST(PublishedQueryTest, FineTuningIsKnownByItsInitialModelAndItsData) {
  const std::string tuned =
      "model.opt: {preset: 1.3b, embedding_size: 2048}\ndropout: 0.1\n"
      "data: {text: {corpus: bookcorpus-wiki, tokenizer: {gpt2: {vocab: opt}}, sequence_length: 512}}\n"
      "training: {steps: 4000, batch_size: 16, gradient_accumulation: 16, optimizer: {adamw: {learning_rate: "
      "1e-5, "
      "beta2: 0.95, weight_decay: 0.1}}, schedule: {linear: {}}, start_from: {hugging_face: "
      "/data/models/opt-1.3b}}\n";
  EXPECT_EQ(FigureOf("bondarenko2023/9", tuned, "perplexity"), "29.46 opt-1.3b");
  const std::string penalty = "training.regularizer.ffn_output.weight: 0.01\n";
  EXPECT_EQ(FigureOf("bondarenko2023/9",
                     tuned + "attention.gate: {linear: {pi_init: 0.5}, output_factor: 2}\n" + penalty,
                     "perplexity"),
            "29.18 opt-1.3b")
      << "B.6 has a penalty with the gates";
  EXPECT_EQ(FigureOf("bondarenko2023/9", tuned + penalty, "perplexity"), "none");
  EXPECT_EQ(BertFigure("training.start_from.checkpoint: /data/models/mine.safetensors\n"),
            "4.49 bert-base, other training")
      << "the paper trains from scratch";
  EXPECT_EQ(
      FigureOf("kaul2024/7",
               "model.llama.layers: 32\ndata.text.corpus: c4\n"
               "training: {steps: 1, start_from: {hugging_face: /data/models/Llama-3.1-8B-Instruct/}}\n",
               "kurtosis_all"),
      "69 llama-3.1-8b-instruct");
  const auto glue = [](const std::string& set, const std::string& measurement,
                       const std::string& rate = "2e-5") {
    return FigureOf("liao2024/5",
                    "model.bert.preset: base\ndata.classification: {path: /data/glue/" + set +
                        "}\ntraining: {epochs: 10, batch_size: 32, optimizer: {adamw: {weight_decay: 0.1, "
                        "learning_rate: " +
                        rate +
                        "}}, schedule: {linear: {}, warmup_fraction: 0.06}, start_from: {checkpoint: "
                        "/data/models/a.safetensors}}\n",
                    measurement);
  };
  EXPECT_EQ(glue("MNLI, validation_file: dev_matched.tsv", "accuracy", "1e-5"), "0.831 bert-base");
  EXPECT_EQ(glue("MNLI, validation_file: dev_mismatched.tsv", "accuracy", "1e-5"), "0.833 bert-base");
  EXPECT_EQ(glue("QQP", "f1", "1e-5"), "0.878 bert-base");
  EXPECT_EQ(glue("QQP", "f1", "2e-5"), "0.878 bert-base, other training");
  EXPECT_EQ(glue("CoLA", "matthews_correlation"), "0.616 bert-base");
  EXPECT_EQ(glue("CoLA", "matthews_correlation", "3e-5"), "0.616 bert-base") << "the grid of the small sets";
  EXPECT_EQ(glue("CoLA", "matthews_correlation", "4e-5"), "0.616 bert-base, other training");
  EXPECT_EQ(glue("STS-B", "pearson_correlation"), "0.853 bert-base");
  EXPECT_EQ(glue("STS-B", "spearman_correlation"), "0.85 bert-base");
  EXPECT_EQ(glue("WNLI", "accuracy"), "none");
  EXPECT_EQ(glue("SST-2/", "accuracy", "1e-5"), "0.931 bert-base");
}

TEST(PublishedQueryTest, OurOwnSmallSizesHaveNoFigureOfTheirOwn) {
  const std::string ours = "model.bert.preset: small\ndata.text.corpus: kjv\n";
  EXPECT_EQ(FigureOf("liao2024/1", ours, "perplexity"), "none") << "three sizes come equally close";
  EXPECT_EQ(FigureOf("liao2024/1/bert-base", ours, "perplexity").substr(0, 27),
            "4.71 bert-base, other model");
}

}  // namespace
}  // namespace inlier
