#include "spec/trial/resolver.h"

#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "spec/trial/presets.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using google::protobuf::util::MessageDifferencer;

v1::TrialSpec Resolved(const std::string& yaml) {
  const absl::StatusOr<v1::TrialSpec> spec = Resolve(TrialFrom(yaml));
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : v1::TrialSpec();
}

TEST(ResolverTest, PresetTokenizerAndLengthFillTheSizes) {
  const v1::BertSpec bert =
      Resolved("{model: {bert: {preset: tiny, heads: 8}}, data: {text: {corpus: kjv, sequence_length: 64}}}")
          .model()
          .bert();
  EXPECT_EQ(bert.ShortDebugString(),
            "preset: \"tiny\" layers: 4 hidden_size: 128 heads: 8 ffn_size: 512 vocab_size: 2000 "
            "max_positions: 64");
  const v1::OptSpec opt =
      Resolved("{model: {opt: {preset: 350m}}, data: {text: {corpus: kjv}}}").model().opt();
  EXPECT_EQ(opt.ShortDebugString(),
            "preset: \"350m\" layers: 24 hidden_size: 1024 heads: 16 ffn_size: 4096 vocab_size: 50272 "
            "max_positions: 1024 embedding_size: 768");
  EXPECT_EQ(Resolved(kTinyOpt).model().opt().embedding_size(), 128u)
      << "no projections: as wide as the model";
}

TEST(ResolverTest, DrawnTokensAndTheirLengthFillTheSizes) {
  const v1::Gpt2Spec gpt2 =
      Resolved("{model: {gpt2: {preset: tiny}}, data: {backcopy: {vocab_size: 40, sequence_length: 48}}}")
          .model()
          .gpt2();
  EXPECT_EQ(gpt2.vocab_size(), 40u);
  EXPECT_EQ(gpt2.max_positions(), 48u);
}

TEST(ResolverTest, PublishedVocabulariesHaveSizesOfTheirOwn) {
  const auto bert = [](const std::string& tokenizer) {
    return Resolved("{model: {bert: {preset: tiny}}, data: {text: {corpus: kjv, tokenizer: {" + tokenizer +
                    "}}}}")
        .model()
        .bert();
  };
  EXPECT_EQ(bert("wordpiece: {}").vocab_size(), 30522u);
  EXPECT_EQ(bert("wordpiece: {vocab: bert-base-uncased}").vocab_size(), 30522u);
  EXPECT_FALSE(bert("wordpiece: {vocab: /v/vocab.txt}").has_vocab_size());
  const v1::TrialSpec opt =
      Resolved("{model: {opt: {preset: tiny}}, data: {text: {corpus: kjv, tokenizer: {gpt2: {}}}}}");
  EXPECT_EQ(opt.model().opt().vocab_size(), 50257u);
  EXPECT_EQ(opt.data().text().tokenizer().gpt2().vocab(), "gpt2");
}

TEST(ResolverTest, TheEvaluationsLengthDoesNotSizeTheModel) {
  const v1::TrialSpec spec = Resolved(
      "{model: {bert: {preset: tiny}}, data: {text: {corpus: kjv, sequence_length: 64}}, evaluation: "
      "{sequence_length: 32}}");
  EXPECT_EQ(spec.model().bert().max_positions(), 64u);
  EXPECT_EQ(spec.evaluation().sequence_length(), 32u);
  EXPECT_FALSE(Resolved(kTinyBert).evaluation().has_sequence_length());
}

TEST(ResolverTest, TheObjectiveFollowsTheArchitecture) {
  EXPECT_EQ(Resolved(kTinyBert).data().text().objective(), v1::MLM);
  EXPECT_EQ(Resolved(kTinyOpt).data().text().objective(), v1::CLM);
}

TEST(ResolverTest, ChoicesGetTheirDefaultMember) {
  const v1::TrialSpec spec = Resolved(kTinyBert);
  EXPECT_TRUE(spec.attention().softmax().has_vanilla());
  EXPECT_TRUE(spec.attention().gate().has_none());
  EXPECT_TRUE(spec.training().optimizer().has_adamw());
  EXPECT_TRUE(spec.training().schedule().has_linear());
  EXPECT_TRUE(spec.data().text().tokenizer().has_byte_pair());
  EXPECT_TRUE(spec.has_evaluation());
  EXPECT_FALSE(spec.has_quantization()) << "absent: float evaluation only";
}

