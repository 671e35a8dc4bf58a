// inlier-trial numbers: magnitudes by dimension and token, attention of a head, of every architecture that reads text.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/core/trial/trial_program.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using Rows = std::vector<std::vector<double>>;

class ModelNumbersTest : public TrialProgramTest {
 protected:
  void Train(const std::string& changes) {
    const Ended trained = RunToEnd(Attempt(v1::TRAIN_STAGE, "train", changes + "training { steps: 3 }"));
    ASSERT_EQ(trained.outcome.kind(), v1::Outcome::SUCCEEDED) << trained.outcome.message();
  }
};

double Largest(const std::vector<double>& row) { return *std::max_element(row.begin(), row.end()); }

TEST_F(ModelNumbersTest, MagnitudesAreThoseThatTheEvaluationMeasures) {
  const std::string evaluation = "evaluation { batches: 1 batch_size: 32 } ";
  Train(evaluation);
  v1::AttemptSpec attempt = Attempt(v1::EVALUATE_STAGE, "evaluate", evaluation + "training { steps: 3 }");
  attempt.set_checkpoint(folder_ / "train" / "model.safetensors");
  std::map<std::string, double> largest;  // By layer.
  for (const v1::TrialEvent& event : RunToEnd(attempt).events) {
    const v1::MeasurementPoint& point = event.measurement();
    if (point.name() == "layer_max_abs_first" || point.name() == "layer_max_abs_rest")
      largest[point.site()] = std::max(largest[point.site()], point.value());
  }
  ASSERT_EQ(largest.size(), 2u);
  const nlohmann::json by_dimension = Numbers("train", {"dimensions"});
  EXPECT_EQ(by_dimension["of"], "over 32 validation examples");
  const Rows rows = by_dimension["values"].get<Rows>();
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_EQ(rows[0].size(), 32u);
  EXPECT_NEAR(Largest(rows[0]), largest.begin()->second, 1e-6);
  EXPECT_NEAR(Largest(rows[1]), largest.rbegin()->second, 1e-6);

  const nlohmann::json by_token = Numbers("train", {"tokens"});
  EXPECT_EQ(by_token["of"], "the first validation example");
  ASSERT_EQ(by_token["values"][0].size(), 16u);
  ASSERT_EQ(by_token["columns"]["texts"].size(), 16u);
  EXPECT_NE(by_token["columns"]["texts"][1], by_token["columns"]["texts"][2]);
  EXPECT_LE(Largest(by_token["values"][0].get<std::vector<double>>()), Largest(rows[0]) + 1e-6);
  EXPECT_GT(Largest(by_token["values"][0].get<std::vector<double>>()), 0);
}

TEST_F(ModelNumbersTest, AttentionOfAHeadSumsToOneAndSeesWhatTheModelSees) {
  const std::pair<const char*, bool> models[] = {
      {"model { bert { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } ", false},
      {"model { opt { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } ", true},
      {"model { gpt2 { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } ", true},
      {"model { llama { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } ", true}};
  for (const auto& [model, causal] : models) {
    Train(model);
    const nlohmann::json found = Numbers("train", {"attention", "1", "1"});
    const Rows rows = found["values"].get<Rows>();
    ASSERT_EQ(rows.size(), 16u) << model;
    for (std::size_t query = 0; query < rows.size(); ++query) {
      double sum = 0;
      for (const double weight : rows[query]) sum += weight;
      EXPECT_NEAR(sum, 1, 1e-5) << model << query;
      EXPECT_EQ(rows[query].size(), 16u);
      if (causal && query + 1 < 16) {
        EXPECT_EQ(rows[query][query + 1], 0) << model << query;
      }
    }
    EXPECT_EQ(Numbers("train", {"tokens"})["values"].size(), 2u) << model;
  }
}

