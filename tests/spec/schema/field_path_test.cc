#include "spec/schema/field_path.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {
namespace {

using google::protobuf::Value;

FieldPath PathTo(const std::string& text) {
  return FieldPath::Parse(v1::TrialSpec::descriptor(), text).value();
}

std::string ParseError(const std::string& text) {
  return std::string(FieldPath::Parse(v1::TrialSpec::descriptor(), text).status().message());
}

Value Number(double number) {
  Value value;
  value.set_number_value(number);
  return value;
}

Value Text(const std::string& text) {
  Value value;
  value.set_string_value(text);
  return value;
}

TEST(FieldPathTest, SetsAndReadsALeafThroughItsGroups) {
  v1::TrialSpec spec;
  const FieldPath gamma = PathTo("attention.softmax.clipped.gamma");
  EXPECT_TRUE(gamma.is_leaf());
  EXPECT_EQ(gamma.last_word(), "gamma");
  EXPECT_FALSE(gamma.Has(spec));
  ASSERT_TRUE(gamma.SetText("-0.03", &spec).ok());
  EXPECT_EQ(spec.attention().softmax().clipped().gamma(), -0.03);
  EXPECT_EQ(gamma.GetText(spec), "-0.03");
  gamma.Clear(&spec);
  EXPECT_FALSE(gamma.Has(spec));
  EXPECT_TRUE(spec.attention().softmax().has_clipped()) << "the group stays";
}

TEST(FieldPathTest, AMemberOfAChoiceReplacesTheOther) {
  v1::TrialSpec spec;
  ASSERT_TRUE(PathTo("attention.softmax.clipped.alpha").SetText("2", &spec).ok());
  ASSERT_TRUE(PathTo("attention.softmax.clipped.gamma").SetText("0", &spec).ok());
  EXPECT_EQ(spec.ShortDebugString(), "attention { softmax { clipped { gamma: 0 } } }");
  ASSERT_TRUE(PathTo("attention.softmax.vanilla").SetText("{}", &spec).ok());
  EXPECT_EQ(spec.ShortDebugString(), "attention { softmax { vanilla { } } }");
}

TEST(FieldPathTest, UnsetLeavesReadAsTheirDefault) {
  const v1::TrialSpec spec;
  EXPECT_EQ(PathTo("training.optimizer.adamw.learning_rate").GetText(spec), "0.001");
  EXPECT_EQ(PathTo("training.precision").GetText(spec), "FLOAT32");
  EXPECT_EQ(PathTo("quantization.weights.symmetric").GetText(spec), "true");
}

TEST(FieldPathTest, UnknownPathsNameTheNearest) {
  EXPECT_EQ(ParseError("training.step"), "training.step: unknown field; did you mean \"training.steps\"?");
  EXPECT_EQ(ParseError("attention.softmax.cliped.gamma"),
            "attention.softmax.cliped.gamma: unknown field; did you mean \"attention.softmax.clipped\"?");
  EXPECT_EQ(ParseError("learning_rate"),
            "learning_rate: unknown field; did you mean one of \"training.optimizer.adamw.learning_rate\", "
            "\"training.optimizer.adam.learning_rate\", \"training.optimizer.rmsprop.learning_rate\"?");
  EXPECT_EQ(ParseError("adamw.learning_rate"),
            "adamw.learning_rate: unknown field; did you mean \"training.optimizer.adamw.learning_rate\"?");
  EXPECT_EQ(ParseError("training.schedule.kind"),
            "training.schedule.kind: unknown field; known: constant, linear, cosine, wsd, warmup_steps, "
            "warmup_fraction");
  EXPECT_EQ(ParseError(""),
            ": is not a path; write names with single dots between them, such as training.steps");
  EXPECT_EQ(ParseError("training."),
            "training.: is not a path; write names with single dots between them, such as training.steps");
  EXPECT_EQ(FieldPath::Parse(v1::SweepSpec::descriptor(), "axes").status().message(),
            "axes: is a list and cannot be named by a path; write it in the file");
  EXPECT_EQ(FieldPath::Parse(v1::SweepSpec::descriptor(), "axes.field").status().message(),
            "axes.field: unknown field; axes is a list");
}

TEST(FieldPathTest, ValuesOfASweepMustFitTheType) {
  v1::TrialSpec spec;
  EXPECT_TRUE(PathTo("training.steps").SetValue(Number(2000), &spec).ok());
  EXPECT_EQ(spec.training().steps(), 2000u);
  EXPECT_EQ(PathTo("training.steps").SetValue(Number(0.5), &spec).message(),
            "training.steps: 0.5 is not a whole number; write one such as 1");
  EXPECT_EQ(PathTo("training.steps").SetValue(Number(-1), &spec).message(),
            "training.steps: -1 is out of range: give a whole number from 1 to 1000000000");
  EXPECT_EQ(PathTo("training.steps").SetValue(Text("8"), &spec).message(),
            "training.steps: \"8\" is a text; write it without quotes");
  EXPECT_EQ(PathTo("data.text.corpus").SetValue(Number(1984), &spec).message(),
            "data.text.corpus: 1984 is a number; put it in quotes to give a text");
  EXPECT_EQ(PathTo("training.precision").SetValue(Text("HALF"), &spec).message(),
            "training.precision: \"HALF\" is not one of its values; known: FLOAT32, BFLOAT16");
  EXPECT_EQ(PathTo("seed").SetValue(Value(), &spec).message(),
            "seed: has no value; leave it out, or give one");
  EXPECT_EQ(PathTo("dropout").SetValue(Number(std::numeric_limits<double>::quiet_NaN()), &spec).message(),
            "dropout: \"NaN\" is not a number; only finite numbers are allowed");
  EXPECT_EQ(PathTo("training").SetValue(Number(1), &spec).message(),
            "training: is a group of fields; give a mapping");
  EXPECT_EQ(PathTo("training").SetText("5", &spec).message(),
            "training: is a group of fields; name one of them, or write training={} to choose it as it is");
}

TEST(FieldPathTest, MinusZeroIsZero) {
  v1::TrialSpec spec;
  ASSERT_TRUE(PathTo("attention.softmax.clipped.gamma").SetText("-0", &spec).ok());
  EXPECT_FALSE(std::signbit(spec.attention().softmax().clipped().gamma()));
}

TEST(FieldPathTest, WhatInlierWritesHasNoPath) {
  for (const char* path : {"program", "program.name", "program_evaluation.parameters"}) {
    EXPECT_THAT(std::string(FieldPath::Parse(v1::TrialSpec::descriptor(), path).status().message()),
                testing::HasSubstr("unknown field"))
        << path;
  }
  for (const std::string& path : AllLeafPaths(v1::TrialSpec::descriptor()))
    EXPECT_NE(path.substr(0, 7), "program");
  EXPECT_THAT(FieldNames(v1::TrialSpec::descriptor()), testing::Not(testing::Contains("program")));
  EXPECT_TRUE(IsMade(v1::TrialSpec::descriptor()->FindFieldByName("program")));
}

TEST(FieldPathTest, AllLeafPathsCanBeParsedAndHaveAText) {
  const std::vector<std::string> paths = AllLeafPaths(v1::TrialSpec::descriptor());
  EXPECT_GT(paths.size(), 70u);
  EXPECT_THAT(paths, ::testing::Contains("quantization.activations.range.running_minmax.momentum"));
  const v1::TrialSpec spec;
  for (const std::string& path : paths) EXPECT_TRUE(PathTo(path).is_leaf()) << PathTo(path).GetText(spec);
}

}  // namespace
}  // namespace inlier