TEST(ResolverTest, QuantizationStaysAsSmallAsItWasSaid) {
  const v1::QuantizationSpec weights = Resolved("{quantization: {weights: {bits: 4}}}").quantization();
  EXPECT_TRUE(weights.weights().range().has_minmax());
  EXPECT_TRUE(weights.has_reference());
  EXPECT_FALSE(weights.has_activations());
  EXPECT_FALSE(weights.has_calibration()) << "nothing is calibrated for weights";
  const v1::QuantizationSpec activations = Resolved("{quantization: {activations: {}}}").quantization();
  EXPECT_FALSE(activations.has_weights());
  EXPECT_TRUE(activations.activations().range().has_running_minmax());
  EXPECT_TRUE(activations.has_calibration());
  const auto is_calibrated = [](const std::string& scheme) {
    return Resolved("{quantization: {weights: {}, activations: {}, " + scheme + "}}")
        .quantization()
        .has_calibration();
  };
  EXPECT_FALSE(is_calibrated("absmax: {granularity: MODERATE}")) << "every batch gives its own scales";
  EXPECT_TRUE(is_calibrated("absmax: {granularity: MODERATE, calibrated: true}"));
  EXPECT_FALSE(is_calibrated("zeropoint: {}"));
}

TEST(ResolverTest, QuantizedTrialsMeasureNormsUnlessAsked) {
  const auto measure = [](const std::string& more) { return Resolved(more).evaluation().measure(); };
  EXPECT_EQ(measure("{}"), v1::EvaluationSpec::ALL);
  EXPECT_EQ(measure("{quantization: {weights: {}}}"), v1::EvaluationSpec::NORMS);
  EXPECT_EQ(measure("{quantization: {weights: {}}, evaluation: {measure: SCORES}}"),
            v1::EvaluationSpec::SCORES);
  EXPECT_EQ(measure("{quantization: {weights: {}}, evaluation: {sensitivity_batches: 1}}"),
            v1::EvaluationSpec::ALL);
}

TEST(ResolverTest, AnEmptyQuantizationIsRefused) {
  const absl::Status status = Resolve(TrialFrom("{quantization: {}}")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "quantization: has nothing to quantize; give weights, activations or kv_cache, for example {weights: "
      "{bits: 8}, activations: {bits: 8}}");
}

TEST(ResolverTest, UnknownPresetsNameTheKnownOnes) {
  EXPECT_EQ(Resolve(TrialFrom("{model: {bert: {preset: 125m}}}")).status().message(),
            "model.bert.preset: \"125m\" is not a preset of bert; known: tiny, small, liao-small, 6-layer, "
            "base, large");
  EXPECT_EQ(Resolve(TrialFrom("{model: {opt: {preset: 1.3B}}}")).status().message(),
            "model.opt.preset: \"1.3B\" is not a preset of opt; did you mean \"1.3b\"?");
}

TEST(ResolverTest, ResolvingTwiceChangesNothing) {
  for (const Preset& preset : Presets()) {
    for (const char* more : {"{}",
                             "{attention: {softmax: {clipped: {alpha: 2}}}, quantization: {weights: {}, "
                             "activations: {bits: 4}}}",
                             "{model: {opt: {embedding_size: 1024}}}"}) {
      v1::TrialSpec spec = TrialFrom(more);
      const std::string base = "{model: {" + std::string(preset.architecture) +
                               ": {preset: " + std::string(preset.name) +
                               "}}, data: {text: {corpus: kjv}}, training: {steps: 9}}";
      spec.MergeFrom(TrialFrom(base));
      const v1::TrialSpec once = Resolve(spec).value();
      const v1::TrialSpec twice = Resolve(once).value();
      EXPECT_TRUE(MessageDifferencer::Equals(once, twice)) << base << more;
    }
  }
}

TEST(ResolverTest, EveryPresetOfALanguageModelMakesATrialThatCanRun) {
  for (const Preset& preset : Presets()) {
    if (preset.architecture == "vit") continue;
    const absl::StatusOr<v1::TrialSpec> spec = ResolveAndValidate(
        TrialFrom("{model: {" + std::string(preset.architecture) + ": {preset: " + std::string(preset.name) +
                  "}}, data: {text: {corpus: kjv}}, training: {steps: 9}}"));
    EXPECT_TRUE(spec.ok()) << preset.name << ": " << spec.status();
  }
}

}  // namespace
}  // namespace inlier
