#include "spec/trial/canonical.h"

#include <limits>
#include <set>

#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "spec/trial/resolver.h"
#include "spec/trial/validator.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

v1::TrialSpec Ready(const std::string& base, const std::string& more = "{}") {
  v1::TrialSpec spec = TrialFrom(base);
  spec.MergeFrom(TrialFrom(more));
  const absl::StatusOr<v1::TrialSpec> resolved = ResolveAndValidate(spec);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? *resolved : v1::TrialSpec();
}

TEST(CanonicalTest, SaysOnlyWhatDiffersFromTheDeclarations) {
  EXPECT_EQ(
      CanonicalJson(Ready(kTinyBert)),
      R"({"model":{"bert":{"layers":4,"hidden_size":128,"heads":4,"ffn_size":512,"vocab_size":2000,"max_positions":128}},)"
      R"("data":{"text":{"corpus":"kjv","objective":"MLM","validation":"HASH"}},"training":{"steps":2000}})");
  EXPECT_EQ(
      CanonicalJson(Ready(kTinyOpt,
                          "{attention: {softmax: {clipped: {gamma: -0.0}}, gate: {linear: {}}}, "
                          "quantization: {weights: {}, activations: {bits: 6}}, seed: 1}")),
      R"({"model":{"opt":{"layers":4,"hidden_size":128,"heads":4,"ffn_size":512,"vocab_size":2000,"max_positions":128,"embedding_size":128}},)"
      R"("attention":{"softmax":{"clipped":{"gamma":0}},"gate":{"linear":{}}},"data":{"text":{"corpus":"kjv","objective":"CLM","validation":"HASH"}},"training":{"steps":2000},)"
      R"("quantization":{"weights":{},"activations":{"bits":6},"calibration":{}},"evaluation":{"measure":"NORMS"}})");
}

TEST(CanonicalTest, DefaultsWrittenOutChangeNothing) {
  const v1::TrialSpec plain = Ready(kTinyBert);
  const v1::TrialSpec written = Ready(
      kTinyBert,
      "{revision: 1, seed: 1, norm: LAYER_NORM, dropout: -0.0, attention: {softmax: {vanilla: {}}, gate: "
      "{none: {}, output_factor: 1}}, "
      "training: {optimizer: {adamw: {learning_rate: 0.001}}, schedule: {linear: {final_fraction: 0}}}, "
      "model: {bert: {layers: 4, activation: GELU_ERF}}, evaluation: {batch_size: 32}}");
  EXPECT_EQ(CanonicalJson(plain), CanonicalJson(written));
  EXPECT_EQ(TrainFingerprint(plain), TrainFingerprint(written));
  EXPECT_EQ(EvaluateFingerprint(plain), EvaluateFingerprint(written));
}

TEST(CanonicalTest, AMemberThatIsNotTheDefaultShowsEvenWhenEmpty) {
  EXPECT_NE(TrainFingerprint(Ready(kTinyBert)),
            TrainFingerprint(Ready(kTinyBert, "{attention: {gate: {linear: {}}}}")));
  EXPECT_NE(TrainFingerprint(Ready(kTinyBert)),
            TrainFingerprint(Ready(kTinyBert, "{training: {schedule: {constant: {}}}}")));
}

TEST(CanonicalTest, OnlyWhatDecidesTheTrainingIsInItsFingerprint) {
  const v1::TrialSpec base = Ready(kTinyBert);
  for (const char* same :
       {"{quantization: {weights: {bits: 4}}}", "{evaluation: {mask_seed: 9}}",
        "{evaluation: {sequence_length: 64}}", "{data: {text: {tokenizer: {byte_pair: {vocab_size: 2000}}}}}",
        "{training: {checkpoint_every: 5, measure_every: 7}}", "{model: {bert: {preset: tiny}}}"}) {
    EXPECT_EQ(TrainFingerprint(base), TrainFingerprint(Ready(kTinyBert, same))) << same;
  }
  for (const char* other :
       {"{seed: 2}", "{training: {steps: 2001}}", "{data: {text: {validation_fraction: 0.1}}}",
        "{dropout: 0.1}", "{model: {bert: {initialisation: LIBRARY}}}", "{attention: {dropout: 0.1}}",
        "{data: {text: {corpus: gcide}}}", "{training: {precision: BFLOAT16}}"}) {
    EXPECT_NE(TrainFingerprint(base), TrainFingerprint(Ready(kTinyBert, other))) << other;
    EXPECT_NE(EvaluateFingerprint(base), EvaluateFingerprint(Ready(kTinyBert, other)))
        << other << ": another checkpoint";
  }
}

