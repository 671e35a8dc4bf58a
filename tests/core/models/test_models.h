// Small models for tests.
#ifndef INLIER_TESTS_CORE_MODELS_TEST_MODELS_H_
#define INLIER_TESTS_CORE_MODELS_TEST_MODELS_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>
#include <string>

#include "core/models/make_model.h"
#include "tests/core/models/softmax_list.h"

namespace inlier {

// A TrialSpec of two layers; `attention` is the text form of AttentionSpec, `model_fields` goes into the
// model's message, as `sizes` do.
inline v1::TrialSpec SmallSpec(const std::string& architecture, const std::string& attention = "",
                               const std::string& model_fields = "", const std::string& trial_fields = "",
                               const std::string& sizes = "hidden_size: 16 heads: 4 ffn_size: 24 ") {
  v1::TrialSpec spec;
  const std::string text = "model { " + architecture + " { layers: 2 vocab_size: 31 max_positions: 12 " +
                           sizes + model_fields + " } } attention { " + attention + " } " + trial_fields;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

// In eval mode, with weights drawn from `seed`.
inline std::shared_ptr<LanguageModel> SmallModel(const v1::TrialSpec& spec, std::uint64_t seed = 1) {
  auto model = MakeLanguageModel(spec).value();
  InitialiseWeights(*model, spec, seed);
  model->eval();
  return model;
}

inline ModelInput SmallInput(std::int64_t batch = 3, std::int64_t tokens = 8) {
  torch::manual_seed(11);
  ModelInput input;
  input.ids = torch::randint(3, 31, {batch, tokens}, at::kLong);
  return input;
}

// The second sequence of `input` ends after six tokens.
inline void PadSecond(ModelInput& input) {
  input.attention_mask = torch::ones_like(input.ids);
  input.attention_mask[1].slice(0, 6).zero_();
}

// About a third of the ids as labels.
inline at::Tensor SomeLabels(const ModelInput& input) {
  torch::manual_seed(12);
  return input.ids.masked_fill(torch::rand(input.ids.sizes()) > 0.35, kIgnoredLabel);
}

inline const char* const kArchitectures[] = {"bert", "opt", "gpt2", "llama"};

// Parts of attention other than softmax and gates of heads, and such a part with others.
inline const char* const kAttentionParts[] = {
    "gate { projected {} }",
    "gate { projected { granularity: HEADWISE } output_factor: 2 }",
    "gate { projected { place: VALUE } }",
    "gate { projected { place: VALUE granularity: HEADWISE } }",
    "gate { projected { place: KEY } output_factor: 2 }",
    "gate { projected { place: KEY granularity: HEADWISE } }",
    "gate { projected { place: QUERY } }",
    "gate { projected { place: QUERY granularity: HEADWISE } }",
    "gate { projected { place: OUTPUT } }",
    "gate { projected { place: OUTPUT granularity: HEADWISE } }",
    "query_key_norm: HEAD_RMS",
    "query_key_norm: HEAD_LAYER",
    "key_value_bias: true",
    "prefix_tokens: 3",
    "query_key_norm: HEAD_RMS key_value_bias: true gate { projected { place: KEY } }"};

inline const char* const kGates[] = {"none {}",
                                     "linear { pi_init: 0.25 }",
                                     "linear {} pooled: true",
                                     "linear {} output_factor: 2",
                                     "mlp { hidden_size: 3 }",
                                     "all_heads_linear {}",
                                     "unconditional {}"};

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_MODELS_TEST_MODELS_H_
