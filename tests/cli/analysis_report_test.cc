#include "cli/analysis_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inlier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

Json Model(bool has_head) {
  return {{"model",
           {{"architecture", "bert"},
            {"layers", 6},
            {"hidden_size", 384},
            {"heads", 12},
            {"parameters", 22713216},
            {"has_head", has_head},
            {"tokenizer", "wordpiece"},
            {"sequence_length", 128},
            {"sequences", 32}}}};
}

Json Setting(const std::string& name, const Json& measurements, const Json& sites = Json::object()) {
  return {{"setting", {{"name", name}, {"measurements", measurements}, {"sites", sites}}}};
}

TEST(AnalysisReportTest, FindingsAreKeptAndProgressIsTheLatestLine) {
  AnalysisReport report;
  EXPECT_EQ(report.ToString(), "") << "nothing is known yet";
  EXPECT_FALSE(report.Add(
      {{"progress", {{"setting", "W8A8"}, {"phase", "calibrate"}, {"step", 3}, {"steps_total", 16}}}}));
  EXPECT_EQ(report.progress(), "W8A8: calibrate 3/16");
  EXPECT_TRUE(report.Add(Model(true)));
  EXPECT_TRUE(report.Add(Setting("float", {{"perplexity", 12.5}})));
  EXPECT_EQ(report.ToJson()["model"]["layers"], 6);
  EXPECT_EQ(report.ToJson()["settings"][0]["measurements"]["perplexity"], 12.5);
}

TEST(AnalysisReportTest, ARowASettingAndTheWorstTensorsFirst) {
  AnalysisReport report;
  report.Add(Model(true));
  Json norms, kurtosis;
  for (int i = 0; i < 9; ++i) norms["layer." + std::to_string(i)] = 10.0 * i;
  kurtosis["layer.8"] = 4000.25;
  report.Add(Setting("float", {{"perplexity", 12.5}, {"accuracy", 0.5}, {"max_inf_norm", 193.75}},
                     {{"inf_norm", norms}, {"kurtosis", kurtosis}}));
  report.Add(
      Setting("W8A8", {{"perplexity", nullptr}, {"hidden_change", 0.25}, {"sentence_similarity", 0.9}}));
  const std::string text = report.ToString();
  EXPECT_THAT(text, HasSubstr("bert, 6 layers, hidden size 384, 12 heads, 22.7 M parameters\n"));
  EXPECT_THAT(text, HasSubstr("32 sequences of 128 tokens, tokenizer wordpiece"));
  EXPECT_THAT(text, HasSubstr("max_inf_norm"));
  EXPECT_THAT(text, HasSubstr("193.8"));
  EXPECT_LT(text.find("layer.8"), text.find("layer.7"));
  EXPECT_THAT(text, HasSubstr("4000"));
  EXPECT_THAT(text, Not(HasSubstr("layer.2"))) << "only the worst are shown";
  EXPECT_THAT(text, HasSubstr("not finite")) << "a number that JSON cannot carry";
  EXPECT_THAT(text, HasSubstr("0.25"));
}

TEST(AnalysisReportTest, AMethodThatTheModelDoesNotTakeIsNamedWithTheReason) {
  AnalysisReport report;
  report.Add(Model(true));
  report.Add(Setting("float", {{"perplexity", 12.5}}));
  EXPECT_FALSE(report.ToJson().contains("left_out"));
  EXPECT_TRUE(
      report.Add({{"left_out", {{"name", "W4A4 rotation"}, {"reason", "it is not for model.bert"}}}}));
  EXPECT_THAT(report.ToString(), HasSubstr("left out: W4A4 rotation: it is not for model.bert\n"));
  EXPECT_EQ(report.ToJson()["left_out"][0]["name"], "W4A4 rotation");
  EXPECT_EQ(report.ToRequest().numbers_size(), 1) << "it has no numbers";
}

TEST(AnalysisReportTest, EveryNumberIsStoredAndThoseOfLayersAreInTheCsv) {
  AnalysisReport report;
  report.Add(Model(true));
  report.Add(
      Setting("float", {{"perplexity", 12.5}},
              {{"inf_norm", {{"layer.0", 1.5}, {"layer.1", nullptr}}}, {"kurtosis", {{"layer.0", 3}}}}));
  report.Add(Setting("W8A8", {{"hidden_change", 0.25}}, {{"inf_norm", {{"layer.0", 1.25}}}}));
  EXPECT_EQ(report.ToCsv(),
            "setting,site,inf_norm,kurtosis\nfloat,layer.0,1.5,3\nfloat,layer.1,,\nW8A8,layer.0,1.25,\n");
  std::vector<std::string> numbers;
  const v1::StoreAnalysisRequest request = report.ToRequest();
  for (const v1::AnalysisNumber& number : request.numbers())
    numbers.push_back(number.setting() + " " + number.name() + " " + number.site() + " " +
                      (number.has_value() ? std::to_string(number.value()).substr(0, 4) : "none"));
  EXPECT_THAT(numbers, ::testing::ElementsAre("float perplexity  12.5", "float inf_norm layer.0 1.50",
                                              "float inf_norm layer.1 none", "float kurtosis layer.0 3.00",
                                              "W8A8 hidden_change  0.25", "W8A8 inf_norm layer.0 1.25"));
}

TEST(AnalysisReportTest, WithoutAHeadThereIsNoPerplexity) {
  AnalysisReport report;
  report.Add(Model(false));
  report.Add(Setting("float", {{"max_inf_norm", 1}}));
  EXPECT_THAT(report.ToString(), HasSubstr("without a head that predicts tokens"));
  EXPECT_THAT(report.ToString(), Not(HasSubstr("perplexity")));
}

}  // namespace
}  // namespace inlier