TEST(CanonicalTest, TheEvaluateFingerprintAddsQuantizationAndEvaluation) {
  const v1::TrialSpec base = Ready(kTinyBert);
  EXPECT_NE(EvaluateFingerprint(base), TrainFingerprint(base));
  std::set<std::string> seen = {EvaluateFingerprint(base)};
  for (const char* other :
       {"{quantization: {weights: {}}}", "{quantization: {activations: {}}}",
        "{quantization: {weights: {}, activations: {}}}", "{quantization: {weights: {bits: 4}}}",
        "{quantization: {activations: {}, calibration: {seed: 2}}}", "{evaluation: {batches: 3}}",
        "{evaluation: {sequence_length: 64}}", "{evaluation: {sequence_length: 32}}"}) {
    EXPECT_TRUE(seen.insert(EvaluateFingerprint(Ready(kTinyBert, other))).second) << other;
  }
  EXPECT_EQ(EvaluateFingerprint(Ready(kTinyBert, "{evaluation: {sequence_length: 128}}")),
            EvaluateFingerprint(base))
      << "the training's length, written out";
}

TEST(CanonicalTest, TokenizersAndFieldsAreOfTheTraining) {
  std::set<std::string> seen = {TrainFingerprint(Ready(kTinyBert))};
  for (const char* other :
       {"{data: {text: {tokenizer: {wordpiece: {}}}}}", "{data: {text: {path: /a.txt}}}",
        "{data: {text: {path: /a.jsonl}}}", "{data: {text: {path: /a.jsonl, field: body}}}",
        "{model: {bert: {vocab_size: 40000}}, data: {text: {tokenizer: {wordpiece: {vocab: "
        "/v/vocab.txt}}}}}"}) {
    EXPECT_TRUE(seen.insert(TrainFingerprint(Ready(kTinyBert, other))).second) << other;
  }
  EXPECT_EQ(TrainFingerprint(
                Ready(kTinyBert, "{data: {text: {tokenizer: {wordpiece: {vocab: bert-base-uncased}}}}}")),
            TrainFingerprint(Ready(kTinyBert, "{data: {text: {tokenizer: {wordpiece: {}}}}}")));
}

TEST(CanonicalTest, FingerprintsAreFrozen) {
  // A change here means that no trial ever run is recognised again: raise TrialSpec.revision if results
  // changed, else mend the canonical form.
  constexpr char kLast[] = "{data: {text: {validation: LAST}}}";
  EXPECT_EQ(TrainFingerprint(Ready(kTinyBert, kLast)),
            "f7ff21a69825098509aec585f3a1a5712df8574e3c8875f182cc7b660a03527b");
  const std::string quantized =
      "{quantization: {weights: {bits: 4}, activations: {}}, attention: {softmax: {clipped: {alpha: 2}}}, "
      "data: "
      "{text: {validation: LAST}}";
  EXPECT_EQ(EvaluateFingerprint(Ready(kTinyOpt, (quantized + ", evaluation: {measure: ALL}}").c_str())),
            "130d05d266ebcaea91bc182ca397ec600eb85ee01c412b784248c6d18209a486")
      << "as before there was evaluation.measure";
  EXPECT_EQ(EvaluateFingerprint(Ready(kTinyOpt, (quantized + "}").c_str())), "518f73264ccbd7920f00673100c8a0ed7da414d8c5b6997f11819f86252e7bdd");
}