// Numbers with the same meaning by two ways.
TEST_F(ModelNumbersTest, HeadsMeansValuesContextsAndGates) {
  Train(
      "model { bert { layers: 2 hidden_size: 48 heads: 3 ffn_size: 64 } } attention { gate { linear {} } } ");
  const nlohmann::json heads = Numbers("train", {"heads", "1", "0"});
  EXPECT_EQ(heads["tiles"], (nlohmann::json{{"count", 3}, {"columns", 2}, {"size", 16}}));
  const nlohmann::json mosaic = heads["values"];
  ASSERT_EQ(mosaic.size(), 33u);
  for (int head = 0; head < 3; ++head) {
    const nlohmann::json one = Numbers("train", {"attention", "1", std::to_string(head)})["values"];
    EXPECT_EQ(mosaic[head / 2 * 17 + 3][head % 2 * 17 + 5], one[3][5]) << head;
    EXPECT_EQ(mosaic[head / 2 * 17 + 15][head % 2 * 17], one[15][0]) << head;
  }
  EXPECT_TRUE(mosaic[16][0].is_null()) << "a line between";
  EXPECT_TRUE(mosaic[20][20].is_null()) << "no fourth head";

  const Rows mean = Numbers("train", {"mean_attention"})["values"].get<Rows>();
  for (const std::vector<double>& row : mean)
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-5);
  const nlohmann::json hidden = Numbers("train", {"mean_hidden"});
  EXPECT_EQ(hidden["of"], "over 32 validation examples and layers");
  const Rows largest = Numbers("train", {"dimensions"})["values"].get<Rows>();
  const Rows by_position = hidden["values"].get<Rows>();
  ASSERT_EQ(by_position.size(), 16u);
  ASSERT_EQ(by_position[0].size(), 48u);
  for (std::size_t j = 0; j < 48; ++j)
    EXPECT_LE(by_position[3][j], std::max(largest[0][j], largest[1][j]) + 1e-6);

  // context = gate * probabilities * values.
  const Rows p = Numbers("train", {"attention", "0", "2"})["values"].get<Rows>();
  const Rows values = Numbers("train", {"values", "0", "2"})["values"].get<Rows>();
  const Rows contexts = Numbers("train", {"contexts", "0", "2"})["values"].get<Rows>();
  const Rows gates = Numbers("train", {"gates", "0", "0"})["values"].get<Rows>();
  ASSERT_EQ(values.size(), 16u);
  ASSERT_EQ(values[0].size(), 16u);
  ASSERT_EQ(gates.size(), 3u);
  for (const std::size_t token : {0, 7}) {
    for (const std::size_t c : {0, 9}) {
      double sum = 0;
      for (std::size_t key = 0; key < 16; ++key) sum += p[token][key] * values[key][c];
      EXPECT_NEAR(contexts[token][c], gates[2][token] * sum, 1e-5);
    }
  }
}

double NormOf(const nlohmann::json& row) {
  double squares = 0;
  for (const double x : row.get<std::vector<double>>()) squares += x * x;
  return std::sqrt(squares);
}

TEST_F(ModelNumbersTest, NormsOfValuesAndOfWeightsSecondMomentsAndBases) {
  Train("model { gpt2 { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } } ");
  const nlohmann::json norms = Numbers("train", {"value_norms", "1", "0"}),
                       values = Numbers("train", {"values", "1", "1"});
  ASSERT_EQ(norms["values"].size(), 2u);
  EXPECT_NEAR(norms["values"][1][5].get<double>(), NormOf(values["values"][5]), 1e-6);
  EXPECT_EQ(norms["columns"]["texts"], values["rows"]["texts"]);

  const nlohmann::json of_weights = Numbers("train", {"weight_norms"}),
                       moments = Numbers("train", {"second_moments"});
  ASSERT_EQ(of_weights["values"].size(), 2u);
  ASSERT_EQ(of_weights["values"][1].size(), 32u);
  EXPECT_GT(of_weights["values"][1][7].get<double>(), 0);
  ASSERT_EQ(moments["values"][0].size(), 32u);
  double sum = 0;
  for (const auto& value : moments["values"][0]) sum += value.get<double>();
  EXPECT_NEAR(sum, 32, 1e-6) << "over the mean";
  EXPECT_THAT(moments["of"].get<std::string>(), HasSubstr("r with the weights' norms "));
  const std::string model = folder_ / "train" / "model.safetensors";
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "bases"})->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("kind: BASES: the optimizer of this training turned no gradient"));
}

