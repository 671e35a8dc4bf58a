// The published figures are read as they are in the papers, and the one that belongs to a cell is found, or
// none.
#include "coordinator/tables/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using ::testing::HasSubstr;

std::vector<const PublishedFigure*> Table(const std::string& name) {
  const auto figures = PublishedTable(name);
  EXPECT_TRUE(figures.ok()) << figures.status();
  return figures.ok() ? *figures : std::vector<const PublishedFigure*>();
}

TEST(PublishedTest, EmbeddedFileIsCompleteAndInOrder) {
  const std::vector<PublishedFigure>& figures = PublishedFigures();
  ASSERT_EQ(figures.size(), 767u);
  EXPECT_EQ(figures[0].paper, "bondarenko2023");
  EXPECT_EQ(figures[0].table, "1");
  EXPECT_EQ(figures[0].settings.at("zeta"), "1");
  EXPECT_EQ(figures[0].metric, "fp_perplexity");
  EXPECT_EQ(figures[0].mean, 4.49);
  EXPECT_EQ(figures[0].std, 0.01);
}

TEST(PublishedTest, FigureWithoutDeviationHasNone) {
  for (const PublishedFigure* figure : Table("kaul2024/2")) EXPECT_FALSE(figure->std.has_value());
}

TEST(PublishedTest, MistakesInTheFileNameTheLine) {
  const std::string header = "paper,table,model,method,settings,metric,mean,std\n";
  EXPECT_EQ(ParsePublished("x").status().message(),
            "line 1: must be paper,table,model,method,settings,metric,mean,std");
  EXPECT_EQ(ParsePublished(header + "a,b,c\n").status().message(), "line 2: has 3 fields, not 8");
  EXPECT_EQ(ParsePublished(header + "p,1,m,v,,x,1,\np,1,m,v,gamma,x,1,\n").status().message(),
            "line 3: \"gamma\" is no setting: write key=value");
  EXPECT_EQ(ParsePublished(header + "p,1,m,v,,x,many,\n").status().message(),
            "line 2: mean \"many\" is no number");
  EXPECT_EQ(ParsePublished(header + "p,1,m,v,,x,1,few\n").status().message(),
            "line 2: std \"few\" is no number");
}

TEST(PublishedTest, UnknownTableIsAnsweredWithTheNearest) {
  EXPECT_EQ(PublishedTable("bondarenko2032/2").status().message(),
            "no published table is named \"bondarenko2032/2\"; did you mean \"bondarenko2023/2\"?");
  EXPECT_THAT(std::string(PublishedTable("vaswani2017/1").status().message()),
              HasSubstr("; known: bondarenko2023/1, bondarenko2023/2,"));
}

TEST(PublishedTest, FigureIsFoundByModelMethodAndMetric) {
  const PublishedFigure* figure = FindPublished(Table("bondarenko2023/2"), {.metrics = {"w8a8_perplexity"},
                                                                            .architecture = "opt",
                                                                            .model = "",
                                                                            .method = "gated_attention",
                                                                            .settings = {}});
  ASSERT_NE(figure, nullptr);
  EXPECT_EQ(figure->model, "opt-125m");
  EXPECT_EQ(figure->mean, 16.02);
  EXPECT_EQ(figure->std, 0.07);
}

TEST(PublishedTest, SettingsAreComparedAsNumbersAndAllMustAgree) {
  PublishedQuery query{.metrics = {"avg_kurtosis"},
                       .architecture = "bert",
                       .model = "",
                       .method = "clipped_softmax",
                       .settings = {{"gamma", "-3e-2"}, {"zeta", "1.0"}}};
  const PublishedFigure* figure = FindPublished(Table("bondarenko2023/1"), query);
  ASSERT_NE(figure, nullptr);
  EXPECT_EQ(figure->mean, 80);
  query.settings["zeta"] = "1.5";
  EXPECT_EQ(FindPublished(Table("bondarenko2023/1"), query), nullptr);
  query.settings.erase("zeta");
  EXPECT_EQ(FindPublished(Table("bondarenko2023/1"), query), nullptr);
}

TEST(PublishedTest, AmbiguousFigureIsNone) {
  const PublishedQuery query{.metrics = {"fp_perplexity"},
                             .architecture = "bert",
                             .model = "bert-tiny",
                             .method = "vanilla",
                             .settings = {}};
  EXPECT_EQ(FindPublished(Table("liao2024/1"), query),
            nullptr);  // bert-small, bert-base and bert-large are there.
  PublishedQuery small = query;
  small.model = "bert-small";
  ASSERT_NE(FindPublished(Table("liao2024/1"), small), nullptr);
  EXPECT_EQ(FindPublished(Table("liao2024/1"), small)->model, "bert-small");
}

TEST(PublishedTest, ArchitectureIsAWholeWord) {
  const PublishedQuery query{
      .metrics = {"fp_perplexity"}, .architecture = "op", .model = "", .method = "vanilla", .settings = {}};
  EXPECT_EQ(FindPublished(Table("bondarenko2023/2"), query), nullptr);
}

}  // namespace
}  // namespace inlier