// The last texts were the validation part before data.text.validation was a field.
TEST(CanonicalTest, ADefaultThatChangedIsAnotherTrialAndTheFormerValueIsTheOldOne) {
  const auto last = Ready(kTinyBert, "{data: {text: {validation: LAST}}}");
  EXPECT_EQ(CanonicalJson(last).find("validation"), std::string::npos);
  EXPECT_NE(TrainFingerprint(last), TrainFingerprint(Ready(kTinyBert)));
  EXPECT_EQ(TrainFingerprint(Ready(kTinyBert, "{data: {text: {validation: HASH}}}")),
            TrainFingerprint(Ready(kTinyBert)));

  // An older entry of a store has no such field: it keeps its meaning and its fingerprint.
  const auto without = [](std::string json, const std::string& text) {
    const std::size_t at = json.find(text);
    EXPECT_NE(at, std::string::npos) << json;
    return at == std::string::npos ? json : json.erase(at, text.size());
  };
  const auto old =
      TrialSpecFromJson(without(ResolvedJson(last), R"(,"validation":"LAST","begin_every_sequence":false)"));
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_EQ(old->data().text().validation(), v1::LAST);
  EXPECT_EQ(TrainFingerprint(*ResolveAndValidate(*old)), TrainFingerprint(last));
  const v1::TrialSpec quantized =
      Ready(kTinyBert, "{quantization: {weights: {}}, evaluation: {measure: ALL}}");
  EXPECT_EQ(
      TrialSpecFromJson(without(ResolvedJson(quantized), R"(,"measure":"ALL")"))->evaluation().measure(),
      v1::EvaluationSpec::ALL);

  constexpr char kInstructions[] =
      "{model: {gpt2: {preset: tiny}}, training: {steps: 1}, data: {instructions: {path: /a.jsonl, "
      "validation: "
      "LAST, tokenizer: {byte_pair: {corpus: kjv, corpus_validation: LAST}}}}}";
  const auto pairs = Ready(kInstructions);
  const auto old_pairs = TrialSpecFromJson(
      without(without(ResolvedJson(pairs), R"(,"validation":"LAST")"), R"(,"corpus_validation":"LAST")"));
  ASSERT_TRUE(old_pairs.ok()) << old_pairs.status();
  EXPECT_EQ(TrainFingerprint(*ResolveAndValidate(*old_pairs)), TrainFingerprint(pairs));
}

// A vocabulary trained on a corpus leaves out what data.text keeps for validation.
TEST(CanonicalTest, TheVocabularyOfACorpusHasTheSplitOfItsPreTraining) {
  const auto with = [](const std::string& byte_pair) {
    return Ready(kTinyBert, "{data: {text: {tokenizer: {byte_pair: {" + byte_pair + "}}}}}");
  };
  EXPECT_FALSE(with("vocab_size: 900").data().text().tokenizer().byte_pair().has_corpus_validation());
  EXPECT_EQ(with("corpus: kjv").data().text().tokenizer().byte_pair().corpus_validation(), v1::HASH);
  EXPECT_NE(TrainFingerprint(with("corpus: kjv")),
            TrainFingerprint(with("corpus: kjv, corpus_validation: LAST")));
}

TEST(CanonicalTest, ResolvedJsonSaysEverything) {
  const std::string json =
      ResolvedJson(Ready(kTinyBert, "{attention: {softmax: {clipped: {gamma: -0.03}}}}"));
  EXPECT_EQ(
      json,
      R"({"revision":1,"seed":1,"model":{"bert":{"preset":"tiny","layers":4,"hidden_size":128,"heads":4,"ffn_size":512,"vocab_size":2000,"max_positions":128,)"
      R"("norm_epsilon":1e-12,"activation":"GELU_ERF","norm_placement":"POST","initialisation":"REFERENCE","initial_std":0.02,"position":"LEARNED","rotary_theta":10000}},)"
      R"("attention":{"softmax":{"clipped":{"gamma":-0.03,"zeta":1}},"gate":{"none":{},"pooled":false,"output_factor":1},"dropout":0,"query_key_norm":"NO_NORM","key_value_bias":false,"prefix_tokens":0,"document_mask":false},"norm":"LAYER_NORM","dropout":0,)"
      R"("data":{"text":{"corpus":"kjv","tokenizer":{"byte_pair":{"vocab_size":2000,"field":"text"}},"sequence_length":128,"objective":"MLM","mask_probability":0.15,"validation_fraction":0.02,"field":"text","validation":"HASH","begin_every_sequence":false}},)"
      R"("training":{"steps":2000,"batch_size":32,"gradient_accumulation":1,"precision":"FLOAT32","gradient_clip_norm":1,)"
      R"("optimizer":{"adamw":{"learning_rate":0.001,"beta1":0.9,"beta2":0.999,"epsilon":1e-8,"weight_decay":0.01,"decay_norm_gamma":false}},)"
      R"("schedule":{"linear":{"final_fraction":0},"warmup_steps":0},"checkpoint_every":1000,"measure_every":10,"label_smoothing":0,"measure_outliers_every":100,"engine":"FUSED","measure_quantized_every":0,"checkpoint":"LAST","best_by":"loss"},)"
      R"("evaluation":{"batch_size":32,"mask_seed":1,"kurtosis_batches":257,"outliers":{"count_padding":false,"sink_threshold":0.3},"measure":"ALL"},"dyt_alpha":0.5,"norm_gate":0,"embedding_projection":false,"residual_gain":1})");
}

