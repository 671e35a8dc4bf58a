// Trainings that start from those of other points of the sweep: which points they are, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/sweep/sweep_edit.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/spec/spec_text.h"
#include "tests/spec/sweep/grid_points.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTunedHead[] =
    "name: tuned\n"
    "base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 10}}\n";

constexpr char kPhases[] =
    "  - name: phase\n"
    "    variants:\n"
    "      - {label: first, set: {}}\n"
    "      - {label: then, set: {training: {start_from: {point: \"phase=first\"}}}}\n";

absl::StatusOr<v1::SweepSpec> ReadStart(const std::string& rest) {
  return ReadSweepText(kTunedHead + rest, "s.yaml");
}

SweepGrid GridOf(const std::string& rest) {
  const v1::SweepSpec spec = ReadStart(rest).value();
  return *SweepGrid::Create(spec);
}

std::string ErrorOfStart(const std::string& rest) { return MessageOf(ReadStart(rest).status()); }

// "the point <- the point that it starts from", of all that start from one.
std::vector<std::string> Starts(const SweepGrid& grid) {
  std::vector<std::string> starts;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const GridPoint point = *grid.At(*index);
    if (!point.spec.training().start_from().has_point()) continue;
    const absl::StatusOr<std::uint64_t> start =
        grid.StartOf(*index, point.spec.training().start_from().point());
    EXPECT_TRUE(start.ok()) << start.status();
    if (!start.ok()) continue;
    EXPECT_LT(*start, *index);
    starts.push_back(LabelsOf(point) + " <- " + LabelsOf(*grid.At(*start)));
  }
  return starts;
}

// Two phases, the second with start_from.point `named`.
std::string ErrorOfPoint(const std::string& named, const std::string& more = "") {
  return ErrorOfStart(
      "axes:\n"
      "  - {field: seed, values: [1, 2]}\n"
      "  - name: phase\n"
      "    variants:\n"
      "      - {label: first, set: {}}\n"
      "      - {label: then, set: {training: {start_from: {point: \"" +
      named + "\"}}}}\n" + more);
}

TEST(StartPointsTest, OtherAxesKeepTheLabelsOfThePoint) {
  EXPECT_THAT(
      Starts(GridOf("axes:\n  - {field: seed, values: [1, 2]}\n" + std::string(kPhases))),
      ElementsAre("seed=1 phase=then <- seed=1 phase=first", "seed=2 phase=then <- seed=2 phase=first"));
  const SweepGrid plain = GridOf("axes:\n  - {field: seed, values: [1, 2]}\n");
  EXPECT_FALSE(plain.starts_from_points());
  EXPECT_THAT(Starts(plain), IsEmpty());
}

TEST(StartPointsTest, SeveralAxesMayBeNamedAndNumbersBeWrittenOtherwise) {
  EXPECT_EQ(ErrorOfPoint("phase=first, seed=1"), "OK");
  EXPECT_EQ(ErrorOfPoint(" seed = 1.0 ,phase=first "), "OK");
  EXPECT_THAT(
      Starts(GridOf("axes:\n  - {field: seed, values: [1, 2]}\n"
                    "  - {name: phase, variants: [{label: first, set: {}}, {label: then, set: {training: "
                    "{start_from: {point: \"phase=first, seed=1\"}}}}]}\n")),
      ElementsAre("seed=1 phase=then <- seed=1 phase=first", "seed=2 phase=then <- seed=1 phase=first"));
}

TEST(StartPointsTest, ALabelMayHaveCommas) {
  EXPECT_THAT(Starts(GridOf("axes:\n"
                            "  - {name: phase, variants: [{label: a, set: {seed: 5}}, {label: \"a, b\", set: "
                            "{}}, {label: c, set: "
                            "{training: {start_from: {point: \"phase=a, b\"}}}}]}\n")),
              ElementsAre("phase=c <- phase=a, b"));
}

TEST(StartPointsTest, AConditionalAxisIsNamedWhereItAppliesThereAlone) {
  const std::string axes =
      "axes:\n"
      "  - {name: phase, variants: [{label: first, set: {}}, {label: then, set: {training: {start_from: "
      "{point: \"%\"}}}}]}\n"
      "  - {field: training.batch_size, values: [8, 16], when: {phase: first}}\n"
      "  - {field: dropout, values: [0, 0.1], when: {phase: then}}\n";
  const auto with = [&axes](const std::string& point) {
    std::string text = axes;
    return text.replace(text.find('%'), 1, point);
  };
  EXPECT_THAT(Starts(GridOf(with("phase=first, batch_size=16"))),
              ElementsAre("phase=then batch_size= dropout=0 <- phase=first batch_size=16 dropout=",
                          "phase=then batch_size= dropout=0.1 <- phase=first batch_size=16 dropout="));
  EXPECT_THAT(
      ErrorOfStart(with("phase=first")),
      HasSubstr("s.yaml:4:55: axes[0].variants[1]: training.start_from.point: \"phase=first\" leaves open "
                "axis batch_size, "
                "which applies there and not here (when); add \", batch_size=LABEL\" with one of 8, 16"));
  EXPECT_THAT(ErrorOfStart(with("phase=first, batch_size=8, dropout=0")),
              HasSubstr("names axis dropout, which does not apply there (when); leave it out"));
}

