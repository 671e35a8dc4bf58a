#include "spec/sweep/sweep_grid.h"

#include <random>

#include "gmock/gmock.h"
#include "grid_points.h"
#include "gtest/gtest.h"
#include "spec/schema/yaml_reader.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

v1::SweepSpec SweepFrom(const std::string& axes, const std::string& base = kTinyBert) {
  const absl::StatusOr<v1::SweepSpec> sweep =
      ReadYaml<v1::SweepSpec>("{name: s, base: " + base + ", " + axes + "}", "s.yaml");
  EXPECT_TRUE(sweep.ok()) << sweep.status();
  return sweep.ok() ? *sweep : v1::SweepSpec();
}

SweepGrid GridFrom(const std::string& axes, const std::string& base = kTinyBert) {
  return SweepGrid::Create(SweepFrom(axes, base)).value();
}

std::string GridError(const std::string& axes) {
  return MessageOf(SweepGrid::Create(SweepFrom(axes)).status());
}

TEST(SweepGridTest, WithoutAxesThereIsTheBase) {
  const SweepGrid grid = GridFrom("axes: []");
  EXPECT_EQ(grid.size(), 1u);
  EXPECT_EQ(grid.kept(), 1u);
  const GridPoint point = grid.At(0).value();
  EXPECT_TRUE(point.labels.empty());
  EXPECT_EQ(point.spec.training().steps(), 2000u);
  EXPECT_EQ(grid.NextIndex(1), std::nullopt);
  EXPECT_EQ(grid.At(1).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(SweepGridTest, TheFirstAxisVariesSlowest) {
  const SweepGrid grid =
      GridFrom("axes: [{field: training.steps, values: [10, 20]}, {field: seed, values: [1, 2, 3]}]");
  EXPECT_EQ(grid.size(), 6u);
  EXPECT_EQ(grid.kept(), 6u);
  EXPECT_THAT(AllPoints(grid),
              ::testing::ElementsAre("steps=10 seed=1", "steps=10 seed=2", "steps=10 seed=3",
                                     "steps=20 seed=1", "steps=20 seed=2", "steps=20 seed=3"));
  const absl::StatusOr<GridPoint> point = grid.At(4);
  EXPECT_EQ(point->spec.training().steps(), 20u);
  EXPECT_EQ(point->spec.seed(), 2u);
}

TEST(SweepGridTest, LabelsAreCompactTexts) {
  const SweepGrid grid = GridFrom(
      "axes: [{field: attention.softmax.clipped.gamma, values: [0, -0.003, -3e-5]}, {zip: "
      "[training.optimizer.adamw.learning_rate, training.steps], "
      "values: [[1e-3, 2000], [3e-4, 4e3]]}, {name: order, field: training.precision, values: [FLOAT32]}]");
  EXPECT_EQ(grid.axes()[0].name, "gamma");
  EXPECT_EQ(grid.axes()[0].field, "attention.softmax.clipped.gamma");
  EXPECT_THAT(grid.axes()[0].labels, ::testing::ElementsAre("0", "-0.003", "-3e-5"));
  EXPECT_EQ(grid.axes()[1].name, "learning_rate+steps");
  EXPECT_THAT(grid.axes()[1].labels, ::testing::ElementsAre("0.001+2000", "3e-4+4000"));
  EXPECT_EQ(grid.axes()[2].name, "order");
  const absl::StatusOr<GridPoint> point = grid.At(1);
  EXPECT_EQ(point->spec.training().steps(), 4000u);
  EXPECT_EQ(point->spec.training().optimizer().adamw().learning_rate(), 3e-4);
}

TEST(SweepGridTest, AVariantReplacesTheBasesChoice) {
  const SweepGrid grid = GridFrom(
      "axes: [{name: method, variants: [{label: plain, set: {}}, {label: gated, set: {attention: {gate: "
      "{linear: {pi_init: 0.25}}}, model.opt: {preset: tiny}}}]}]",
      "{model: {bert: {preset: tiny}}, attention: {gate: {mlp: {hidden_size: 4}}}, data: {text: {corpus: "
      "kjv}}, training: {steps: 5}}");
  EXPECT_TRUE(grid.At(0)->spec.attention().gate().has_mlp());
  EXPECT_EQ(grid.At(1)->spec.attention().gate().linear().pi_init(), 0.25);
  EXPECT_FALSE(grid.At(1)->spec.model().has_bert());
  EXPECT_EQ(grid.At(1)->spec.model().opt().preset(), "tiny");
}

constexpr char kConditional[] =
    "axes: [{name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: "
    "{attention.softmax.clipped: {}}}, {label: gated, set: {attention.gate.linear: {}}}]}, "
    "{field: attention.softmax.clipped.gamma, values: [-0.1, -0.03], when: {method: clipped}}, "
    "{field: attention.gate.linear.pi_init, values: [0.25, 0.5], when: {method: [gated]}}, "
    "{field: seed, values: [1, 2]}]";

TEST(SweepGridTest, AConditionalAxisContributesOnePointElsewhere) {
  const SweepGrid grid = GridFrom(kConditional);
  EXPECT_EQ(grid.size(), 24u);
  EXPECT_EQ(grid.kept(), 10u);
  EXPECT_THAT(AllPoints(grid),
              ::testing::ElementsAre(
                  "method=vanilla gamma= pi_init= seed=1", "method=vanilla gamma= pi_init= seed=2",
                  "method=clipped gamma=-0.1 pi_init= seed=1", "method=clipped gamma=-0.1 pi_init= seed=2",
                  "method=clipped gamma=-0.03 pi_init= seed=1", "method=clipped gamma=-0.03 pi_init= seed=2",
                  "method=gated gamma= pi_init=0.25 seed=1", "method=gated gamma= pi_init=0.25 seed=2",
                  "method=gated gamma= pi_init=0.5 seed=1", "method=gated gamma= pi_init=0.5 seed=2"));
  EXPECT_TRUE(grid.At(0)->spec.attention().softmax().kind_case() == v1::SoftmaxSpec::KIND_NOT_SET)
      << "an inactive axis sets nothing";
  EXPECT_EQ(grid.At(4).status().code(), absl::StatusCode::kNotFound);
}

TEST(SweepGridTest, ExclusionsLeaveOutPoints) {
  const SweepGrid grid = GridFrom(
      "axes: [{field: training.steps, values: [10, 20]}, {field: dropout, values: [0, 0.1, 0.2]}, {field: "
      "seed, values: [1, 2]}], "
      "exclude: [{steps: 20, seed: 2}, {dropout: [0.1, 0.2], training.steps: 10}]");
  EXPECT_EQ(grid.size(), 12u);
  EXPECT_EQ(grid.kept(), 5u);
  EXPECT_THAT(AllPoints(grid),
              ::testing::ElementsAre("steps=10 dropout=0 seed=1", "steps=10 dropout=0 seed=2",
                                     "steps=20 dropout=0 seed=1", "steps=20 dropout=0.1 seed=1",
                                     "steps=20 dropout=0.2 seed=1"));
}

TEST(SweepGridTest, AnInactiveAxisCanBeExcludedByItsEmptyLabel) {
  const SweepGrid grid = GridFrom(std::string(kConditional) + ", exclude: [{gamma: '', pi_init: ''}]");
  EXPECT_EQ(grid.kept(), 8u);
  EXPECT_EQ(AllPoints(grid)[0], "method=clipped gamma=-0.1 pi_init= seed=1");
}

// Random sweeps: the count, the iteration and the single look-ups must agree with the definition, point by
// point.
TEST(SweepGridTest, CountIterationAndLookupAgree) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const char* fields[] = {"training.steps", "training.batch_size", "seed", "evaluation.mask_seed"};
    v1::SweepSpec sweep = SweepFrom("axes: []");
    const int axes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < axes; ++i) {
      v1::Axis& axis = *sweep.add_axes();
      axis.set_field(fields[i]);
      axis.set_name(std::string(1, static_cast<char>('a' + i)));
      const int length = 1 + static_cast<int>(random() % 4);
      for (int j = 0; j < length; ++j) axis.add_values()->set_number_value(j + 1);
      if (i > 0 && random() % 2 == 0) {
        const int on = static_cast<int>(random() % static_cast<unsigned>(i));
        (*axis.mutable_when())[std::string(1, static_cast<char>('a' + on))].set_number_value(
            1 + static_cast<double>(random() % static_cast<unsigned>(sweep.axes(on).values_size())));
      }
    }
    for (unsigned i = 0; i < random() % 3; ++i) {
      v1::Exclusion& exclusion = *sweep.add_exclude();
      for (int j = 0; j < axes; ++j) {
        if (random() % 2 == 0) continue;
        (*exclusion.mutable_match())[std::string(1, static_cast<char>('a' + j))].set_number_value(
            1 + static_cast<double>(random() % static_cast<unsigned>(sweep.axes(j).values_size())));
      }
      if (exclusion.match().empty()) (*exclusion.mutable_match())["a"].set_number_value(1);
    }
    Problems problems;
    const std::optional<SweepGrid> grid = SweepGrid::Create(sweep, &problems);
    if (!grid) {
      EXPECT_EQ(problems.kept()[0].path, "exclude");
      EXPECT_EQ(problems.kept()[0].text, "leaves out every point; remove an exclusion");
      continue;
    }
    // By the definition, from the labels alone.
    std::vector<std::uint64_t> expected;
    for (std::uint64_t index = 0; index < grid->size(); ++index) {
      std::vector<std::string> labels;
      std::uint64_t rest = index;
      bool is_point = true;
      std::vector<std::uint64_t> digits(static_cast<std::size_t>(axes));
      for (int i = axes; i-- > 0;) {
        digits[static_cast<std::size_t>(i)] = rest % static_cast<std::uint64_t>(sweep.axes(i).values_size());
        rest /= static_cast<std::uint64_t>(sweep.axes(i).values_size());
      }
      for (int i = 0; i < axes; ++i) {
        bool active = true;
        for (const auto& [name, value] : sweep.axes(i).when()) {
          active = active && labels[static_cast<std::size_t>(name[0] - 'a')] ==
                                 std::to_string(static_cast<int>(value.number_value()));
        }
        if (!active && digits[static_cast<std::size_t>(i)] != 0) is_point = false;
        labels.push_back(active ? std::to_string(digits[static_cast<std::size_t>(i)] + 1) : "");
      }
      for (const v1::Exclusion& exclusion : sweep.exclude()) {
        bool all = true;
        for (const auto& [name, value] : exclusion.match()) {
          all = all && labels[static_cast<std::size_t>(name[0] - 'a')] ==
                           std::to_string(static_cast<int>(value.number_value()));
        }
        if (all) is_point = false;
      }
      if (is_point) expected.push_back(index);
      EXPECT_EQ(grid->At(index).ok(), is_point);
    }
    std::vector<std::uint64_t> found;
    for (auto index = grid->NextIndex(0); index; index = grid->NextIndex(*index + 1)) found.push_back(*index);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(grid->kept(), expected.size());
  }
}