TEST(CanonicalTest, ResolvedJsonReadsBackAsTheSameTrial) {
  for (const char* more : {"{}", "{quantization: {weights: {bits: 4}, activations: {}}}",
                           "{attention: {softmax: {clipped: {alpha: 0.1}}, gate: {unconditional: {}}}}"}) {
    const v1::TrialSpec spec = Ready(kTinyOpt, more);
    const v1::TrialSpec back = TrialSpecFromJson(ResolvedJson(spec)).value();
    EXPECT_TRUE(Validate(back).ok()) << Validate(back);
    EXPECT_EQ(TrainFingerprint(back), TrainFingerprint(spec));
    EXPECT_EQ(EvaluateFingerprint(back), EvaluateFingerprint(spec));
    EXPECT_EQ(ResolvedJson(back), ResolvedJson(spec));
  }
  EXPECT_EQ(TrialSpecFromJson("{\"sed\": 1}").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CanonicalTest, PartsOfTheStagesAreTheWhole) {
  for (const char* more : {"{}", "{quantization: {weights: {bits: 4}, activations: {}}}",
                           "{evaluation: {batches: 3, sequence_length: 64}}",
                           "{norm: DYT, dyt_alpha: 0.25, norm_gate: 2, evaluation: {batches: 3}}"}) {
    const v1::TrialSpec spec = Ready(kTinyOpt, more);
    const PackedParts parts = SplitPacked(spec);
    v1::TrialSpec joined;
    ASSERT_TRUE(joined.ParseFromString(parts.train + parts.evaluate));
    EXPECT_EQ(joined.SerializeAsString(), spec.SerializeAsString());
    v1::TrialSpec train, evaluate;
    ASSERT_TRUE(train.ParseFromString(parts.train));
    ASSERT_TRUE(evaluate.ParseFromString(parts.evaluate));
    EXPECT_FALSE(train.has_quantization() || train.has_evaluation());
    EXPECT_FALSE(evaluate.has_model() || evaluate.has_seed());
    // A training runs its part alone.
    const v1::TrialSpec alone = ResolveAndValidate(train).value();
    EXPECT_EQ(TrainFingerprint(alone), TrainFingerprint(spec));
    EXPECT_EQ(SplitPacked(alone).train, parts.train);

    const std::string train_json = ResolvedPartJson(spec, v1::TRAIN_STAGE);
    const std::string evaluate_json = ResolvedPartJson(spec, v1::EVALUATE_STAGE);
    // Fields of the training may come behind those of the evaluation.
    auto together = nlohmann::json::parse(train_json);
    together.update(nlohmann::json::parse(evaluate_json));
    EXPECT_EQ(together, nlohmann::json::parse(ResolvedJson(spec)));
    v1::TrialSpec whole = *TrialSpecFromJson(train_json);
    whole.MergeFrom(*TrialSpecFromJson(evaluate_json));
    EXPECT_EQ(EvaluateFingerprint(whole), EvaluateFingerprint(spec));
  }
}

TEST(CanonicalTest, StringsAreSafeJson) {
  EXPECT_EQ(JsonString("a\"b\\c\nd\x01"), R"("a\"b\\c\u000ad\u0001")");
  EXPECT_EQ(JsonString("größe"), "\"größe\"");
  EXPECT_EQ(JsonString("\xff!"), "\"\xef\xbf\xbd!\"");
}

TEST(CanonicalTest, WhatIsNotFiniteIsStillJson) {
  v1::TrialSpec spec;
  spec.set_dropout(std::numeric_limits<double>::infinity());
  EXPECT_EQ(CanonicalJson(spec), R"({"dropout":"Infinity"})");
}

}  // namespace
}  // namespace inlier
