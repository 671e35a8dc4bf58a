// The published figures are read as they are in the papers, and the one that belongs to a cell is found, or
// none.
#include "results/tables/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

using ::testing::HasSubstr;

std::vector<const PublishedFigure*> Table(const std::string& name) { return PublishedTable(name).value(); }

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

TEST(PublishedTest, FiguresHaveThePapersDigitsInOurUnit) {
  const std::vector<PublishedFigure> figures = *ParsePublished(
      "paper,table,model,method,settings,metric,mean,std\n"
      "p,1,m,v,,max_inf_norm,735.0,54.9\np,1,m,v,,avg_kurtosis,4.9,0.02\np,1,m,v,,w8a8_top1,79.0,0.1\n"
      "p,1,m,v,,a100_hours,92.8,1.2\np,1,m,v,,iterations_per_second,7.5,\np,1,m,v,,kurtosis,80,\n");
  std::vector<std::uint32_t> decimals;
  for (const PublishedFigure& figure : figures) decimals.push_back(figure.decimals);
  EXPECT_THAT(decimals, ::testing::ElementsAre(1, 2, 3, 0, 0, 0));
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
            "line 3: \"gamma\" is not a setting: write key=value");
  EXPECT_EQ(ParsePublished(header + "p,1,m,v,,x,many,\n").status().message(),
            "line 2: mean \"many\" is not a number");
  EXPECT_EQ(ParsePublished(header + "p,1,m,v,,x,1,few\n").status().message(),
            "line 2: std \"few\" is not a number");
}

TEST(PublishedTest, UnknownTableIsAnsweredWithTheNearest) {
  EXPECT_EQ(PublishedTable("bondarenko2032/2").status().message(),
            "no published table is named \"bondarenko2032/2\"; did you mean \"bondarenko2023/2\"?");
  EXPECT_THAT(std::string(PublishedTable("vaswani2017/1").status().message()),
              HasSubstr("; known: bondarenko2023/1, bondarenko2023/2,"));
}

TEST(PublishedTest, EveryLineOfTheRecipesSelectsFigures) {
  std::vector<PublishedFigure> figures = *ParsePublished(PublishedCsv());
  EXPECT_EQ(AddRecipes(PublishedRecipesCsv(), &figures), absl::OkStatus());
  for (const PublishedFigure& figure : figures) {
    EXPECT_FALSE(figure.recipe.empty()) << figure.paper << "/" << figure.table << " " << figure.model;
    for (const auto& [name, value] : figure.settings) EXPECT_FALSE(figure.recipe.contains(name)) << name;
  }
}

TEST(PublishedTest, FiguresOwnSettingsThenTheFirstLineCount) {
  std::vector<PublishedFigure> figures = *ParsePublished(
      "paper,table,model,method,settings,metric,mean,std\n"
      "p,1,m,v,gamma=-0.03,x,1,\n"
      "p,2,m,v,,x,2,\n");
  ASSERT_EQ(AddRecipes("paper,select,settings,source\n"
                       "p,table=2;metric=x|y,gamma=-0.025;zeta=1,here\n"
                       "p,,gamma=0;zeta=2,there\n",
                       &figures),
            absl::OkStatus());
  using ::testing::Pair;
  EXPECT_THAT(figures[0].recipe, ::testing::ElementsAre(Pair("zeta", "2")));
  EXPECT_THAT(figures[1].recipe, ::testing::ElementsAre(Pair("gamma", "-0.025"), Pair("zeta", "1")));
}