v1::SweepSpec SweepOfThree(int values) {
  v1::SweepSpec sweep = SweepFrom("axes: []");
  for (const char* field : {"seed", "training.steps", "data.text.tokenizer.byte_pair.vocab_size"}) {
    v1::Axis& axis = *sweep.add_axes();
    axis.set_field(field);
    for (int i = 0; i < values; ++i) axis.add_values()->set_number_value(1000 + i);
  }
  return sweep;
}

TEST(SweepGridTest, ABillionPointsCostTheirAxes) {
  Problems problems;
  const std::optional<SweepGrid> grid = SweepGrid::Create(SweepOfThree(1000), &problems);
  ASSERT_TRUE(grid.has_value()) << problems.ToStatus();
  grid->CheckValues(&problems);
  EXPECT_TRUE(problems.empty()) << problems.ToStatus();
  EXPECT_EQ(grid->size(), 1'000'000'000u);
  EXPECT_EQ(grid->kept(), 1'000'000'000u);
  EXPECT_EQ(grid->NextIndex(999'999'999), 999'999'999u);
  EXPECT_EQ(grid->At(999'999'999)->spec.seed(), 1999u);
}

TEST(SweepGridTest, AMillionPointsAreCountedWithExclusionsAndNoMore) {
  v1::SweepSpec sweep = SweepOfThree(101);
  (*sweep.add_exclude()->mutable_match())["steps"].set_number_value(1000);
  google::protobuf::Value& seeds = (*sweep.add_exclude()->mutable_match())["seed"];
  seeds.set_number_value(1000);
  const absl::StatusOr<SweepGrid> grid = SweepGrid::Create(sweep);
  EXPECT_EQ(grid.status().message(),
            "exclude: more than 1000000 points are left, and where axes have conditions or exclusions the "
            "points are "
            "counted one by one; leave out values, draw samples (sampling), or split the sweep");
  for (const int seed : {1000, 1001}) seeds.mutable_list_value()->add_values()->set_number_value(seed);
  Problems problems;
  const std::optional<SweepGrid> narrower = SweepGrid::Create(sweep, &problems);
  ASSERT_TRUE(narrower.has_value()) << problems.ToStatus();
  narrower->CheckValues(&problems);
  EXPECT_TRUE(problems.empty()) << problems.ToStatus();
  EXPECT_EQ(narrower->size(), 101u * 101 * 101);
  EXPECT_EQ(narrower->kept(), 99u * 100 * 101);
  EXPECT_EQ(narrower->NextIndex(0), 2u * 101 * 101 + 101);
  EXPECT_EQ(narrower->NextIndex(101u * 101 * 101 - 1), 101u * 101 * 101 - 1);
}

TEST(SweepGridTest, SkippingDoesNotWalkTheExcludedPoints) {
  v1::SweepSpec sweep = SweepFrom("axes: []");
  for (const char* field : {"training.steps", "evaluation.mask_seed", "seed"}) {
    v1::Axis& axis = *sweep.add_axes();
    axis.set_field(field);
    for (int i = 0; i < 10'000; ++i) axis.add_values()->set_number_value(1 + i);
  }
  for (const char* name : {"steps", "mask_seed"}) {
    google::protobuf::ListValue& values = *(*sweep.add_exclude()->mutable_match())[name].mutable_list_value();
    for (int i = 0; i < 9'999; ++i) values.add_values()->set_number_value(1 + i);
  }
  const SweepGrid grid = SweepGrid::Create(sweep).value();
  EXPECT_EQ(grid.size(), 1'000'000'000'000u);
  EXPECT_EQ(grid.kept(), 10'000u);
  EXPECT_EQ(grid.NextIndex(0), 999'999'990'000u);
  EXPECT_EQ(grid.NextIndex(999'999'999'999u), 999'999'999'999u);
}

std::string ErrorOfGrid(const v1::SweepSpec& sweep) { return MessageOf(SweepGrid::Create(sweep).status()); }

void AddAxisOfTwo(const std::string& field, const std::string& name, v1::SweepSpec* sweep) {
  v1::Axis& axis = *sweep->add_axes();
  axis.set_name(name);
  axis.set_field(field);
  for (int value = 1; value <= 2; ++value) axis.add_values()->set_number_value(value);
}

// Fields of the tiny BERT that can be 1 and 2, in groups that exclude no other.
void AddFieldsOfTwo(const google::protobuf::Descriptor& message, const std::string& prefix,
                    std::vector<std::string>* fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.field(i);
    const auto* choice = field.containing_oneof();
    if (field.is_repeated() || (choice != nullptr && choice->field(0) != &field)) continue;
    const std::string path = prefix + field.name();
    if (field.message_type() != nullptr) {
      AddFieldsOfTwo(*field.message_type(), path + ".", fields);
    } else if (path != "evaluation.mask_seed" && path != "training.steps") {
      v1::SweepSpec sweep = SweepFrom("axes: []");
      AddAxisOfTwo(path, "a", &sweep);
      if (ErrorOfGrid(sweep) == "OK") fields->push_back(path);
    }
  }
}

// Axes of two values, and for each but the last an exclusion of its second value with one of the last axis.
v1::SweepSpec EntangledSweep(int axes, int last_values) {
  v1::SweepSpec sweep = SweepFrom("axes: []");
  std::vector<std::string> fields;
  AddFieldsOfTwo(*v1::TrialSpec::descriptor(), "", &fields);
  for (int i = 0; i + 1 < axes; ++i) {
    const std::string name = "a" + std::to_string(i);
    AddAxisOfTwo(fields[static_cast<std::size_t>(i) % fields.size()], name, &sweep);
    auto& match = *sweep.add_exclude()->mutable_match();
    match[name].set_number_value(2);
    match["mask_seed"].set_number_value(1 + i % last_values);
  }
  v1::Axis& last = *sweep.add_axes();
  last.set_field("evaluation.mask_seed");
  for (int value = 1; value <= last_values; ++value) last.add_values()->set_number_value(value);
  return sweep;
}

TEST(SweepGridTest, EntangledExclusionsAreRefusedWithTheRemedy) {
  EXPECT_THAT(ErrorOfGrid(EntangledSweep(35, 40)),
              ::testing::StartsWith("exclude: more than 1000000 points are left"));
  // Each combination of the first 23 axes is left out by the last one.
  v1::SweepSpec sweep = EntangledSweep(24, 2);
  for (int i = 0; i + 1 < 24; ++i) {
    for (int last : {1, 2}) {
      auto& match = *sweep.add_exclude()->mutable_match();
      match["a" + std::to_string(i)].set_number_value(1);
      match["mask_seed"].set_number_value(last);
    }
  }
  EXPECT_THAT(ErrorOfGrid(sweep),
              ::testing::AllOf(
                  ::testing::StartsWith("exclude: counting the points that are left takes too long: 0 in "),
                  ::testing::EndsWith("steps; put axes that one exclusion names next to each other, name "
                                      "fewer axes in one exclusion, or split the sweep")));
  EXPECT_EQ(ErrorOfGrid(EntangledSweep(200, 40)), "axes: 200 axes are more than 64; split the sweep");
}

TEST(SweepGridTest, ManyAxesWithoutAPointAreKnownToHaveNone) {
  v1::SweepSpec sweep = EntangledSweep(16, 2);
  EXPECT_EQ(ErrorOfGrid(sweep), "OK");
  google::protobuf::ListValue& all =
      *(*sweep.add_exclude()->mutable_match())["mask_seed"].mutable_list_value();
  for (int value = 1; value <= 2; ++value) all.add_values()->set_number_value(value);
  EXPECT_EQ(ErrorOfGrid(sweep), "exclude: leaves out every point; remove an exclusion");
}

TEST(SweepGridTest, SizesBeyondSixtyThreeBitsAreCapped) {
  v1::SweepSpec sweep = SweepFrom("axes: []");
  const char* fields[] = {"seed", "training.steps", "evaluation.mask_seed", "evaluation.batches",
                          "evaluation.kurtosis_batches"};
  for (const char* field : fields) {
    v1::Axis& axis = *sweep.add_axes();
    axis.set_field(field);
    for (int i = 0; i < 100'000; ++i) axis.add_values()->set_number_value(1 + i);
  }
  const SweepGrid grid = SweepGrid::Create(sweep).value();
  EXPECT_EQ(grid.size(), SweepGrid::kSizeMax);
  EXPECT_EQ(grid.kept(), SweepGrid::kSizeMax);
  EXPECT_EQ(LabelsOf(*grid.At(123'456)), "seed=1 steps=1 mask_seed=1 batches=2 kurtosis_batches=23457");
  EXPECT_EQ(grid.NextIndex(SweepGrid::kSizeMax), std::nullopt);
}

TEST(SweepGridTest, FormsOfAxesAreChecked) {
  EXPECT_EQ(GridError("axes: [{}]"),
            "axes[0]: has nothing to vary; give exactly one of: field with values, range or normal, zip with "
            "values, name "
            "with variants");
  EXPECT_EQ(GridError("axes: [{field: seed, zip: [dropout], values: [1]}]"),
            "axes[0]: mixes forms; give exactly one of: field with values, range or normal, zip with values, "
            "name with variants");
  EXPECT_EQ(GridError("axes: [{name: m, variants: [{label: a, set: {}}], values: [1]}]"),
            "axes[0]: mixes forms; give exactly one of: field with values, range or normal, zip with values, "
            "name with variants");
  EXPECT_EQ(GridError("axes: [{field: seed, values: []}]"),
            "axes[0].values: is empty; give at least one value, or remove the axis");
  EXPECT_EQ(GridError("axes: [{field: seed}]"),
            "axes[0].values: is empty; give at least one value, or remove the axis");
  EXPECT_EQ(GridError("axes: [{variants: [{label: a, set: {}}]}]"),
            "axes[0].name: is missing; variants need a name for the axis, such as method\n"
            "axes[0].name: is empty; give a short text");
  EXPECT_EQ(GridError("axes: [{name: m, variants: [{set: {}}]}]"),
            "axes[0].variants[0].label: is empty; give a short text");
  EXPECT_EQ(GridError("axes: [{field: sead, values: [1]}]"),
            "axes[0].field: sead: unknown field; did you mean \"seed\"?");
  EXPECT_EQ(GridError("axes: [{field: attention.softmax, values: [vanilla]}]"),
            "axes[0].field: attention.softmax: is a group of fields; name one of them, or use variants to "
            "choose between groups");
  EXPECT_EQ(GridError("axes: [{zip: [seed, seed], values: [[1, 2]]}]"),
            "axes[0].zip[1]: seed: is named twice; remove one");
  EXPECT_EQ(GridError("axes: [{zip: [seed, dropout], values: [[1], 2]}]"),
            "axes[0].values[0]: has 1 values; zip names 2 fields, give a list of as many values\n"
            "axes[0].values[1]: is not a list; zip names 2 fields, give a list of as many values");
}

TEST(SweepGridTest, RepeatsAreRefused) {
  EXPECT_EQ(GridError("axes: [{field: dropout, values: [0.1, 0, 1e-1]}]"),
            "axes[0].values[2]: \"0.1\" is there twice; remove one");
  EXPECT_EQ(GridError("axes: [{name: m, variants: [{label: a, set: {seed: 1}}, {label: b, set: {seed: 1}}, "
                      "{label: a, set: {seed: 3}}]}]"),
            "axes[0].variants[1]: sets the same as \"a\"; remove one\n"
            "axes[0].variants[2]: \"a\" is there twice; remove one");
  EXPECT_EQ(GridError("axes: [{field: quantization.weights.bits, values: [8]}, {field: "
                      "quantization.activations.bits, values: [8]}]"),
            "axes[1]: the name \"bits\" is taken by axes[0]; give this one another with name:");
}

TEST(SweepGridTest, ValuesAreCheckedWithoutAReaderToo) {
  v1::SweepSpec sweep = SweepFrom("axes: []");
  sweep.add_axes()->set_field("dropout");
  sweep.mutable_axes(0)->add_values()->set_number_value(3);
  sweep.mutable_axes(0)->add_values()->set_string_value("x");
  EXPECT_EQ(SweepGrid::Create(sweep).status().message(),
            "axes[0].values[0]: 3 is out of range: give a number at least 0 and below 1\n"
            "axes[0].values[1]: \"x\" is not a number; write a number such as 3, 0.03 or 3e-4");
}

TEST(SweepGridTest, ConditionsAndExclusionsMustNameWhatExists) {
  const std::string axes =
      "axes: [{name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: "
      "{attention.softmax.clipped: {}}}]}, ";
  EXPECT_EQ(GridError(axes + "{field: seed, values: [1, 2], when: {metod: clipped}}]"),
            "axes[1].when.metod: \"metod\" is not an axis of this sweep; did you mean \"method\"?");
  EXPECT_EQ(GridError(axes + "{field: seed, values: [1, 2], when: {method: [cliped]}}]"),
            "axes[1].when.method[0]: \"cliped\" is not a label of axis method; did you mean \"clipped\"?");
  EXPECT_EQ(GridError(axes + "{field: seed, values: [1, 2], when: {seed: 1}}]"),
            "axes[1].when.seed: an axis cannot depend on itself; name another one");
  EXPECT_EQ(
      GridError("axes: [{field: seed, values: [1, 2], when: {dropout: 0}}, {field: dropout, values: [0]}]"),
      "axes[0].when.dropout: axis dropout comes later; put it before this one");
  EXPECT_EQ(GridError(axes + "{field: seed, values: [1, 2]}], exclude: [{seed: 3}]"),
            "exclude[0].seed: \"3\" is not a label of axis seed; known: 1, 2");
  EXPECT_EQ(GridError(axes + "{field: seed, values: [1, 2]}], exclude: [{}]"),
            "exclude[0]: names no axis and would leave out everything; name at least one, such as {seed: 1}");
  EXPECT_EQ(GridError(axes + "{field: seed, values: [1, 2]}], exclude: [{seed: [1, 2]}]"),
            "exclude: leaves out every point; remove an exclusion");
  EXPECT_EQ(GridError(axes + "{field: seed, values: [1, 2]}], exclude: [{seed: []}]"),
            "exclude[0].seed: is an empty list; name at least one label");
}

TEST(SweepGridTest, VariantsThatSetTheSameMayDifferByTheAxesThatTheySwitchOn) {
  const std::string methods =
      "axes: [{name: method, variants: [{label: vanilla, set: {}}, {label: clipped gamma, set: {}}, "
      "{label: clipped alpha, set: {}}]}, ";
  const SweepGrid grid = *SweepGrid::Create(SweepFrom(
      methods +
      "{field: attention.softmax.clipped.gamma, values: [-0.1, -0.2], when: {method: clipped gamma}}, "
      "{field: attention.softmax.clipped.alpha, values: [4, 8], when: {method: [clipped alpha]}}]"));
  EXPECT_EQ(grid.kept(), 5u);
  EXPECT_EQ(
      GridError(methods + "{field: attention.softmax.clipped.gamma, values: [-0.1], when: {method: [clipped "
                          "gamma, clipped alpha]}}]"),
      "axes[0].variants[2]: sets the same as \"clipped gamma\"; remove one");
}

TEST(SweepGridTest, AnAxisThatIsLimitedAlreadyGetsTheOtherAdvice) {
  EXPECT_EQ(
      GridError("axes: [{name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: "
                "{attention.softmax.clipped.gamma: -0.3}}]}, "
                "{field: attention.softmax.clipped.gamma, values: [-0.1], when: {method: clipped}}]"),
      "axes[1].values[0]: sets attention.softmax.clipped.gamma as axis method does at method=clipped, where "
      "the "
      "`when` of this axis lets it act; leave it out of method=clipped, or leave that label out of `when`");
}

TEST(SweepGridTest, AxesMayNotSilentlyOverrideEachOther) {
  EXPECT_EQ(GridError("axes: [{name: length, variants: [{label: short, set: {training: {steps: 5}}}, {label: "
                      "as is, set: {}}]}, {field: training.steps, values: [1, 2]}]"),
            "axes[1].values[0]: sets training.steps as axis length does at length=short; limit this axis "
            "with when: {length: [...]}, or use one axis");
  EXPECT_EQ(GridError("axes: [{name: length, variants: [{label: short, set: {training: {steps: 5}}}, {label: "
                      "as is, set: {}}]}, "
                      "{field: training.steps, values: [1, 2], when: {length: as is}}]"),
            "OK");
  const std::string methods =
      "axes: [{name: method, variants: [{label: vanilla, set: {attention.softmax.vanilla: {}}}, {label: "
      "clipped, set: {attention.softmax.clipped: {}}}]}, ";
  EXPECT_EQ(GridError(methods + "{field: attention.softmax.clipped.gamma, values: [-0.1]}]"),
            "axes[1].values[0]: chooses clipped for attention.softmax where vanilla is chosen, as axis "
            "method does at method=vanilla; "
            "limit this axis with when: {method: [...]}, or use one axis");
  EXPECT_EQ(
      GridError(methods +
                "{field: attention.softmax.clipped.gamma, values: [-0.1]}], exclude: [{method: vanilla}]"),
      "OK");
  EXPECT_EQ(GridError(methods +
                      "{field: attention.softmax.clipped.gamma, values: [-0.1], when: {method: clipped}}]"),
            "OK");
}

TEST(SweepGridTest, BoundsOfAxesAndValues) {
  v1::SweepSpec sweep = SweepFrom("axes: []");
  for (int i = 0; i < 65; ++i) sweep.add_axes()->set_field("seed");
  EXPECT_EQ(SweepGrid::Create(sweep).status().message(), "axes: 65 axes are more than 64; split the sweep");
  v1::SweepSpec wide = SweepFrom("axes: []");
  wide.add_axes()->set_field("seed");
  for (int i = 0; i < 100'001; ++i) wide.mutable_axes(0)->add_values()->set_number_value(i);
  EXPECT_EQ(SweepGrid::Create(wide).status().message(),
            "axes[0]: 100001 values are more than 100000; split the sweep");
}

}  // namespace
}  // namespace inlier
