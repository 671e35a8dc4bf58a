#include "spec/schema/columns.h"

#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "spec/trial/canonical.h"
#include "spec/trial/resolver.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

const SpecColumn& ColumnNamed(const std::string& name) {
  for (const SpecColumn& column : SpecColumns()) {
    if (column.name == name) return column;
  }
  static const SpecColumn none;
  ADD_FAILURE() << "no column " << name;
  return none;
}

JsonPlace In(const std::string& json) {
  return [json](const std::string& path) { return std::pair(json, path); };
}

TEST(ColumnsTest, NamesAreUniqueAndFitForSql) {
  std::set<std::string> names;
  for (const SpecColumn& column : SpecColumns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_EQ(column.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos)
        << column.name;
    EXPECT_NE(column.json_paths.empty(), column.members.empty()) << column.name;
  }
}

TEST(ColumnsTest, ArchitecturesShareAColumn) {
  EXPECT_EQ(ColumnNamed("layers").json_paths,
            (std::vector<std::string>{"$.model.bert.layers", "$.model.opt.layers", "$.model.gpt2.layers",
                                      "$.model.llama.layers", "$.model.vit.layers"}));
  EXPECT_EQ(ColumnExpression(ColumnNamed("biases"), In("spec")),
            "COALESCE(spec->>'$.model.gpt2.biases', spec->>'$.model.llama.biases')");
  EXPECT_EQ(ColumnExpression(ColumnNamed("gamma"), In("t.spec")),
            "t.spec->>'$.attention.softmax.clipped.gamma'");
}

TEST(ColumnsTest, QuantizedCurvesAreNotTheTrialsQuantization) {
  EXPECT_EQ(ColumnNamed("weight_bits").json_paths, std::vector<std::string>{"$.quantization.weights.bits"});
  EXPECT_EQ(ColumnNamed("weight_range").members.size(), 3u);
}

TEST(ColumnsTest, AChoiceIsAColumnOfItsMembersNames) {
  EXPECT_EQ(ColumnExpression(ColumnNamed("schedule"), In("spec")),
            "CASE WHEN spec->'$.training.schedule.constant' IS NOT NULL THEN 'constant' WHEN "
            "spec->'$.training.schedule.linear' IS NOT NULL THEN 'linear' WHEN "
            "spec->'$.training.schedule.cosine' IS NOT NULL THEN 'cosine' WHEN "
            "spec->'$.training.schedule.wsd' IS NOT NULL THEN 'wsd' END");
  EXPECT_EQ(ColumnNamed("architecture").members.size(), 5u);
  EXPECT_EQ(ColumnNamed("gate").members.size(), 7u);
}

TEST(ColumnsTest, PathsAreThoseOfTheStoredJson) {
  const auto json = nlohmann::json::parse(ResolvedJson(*Resolve(TrialFrom(kTinyBert))));
  for (const char* name : {"layers", "learning_rate", "seed", "corpus", "sequence_length", "steps"}) {
    std::string pointer = ColumnNamed(name).json_paths[0].substr(1);
    for (char& c : pointer) {
      if (c == '.') c = '/';
    }
    EXPECT_TRUE(json.contains(nlohmann::json::json_pointer(pointer))) << name;
  }
}

}  // namespace
}  // namespace inlier