TEST(PublishedTest, MistakesInTheRecipesNameTheLine) {
  const std::string header = "paper,select,settings,source\n";
  const auto read = [](const std::string& csv) {
    std::vector<PublishedFigure> figures = *ParsePublished(PublishedCsv());
    return std::string(AddRecipes(csv, &figures).message());
  };
  EXPECT_EQ(read("x"), "line 1: must be paper,select,settings,source");
  EXPECT_EQ(read(header + "liao2024,table=1\n"), "line 2: has 2 fields, not 4");
  EXPECT_EQ(read(header + "liao2024,1,gamma=0,s\n"), "line 2: \"1\" is not a setting: write key=value");
  EXPECT_EQ(read(header + "liao2024,table=1,gamma,s\n"),
            "line 2: \"gamma\" is not a setting: write key=value");
  EXPECT_EQ(read(header + "liao2024,table=1,gamma=0,\n"), "line 2: has no source");
  EXPECT_EQ(read(header + "liao2024,table=2,gamma=0,s\n"), "line 2: selects no figure");
}

// Two rows of a table, one with a setting; and one of another model.
class FindPublishedTest : public ::testing::Test {
 protected:
  FindPublishedTest()
      : figures_(*ParsePublished("paper,table,model,method,settings,metric,mean,std\n"
                                 "p,1,bert-base,vanilla,,x,1,\n"
                                 "p,1,bert-base,vanilla,bits=fp16,x,2,\n"
                                 "p,1,bert-large,vanilla,,x,3,\n"
                                 "p,1,opt-125m,vanilla,gamma=-4/512,x,4,\n")) {
    EXPECT_EQ(AddRecipes("paper,select,settings,source\np,,corpus=c4;batch=16|32,s\n", &figures_),
              absl::OkStatus());
    for (const PublishedFigure& figure : figures_) all_.push_back(&figure);
  }
  double Mean(const PublishedQuery& query) {
    match_ = FindPublished(all_, query);
    return match_.figure == nullptr ? 0 : match_.figure->mean;
  }

  std::vector<PublishedFigure> figures_;
  std::vector<const PublishedFigure*> all_;
  PublishedMatch match_;
  PublishedQuery query_ = {.metrics = {"x"},
                           .architecture = "bert",
                           .model = "bert-base",
                           .method = "vanilla",
                           .settings = {{"corpus", "c4"}, {"batch", "32"}}};
};

TEST_F(FindPublishedTest, EverythingAgreesOrIsNamed) {
  EXPECT_EQ(Mean(query_), 1);
  EXPECT_TRUE(match_.differences.empty());
  query_.settings["bits"] = "fp16";
  EXPECT_EQ(Mean(query_), 2) << "the row that names most";
  query_.model = "bert-large";
  EXPECT_EQ(Mean(query_), 3) << "the model that agrees";
  query_.settings["batch"] = "64";
  query_.settings.erase("corpus");
  EXPECT_EQ(Mean(query_), 3);
  EXPECT_THAT(match_.differences, ::testing::ElementsAre("data", "training"));
}

TEST_F(FindPublishedTest, OtherMetricMethodAndArchitectureNeverFit) {
  query_.metrics = {"y", "x"};
  EXPECT_EQ(Mean(query_), 1) << "the first name that is there";
  query_.architecture = "ber";
  EXPECT_EQ(Mean(query_), 0) << "a whole word";
  query_.architecture = "bert";
  query_.method = "clipped_softmax";
  EXPECT_EQ(Mean(query_), 0);
  query_.method = "";
  EXPECT_EQ(Mean(query_), 0);
}

TEST_F(FindPublishedTest, FigureThatIsNotTheOnlyOneIsNone) {
  query_.model = "";
  EXPECT_EQ(Mean(query_), 0) << "base and large come equally close";
}

TEST_F(FindPublishedTest, NumbersAreComparedAsNumbers) {
  query_.architecture = "opt";
  query_.model = "opt-125m";
  for (const char* gamma : {"-4/512", "-4/64", "-0.0078125", "-7.8125e-3"}) {
    query_.settings["gamma"] = gamma;
    EXPECT_EQ(Mean(query_), 4) << gamma;
  }
  for (const char* gamma : {"-3/512", "-0.0078", ""}) {
    query_.settings["gamma"] = gamma;
    EXPECT_EQ(Mean(query_), 0) << gamma;
  }
}

}  // namespace
}  // namespace inlier