TEST(StartPointsTest, WhatNamesNoEarlierPointIsRefusedWithItsPlace) {
  const std::string place = "s.yaml:8:9: axes[1].variants[1]: training.start_from.point: ";
  EXPECT_EQ(ErrorOfPoint("first"), place +
                                       "\"first\" is not of the form \"axis=label\", or several with \", \" "
                                       "between (in the trial seed=1, phase=then)");
  EXPECT_THAT(ErrorOfPoint("phas=first"),
              HasSubstr(place + "\"phas=first\" names \"phas\", which is not an axis of this sweep; did you "
                                "mean \"phase\"?"));
  EXPECT_THAT(
      ErrorOfPoint("phase=frist"),
      HasSubstr(
          place +
          "\"phase=frist\" names \"frist\", which is not a label of axis phase; there are first, then"));
  EXPECT_THAT(ErrorOfPoint("seed=3"),
              HasSubstr("names \"3\", which is not a label of axis seed; there are 1, 2"));
  EXPECT_THAT(ErrorOfPoint("phase=first, phase=then"), HasSubstr("names axis phase twice; keep one label"));
  EXPECT_THAT(ErrorOfPoint("phase=first,"), HasSubstr("ends with a comma"));
  EXPECT_THAT(ErrorOfPoint(""), HasSubstr("is not of the form"));
  EXPECT_THAT(ErrorOfPoint("phase=then"), HasSubstr("is the point itself; name an earlier one"));
  EXPECT_THAT(ErrorOfPoint("phase=first, seed=2"),
              HasSubstr("comes after this point: on axis seed 2 is behind 1; put it before"));
  EXPECT_THAT(ErrorOfPoint("phase=first", "exclude: [{seed: 2, phase: first}]\n"),
              HasSubstr("names a point that an exclusion leaves out; name another one, or exclude this point "
                        "too (in the trial "
                        "seed=2, phase=then)"));
  EXPECT_EQ(ErrorOfPoint("phase=first", "exclude: [{seed: 2}]\n"), "OK");
}

TEST(StartPointsTest, ASweepWithoutAxesHasNoOtherPoint) {
  EXPECT_EQ(ErrorOfStart("axes: []\n"), "OK");
  const absl::StatusOr<v1::SweepSpec> spec = ReadSweepText(
      "name: tuned\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 10, "
      "start_from: {point: "
      "\"a=b\"}}}\n",
      "s.yaml");
  EXPECT_THAT(
      std::string(spec.status().message()),
      HasSubstr(
          "base.training.start_from.point: \"a=b\" names another point, and this sweep has no axes; give "
          "start_from a path or a trial"));
}

TEST(StartPointsTest, ARowOfTrainingsHasAnEnd) {
  const auto row = [](int length) {
    std::string text = "axes:\n  - name: phase\n    variants:\n      - {label: p0, set: {}}\n";
    for (int i = 1; i <= length; ++i) {
      text += "      - {label: p" + std::to_string(i) + ", set: {seed: " + std::to_string(i) +
              ", training: {start_from: {point: phase=p" + std::to_string(i - 1) + "}}}}\n";
    }
    return ErrorOfStart(text);
  };
  EXPECT_EQ(row(Limits::kStartsMax), "OK");
  EXPECT_THAT(row(Limits::kStartsMax + 1),
              HasSubstr("\"phase=p16\" is the last of more than 16 trainings in a row"));
}

TEST(StartPointsTest, TrialsAndTrainingsHaveTheirForm) {
  const auto error = [](const std::string& start) {
    return ErrorOfStart("axes:\n  - {name: a, variants: [{label: x, set: {training: {start_from: {" + start +
                        "}}}}]}\n");
  };
  EXPECT_EQ(error("trial: t-17"), "OK");
  for (const char* wrong : {"t-0", "t-", "17", "t-1x", "s-3", "t-99999999999999999999"}) {
    EXPECT_THAT(error("trial: \"" + std::string(wrong) + "\""),
                HasSubstr("training.start_from.trial: \"" + std::string(wrong) +
                          "\" is not the id of a trial: give one such as t-17"))
        << wrong;
  }
  EXPECT_EQ(error("training: \"" + std::string(64, 'a') + "\""), "OK");
  EXPECT_THAT(error("training: abc"), HasSubstr("is not the fingerprint of a training: give 64 digits"));
  const SweepGrid grid =
      GridOf("axes:\n  - {name: a, variants: [{label: x, set: {training: {start_from: {trial: t-3}}}}]}\n");
  ASSERT_EQ(grid.Starts().size(), 1u);
  EXPECT_EQ(grid.Starts()[0].first, "axes[0].variants[0]");
  EXPECT_EQ(grid.Starts()[0].second.trial(), "t-3");
}

