#include "core/models/bert_classifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/models/test_models.h"

namespace inlier {
namespace {

v1::TrialSpec ClassifierSpec(const std::string& model_fields = "initial_std: 0.3") {
  v1::TrialSpec spec = SmallSpec("bert", "", model_fields);
  spec.mutable_data()->mutable_classification();
  return spec;
}

std::shared_ptr<BertClassifier> SmallClassifier(std::int64_t outputs,
                                                const v1::TrialSpec& spec = ClassifierSpec()) {
  const auto model = MakeModel(spec, {.classes = outputs}).value();
  InitialiseWeights(*model, spec, 3);
  model->eval();
  return std::dynamic_pointer_cast<BertClassifier>(model);
}

// Hugging Face's BertForSequenceClassification of bert-base-uncased with two labels.
TEST(BertClassifierTest, BaseHasThePublishedNumberOfParameters) {
  v1::TrialSpec spec;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString("model { bert { layers: 12 hidden_size: 768 heads: 12 "
                                                    "ffn_size: 3072 vocab_size: 30522 max_positions: 512 } } "
                                                    "data { classification {} }",
                                                    &spec));
  EXPECT_EQ(CountParameters(**MakeModel(spec, {.classes = 2})), 109'483'778);
}

TEST(BertClassifierTest, ItReadsTheFirstTokenOnlyAndKnowsTheTokenTypes) {
  const auto model = SmallClassifier(3);
  EXPECT_EQ(model->outputs(), 3);
  ModelInput input = SmallInput();
  const at::Tensor logits = model->Logits(input);
  EXPECT_EQ(logits.sizes(), (std::vector<std::int64_t>{3, 3}));
  // Masked tokens change nothing.
  input.attention_mask = torch::ones_like(input.ids);
  input.attention_mask.slice(1, 6).zero_();
  const at::Tensor masked = model->Logits(input);
  input.ids = input.ids.clone();
  input.ids.slice(1, 6).fill_(7);
  EXPECT_TRUE(torch::allclose(model->Logits(input), masked, 1e-5, 1e-6));
  EXPECT_FALSE(torch::allclose(masked, logits, 1e-3, 1e-3));
  input.token_type_ids = torch::ones_like(input.ids);
  EXPECT_FALSE(torch::allclose(model->Logits(input), masked, 1e-3, 1e-3));
}

TEST(BertClassifierTest, TheLossIsCrossEntropyOfClassesAndSquaredErrorOfNumbers) {
  const ModelInput input = SmallInput();
  const auto classes = SmallClassifier(4);
  const at::Tensor labels = torch::tensor({3L, 0L, 3L});
  const at::Tensor log_p = classes->Logits(input).log_softmax(-1);
  const double plain = -log_p.gather(1, labels.unsqueeze(1)).mean().item<double>();
  EXPECT_NEAR(classes->Loss(input, labels).item<double>(), plain, 1e-5);
  EXPECT_NEAR(classes->Loss(input, labels, nullptr, 0.1).item<double>(),
              0.9 * plain - 0.1 * log_p.mean().item<double>(), 1e-5);

  const auto number = SmallClassifier(1);
  const at::Tensor targets = torch::tensor({0.5F, 2.0F, -1.0F});
  const double squares = (number->Logits(input).squeeze(1) - targets).square().mean().item<double>();
  EXPECT_NEAR(number->Loss(input, targets).item<double>(), squares, 1e-5);
  EXPECT_NEAR(number->Loss(input, targets, nullptr, 0.5).item<double>(), squares, 1e-5);
  try {
    classes->Loss(input, targets);
    FAIL() << "numbers went into four outputs";
  } catch (const c10::Error& error) {
    EXPECT_THAT(std::string(error.what_without_backtrace()),
                ::testing::HasSubstr("numbers are predicted by one output, and this classifier has 4"));
  }
}

TEST(BertClassifierTest, TheBodyStartsAsThatOfTheMaskedModelAndTheHeadAsHuggingFaces) {
  const v1::TrialSpec spec = ClassifierSpec("initial_std: 0.02");
  const auto classifier = SmallClassifier(40, spec);
  v1::TrialSpec masked = spec;
  masked.clear_data();
  const auto language_model = SmallModel(masked, 3);
  const auto ours = classifier->named_parameters(), theirs = language_model->named_parameters();
  int body = 0;
  for (const auto& item : theirs) {
    if (item.key().starts_with("cls.")) continue;
    ++body;
    EXPECT_TRUE(ours.contains(item.key()) && ours[item.key()].equal(item.value())) << item.key();
  }
  EXPECT_EQ(ours.size(), static_cast<std::size_t>(body) + 4);
  EXPECT_EQ(ours["bert.embeddings.word_embeddings.weight"][0].abs().max().item<double>(), 0) << "the pad row";
  EXPECT_EQ(ours["classifier.bias"].abs().max().item<double>(), 0);
  EXPECT_EQ(ours["bert.pooler.dense.bias"].abs().max().item<double>(), 0);
  EXPECT_NEAR(ours["classifier.weight"].std().item<double>(), 0.02, 0.002);
  EXPECT_NEAR(ours["bert.pooler.dense.weight"].std().item<double>(), 0.02, 0.004);
}

// Every call that a quantizer or a measurement would see.
class NamingTap : public ActivationTap {
 public:
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
    calls.push_back("W " + site);
    return weight;
  }
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    calls.push_back("A " + site);
    return activation;
  }
  std::vector<std::string> calls;
};

TEST(BertClassifierTest, TheSitesAreThoseOfTheEncoder) {
  NamingTap classifier, masked;
  SmallClassifier(3)->Logits(SmallInput(), &classifier);
  v1::TrialSpec spec = ClassifierSpec();
  spec.clear_data();
  SmallModel(spec)->Logits(SmallInput(), &masked);
  EXPECT_EQ(classifier.calls, masked.calls);
  EXPECT_GT(classifier.calls.size(), 50u);
}

TEST(BertClassifierTest, DropoutFollowsThePooler) {
  v1::TrialSpec spec = ClassifierSpec();
  spec.set_dropout(0.5);
  const auto model = SmallClassifier(3, spec);
  ModelInput input = SmallInput();
  const at::Tensor evaluated = model->Logits(input);
  EXPECT_TRUE(model->Logits(input).equal(evaluated));
  model->train();
  const at::Tensor first = model->Logits(input);
  EXPECT_FALSE(first.equal(evaluated));
  input.dropout_seed = 1;
  EXPECT_FALSE(model->Logits(input).equal(first));
}

TEST(BertClassifierTest, UnsupportedSettingsAreNamedByTheirPath) {
  EXPECT_EQ(MakeModel(ClassifierSpec()).status().message(),
            "data.classification: the number of classes is not known");
  v1::TrialSpec spec = SmallSpec("opt");
  spec.mutable_data()->mutable_classification();
  EXPECT_EQ(MakeModel(spec, {.classes = 2}).status().message(),
            "data.classification: needs model.bert, whose [CLS] token it classifies");
}

}  // namespace
}  // namespace inlier