// Shares of a layer are those of its outliers; those of all tokens are of the same texts.
TEST_F(ModelNumbersTest, OutliersAreSharedOutByTheTextOfTheirToken) {
  // Products of three numbers have heavy tails.
  Train("model { llama { layers: 2 hidden_size: 32 heads: 2 ffn_size: 1 } } ");
  const nlohmann::json found = Numbers("train", {"outlier_tokens"}),
                       counts = Numbers("train", {"outlier_positions"});
  EXPECT_EQ(found["of"], counts["of"]);
  ASSERT_EQ(found["values"].size(), 3u);
  EXPECT_EQ(found["rows"]["texts"][2], "all tokens");
  ASSERT_LE(found["columns"]["texts"].size(), 24u);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto shares = found["values"][layer];
    double sum = 0;
    for (const auto& share : shares) sum += share.is_null() ? 0 : share.get<double>();
    EXPECT_GT(sum, 0);
    EXPECT_LE(sum, 1 + 1e-9);
  }
}

// Sums over positions and over dimensions are of the same elements, and their number is what an evaluation measures.
TEST_F(ModelNumbersTest, OutliersAreCountedByDimensionAndByPosition) {
  const std::string evaluation = "evaluation { batches: 8 batch_size: 32 } ";
  Train(evaluation);
  v1::AttemptSpec attempt = Attempt(v1::EVALUATE_STAGE, "evaluate", evaluation + "training { steps: 3 }");
  attempt.set_checkpoint(folder_ / "train" / "model.safetensors");
  std::vector<double> measured;  // By layer.
  for (const v1::TrialEvent& event : RunToEnd(attempt).events) {
    if (event.measurement().name() == "ffn_six_sigma_count") measured.push_back(event.measurement().value());
  }
  ASSERT_EQ(measured.size(), 2u);
  const nlohmann::json by_dimension = Numbers("train", {"outlier_dimensions"});
  const nlohmann::json by_position = Numbers("train", {"outlier_positions"});
  const double examples = std::stod(by_dimension["of"].get<std::string>().substr(std::strlen("over ")));
  EXPECT_EQ(by_position["of"], by_dimension["of"]);
  EXPECT_EQ(by_position["value"], "elements beyond 6 standard deviations");
  EXPECT_EQ(by_position["columns"]["name"], "position");
  EXPECT_EQ(by_dimension["columns"]["title"], "hidden dimension");
  EXPECT_GE(examples, 32);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto dimensions = by_dimension["values"][layer].get<std::vector<double>>();
    const auto positions = by_position["values"][layer].get<std::vector<double>>();
    EXPECT_EQ(dimensions.size(), 32u);
    EXPECT_EQ(positions.size(), 16u);
    const double total = std::accumulate(dimensions.begin(), dimensions.end(), 0.0);
    EXPECT_EQ(total, std::accumulate(positions.begin(), positions.end(), 0.0));
    EXPECT_NEAR(total / examples, measured[layer], 1e-9);
  }
}

TEST_F(ModelNumbersTest, WhatIsNotThereIsNamed) {
  Train("");
  const std::string model = folder_ / "train" / "model.safetensors";
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "gates", "0", "0"})->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("kind: GATES: the model has no gates"));
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "patches"})->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("kind: PATCHES needs a model of images, this one reads text"));
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "outlier_tokens"})->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("deviations over 256 validation examples, so that no token has a share"));
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "attention", "2", "0"})->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("layer: got 2; the model has layers 0 to 1"));
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "attention", "0", "7"})->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr("head: got 7; the model has heads 0 to 1"));
  EXPECT_EQ(StartWith({"numbers", folder_ / "none", folder_, folder_ / "cache", "tokens"})->Wait(), 1);
  EXPECT_THAT(Log(), HasSubstr((folder_ / "none").string()));
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "words"})->Wait(), 2);
  EXPECT_EQ(StartWith({"numbers", model, folder_, folder_ / "cache", "attention", "x", "0"})->Wait(), 2);
}

}  // namespace
}  // namespace inlier