constexpr char kSampled[] =
    "sampling: {random: {trials: 20}}\n"
    "axes:\n"
    "  - name: phase\n"
    "    each: true\n"
    "    variants:\n"
    "      - {label: first, set: {}}\n"
    "      - {label: then, set: {training: {start_from: {point: \"phase=first\"}}}}\n"
    "  - {field: dropout, values: [0, 0.1, 0.2], when: {phase: then}}\n";

TEST(StartPointsTest, ASampleStartsFromItsOwnOrAnEarlierOneThatIsTheSame) {
  // The drawn axis applies to the second phase alone: all samples have the first one in common.
  const SweepGrid grid = GridOf(kSampled);
  EXPECT_EQ(grid.kept(), 4u);
  const std::vector<std::string> starts = Starts(grid);
  ASSERT_EQ(starts.size(), 3u);
  for (const std::string& start : starts) EXPECT_THAT(start, testing::EndsWith(" <- phase=first dropout="));
}

TEST(StartPointsTest, ADrawnAxisCannotBeNamed) {
  const auto error = [](const std::string& point) {
    return ErrorOfStart(
        "sampling: {random: {trials: 4}}\naxes:\n"
        "  - {name: phase, each: true, variants: [{label: first, set: {}}, {label: then, set: {training: "
        "{start_from: "
        "{point: \"" +
        point +
        "\"}}}}]}\n"
        "  - {field: dropout, values: [0, 0.1]}\n"
        "  - {field: training.optimizer.adamw.learning_rate, range: {min: 1e-5, max: 1e-2, log: true}}\n");
  };
  EXPECT_EQ(error("phase=first"), "OK");
  EXPECT_THAT(
      error("phase=first, dropout=0"),
      HasSubstr(
          "names axis dropout, whose labels are drawn; give that axis each: true, or name one that has it"));
  EXPECT_THAT(error("learning_rate=1e-3"),
              HasSubstr("names axis learning_rate, whose numbers are drawn; name another axis"));
}

TEST(StartPointsTest, AnEditKeepsAPointOnlyWithTheOneThatItStartsFrom) {
  const std::string phases =
      "      - {label: then, set: {training: {start_from: {point: \"phase=first\"}}}}\n";
  const auto sweep = [&phases](const std::string& seeds, const std::string& first) {
    return *ReadStart("axes:\n  - {field: seed, values: " + seeds +
                      "}\n  - name: phase\n    variants:\n      - {label: first, set: " + first + "}\n" +
                      phases);
  };
  const auto edit_of = [](const v1::SweepSpec& from, const v1::SweepSpec& to) {
    return *SweepEdit::Create(from, *SweepGrid::Create(from), to, *SweepGrid::Create(to));
  };
  const v1::SweepSpec before = sweep("[1, 2]", "{}");
  const SweepEdit moved = edit_of(before, sweep("[2, 1]", "{}"));
  EXPECT_EQ(moved.NewIndex(0), 2u);
  EXPECT_EQ(moved.NewIndex(1), 3u);
  EXPECT_EQ(moved.common(), std::nullopt);
  const SweepEdit changed = edit_of(before, sweep("[1, 2]", "{dropout: 0.3}"));
  for (std::uint64_t index = 0; index < 4; ++index) EXPECT_EQ(changed.NewIndex(index), std::nullopt) << index;
  const SweepEdit longer = edit_of(before, sweep("[1, 2, 3]", "{}"));
  EXPECT_TRUE(longer.only_appends());
  EXPECT_EQ(longer.common(), 4u);
}

TEST(StartPointsTest, NamesOfAxesMayHaveCommasAndEqualSigns) {
  const auto error = [](const std::string& point) {
    return ErrorOfStart(
        "axes:\n  - {name: \"a, b=c\", variants: [{label: \"x, y\", set: {}}, {label: x, set: {dropout: "
        "0.1}}]}\n"
        "  - {name: phase, variants: [{label: first, set: {}}, {label: then, set: {training: {start_from: "
        "{point: \"" +
        point + "\"}}}}]}\n");
  };
  EXPECT_EQ(error("a, b=c=x, y, phase=first"), "OK");
  EXPECT_EQ(error("phase=first"), "OK");
  EXPECT_THAT(error("a, b=x"), HasSubstr("names \"a, b\", which is not an axis of this sweep"));
}

}  // namespace
}  // namespace inlier
