// Sweeps of other tools in cases/ and what they become, in expected/: the sweep with its remarks, and the draft of inlier-program.yaml.
//
// To write them anew: cd tests/cli/convert/cases; for f in *; do inlier convert $f --force -o ../expected/$f.sweep.yaml --description ../expected/$f.program.yaml; done
#include "cli/convert/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/files/file.h"
#include "spec/sweep/sweep_reader.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;

std::filesystem::path Cases(const std::string& name) {
  return std::filesystem::path(INLIER_CONVERT_TESTS) / "cases" / name;
}
std::string Expected(const std::string& name) {
  return ReadFile(std::filesystem::path(INLIER_CONVERT_TESTS) / "expected" / name).value_or("");
}

class ConversionTest : public testing::TestWithParam<std::string> {
 protected:
  static Conversion Convert() {
    const std::string text = ReadFile(Cases(GetParam())).value_or("");
    absl::StatusOr<Conversion> made = ConvertSweep(text, GetParam(), "");
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : Conversion{};
  }
};

TEST_P(ConversionTest, IsAsExpected) {
  const Conversion made = Convert();
  EXPECT_EQ(SweepFileText(made, GetParam()), Expected(GetParam() + ".sweep.yaml"));
  EXPECT_EQ(ProgramFileText(made, GetParam()), Expected(GetParam() + ".program.yaml"));
}

TEST_P(ConversionTest, PassesTheCheckOfSweeps) {
  const Conversion made = Convert();
  const TemporaryFolder folder;
  folder.Write("sweep.yaml", SweepFileText(made, GetParam()));
  folder.Write("inlier-program.yaml", ProgramFileText(made, GetParam()));
  folder.Write("train.py", "");
  const absl::StatusOr<v1::SweepSpec> read = ReadSweepFile(folder.path() / "sweep.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->axes_size(), static_cast<int>(made.sweep["axes"].size()));
  EXPECT_EQ(read->program().name(), made.sweep["program"].get<std::string>());
  EXPECT_EQ(ForeignTool(SweepFileText(made, GetParam())), "");
  EXPECT_EQ(ForeignTool(ProgramFileText(made, GetParam())), "");
}

// Whatever is in a file comes out, or a remark says its line.
TEST_P(ConversionTest, NothingIsLeftOutInSilence) {
  const Conversion made = Convert();
  for (const Remark& remark : made.remarks) {
    EXPECT_GT(remark.position.line, 0);
    EXPECT_THAT(SweepFileText(made, GetParam()),
                HasSubstr(GetParam() + ":" + std::to_string(remark.position.line) + ":"));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ConversionTest,
                         testing::Values("wandb-grid.yaml", "wandb-random.json", "wandb-bayes.yaml",
                                         "wandb-capped.yaml", "hydra-basic.yaml", "hydra-optuna.yaml",
                                         "hydra-search-space.yaml", "hydra-grid.yaml"),
                         [](const auto& info) {
                           std::string name = info.param.substr(0, info.param.find('.'));
                           std::erase(name, '-');
                           return name;
                         });

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<Conversion> made = ConvertSweep(text, "f.yaml", "");
  return made.ok() ? "" : std::string(made.status().message());
}

TEST(ConversionErrorTest, TextThatIsNoYamlIsRefusedWithItsPlace) {
  EXPECT_THAT(ErrorOf("method: [grid"), testing::StartsWith("f.yaml:1:1: this is not YAML: "));
  EXPECT_EQ(ErrorOf(""), "f.yaml:1:1: the document is empty; write at least one `field: value`");
  EXPECT_EQ(ErrorOf("a: \xff"), "f.yaml:1:4: the text is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(ErrorOf("a: &x {parameters: *x}"),
            "f.yaml:1:20: the alias is inside the value that it names; write the value out");
  EXPECT_THAT(
      ErrorOf("method: grid\nparameters: {a: !!python/object:os.system {value: 1}}"),
      HasSubstr(
          "f.yaml:2:17: the tag tag:yaml.org,2002:python/object:os.system has no meaning here; remove it"));
}

TEST(ConversionErrorTest, HugeTextIsRefusedInShortTime) {
  EXPECT_EQ(ErrorOf(std::string(9 << 20, 'a')),
            "f.yaml:1:1: the document has more than 8 MiB; make it smaller");
  // Ten lists of ten, nine levels deep.
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string one = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + one;
    for (int j = 0; j < 9; ++j) bomb += "," + one;
    bomb += "]\n";
  }
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("more than 1000000 values (aliases counted at each use)"));
  EXPECT_THAT(ErrorOf("method: grid\nparameters: {a: " + std::string(200, '[')),
              testing::StartsWith("f.yaml:2:"));
  EXPECT_THAT(ErrorOf("hydra: {sweeper: {params: {a: '" + std::string(5000, '[') + "'}}}"),
              HasSubstr("has brackets deeper than 50 levels"));
  std::string many = "method: grid\nparameters:\n";
  for (int i = 0; i < 2000; ++i) many += "  p" + std::to_string(i) + ": {value: 1}\n";
  EXPECT_EQ(ErrorOf(many), "f.yaml:1003:3: more than 1000 parameters; leave out those that do not vary");
  std::string axes = "method: grid\nparameters:\n";
  for (int i = 0; i < 65; ++i) axes += "  p" + std::to_string(i) + ": {values: [1, 2]}\n";
  EXPECT_EQ(ErrorOf(axes), "f.yaml:3:3: 65 parameters vary, more than 64; give some of them one value");
  EXPECT_EQ(ErrorOf("method: grid\nparameters: {a: {min: 0, max: 1000000}}"),
            "f.yaml:2:17: parameters.a: has 1000001 values in a grid, and an axis may have 1 to 100000; give "
            "another q, min or max");
  EXPECT_EQ(ErrorOf("hydra: {sweeper: {params: {a: range(1e9)}}}"),
            "f.yaml:1:28: hydra.sweeper.params.a: has no values, or more than 100000; give another start, "
            "stop or step");
}

TEST(ConversionErrorTest, OtherFilesAreRefusedWithTheRemedy) {
  for (const char* text : {"name: x\nbase: {}\naxes: []\n", "[1, 2]", "word", "parameters: {a: {value: 1}}",
                           "name: mine\ncommand: [python, train.py]\nparameters: {lr: {type: NUMBER}}\n"}) {
    EXPECT_EQ(ErrorOf(text),
              "f.yaml:1:1: is neither a sweep of Weights & Biases (method, parameters) nor a configuration "
              "of Hydra with "
              "hydra.sweeper.params; a sweep of inlier needs no conversion: inlier check f.yaml");
  }
  EXPECT_THAT(ErrorOf("hydra: {run: {dir: x}}\n"),
              HasSubstr("f.yaml:1:1: hydra: has no sweeper with params, so nothing is swept; write"));
  EXPECT_THAT(ErrorOf("hydra: {sweeper: {n_trials: 3}}\n"),
              HasSubstr("f.yaml:1:18: hydra.sweeper.params: is missing, so nothing is swept"));
}

TEST(ConversionErrorTest, MistakesOfWandbHavePlaceAndRemedy) {
  EXPECT_EQ(ErrorOf("method: grid\nmetric: {name: a, goal: max}\nparameters: {a: {value: 1}}"),
            "f.yaml:2:25: metric.goal: is neither minimize nor maximize; write one");
  const auto grid = [](const std::string& parameter) {
    return ErrorOf("method: random\nparameters:\n  a: " + parameter);
  };
  EXPECT_EQ(ErrorOf("program: t.py\nparameters: {a: {value: 1}}"),
            "f.yaml:1:1: method: is missing; write grid, random or bayes");
  EXPECT_EQ(ErrorOf("method: tpe\nparameters: {a: {value: 1}}"),
            "f.yaml:1:1: method: \"tpe\" is no method of W&B; write grid, random or bayes");
  EXPECT_EQ(ErrorOf("method: grid\nparameters: {}\n"),
            "f.yaml:1:1: the sweep has no parameters; give it some");
  EXPECT_EQ(ErrorOf("method: grid\nrun_cap: some\nparameters: {a: {value: 1}}"),
            "f.yaml:2:10: run_cap: is not a whole number from 1 to 4294967295; write one");
  EXPECT_EQ(ErrorOf("method: grid\nmethod: random\nparameters: {a: {value: 1}}"),
            "f.yaml:2:1: method: is given twice; remove one");
  EXPECT_EQ(grid("0.1"), "f.yaml:3:3: parameters.a: is not a mapping; write {value: ...} or {values: [...]}");
  EXPECT_EQ(grid("{min: 1}"),
            "f.yaml:3:6: parameters.a: has no value, values, or min and max; give one of them");
  EXPECT_EQ(grid("{min: x, max: 2}"),
            "f.yaml:3:12: parameters.a.min: is not a number; write one such as 3 or 1e-4");
  EXPECT_EQ(grid("{min: 2.5, max: 1}"),
            "f.yaml:3:6: parameters.a: has no range from 2.5 to 1; give finite ends, the smaller one as min");
  EXPECT_EQ(grid("{distribution: unifrom, min: 0, max: 1}"),
            "f.yaml:3:21: parameters.a.distribution: \"unifrom\" is no distribution of W&B; did you mean "
            "\"uniform\"?");
  EXPECT_EQ(
      grid("{distribution: log_uniform, min: 0, max: 1000}"),
      "f.yaml:3:6: parameters.a: has no range from 1 to Infinity; give finite ends, the smaller one as min");
  EXPECT_EQ(grid("{distribution: log_uniform_values, min: 0, max: 1}"),
            "f.yaml:3:6: parameters.a: is logarithmic and has a min of 0 or less; raise it");
  EXPECT_EQ(grid("{values: [1, 2], probabilities: [1]}"),
            "f.yaml:3:23: parameters.a.probabilities: has 1 numbers for 2 values; give one for each");
  EXPECT_EQ(grid("{values: 3}"), "f.yaml:3:15: parameters.a.values: is not a list of values; write [...]");
  EXPECT_EQ(grid("{distribution: normal, sigma: 0}"),
            "f.yaml:3:6: parameters.a: has no sigma above 0; write the one value: value: ...");
}

TEST(ConversionErrorTest, MistakesOfHydraHavePlaceAndRemedy) {
  const auto param = [](const std::string& value) {
    return ErrorOf("hydra:\n  sweeper:\n    params:\n      a: " + value);
  };
  const std::string at = "f.yaml:4:10: hydra.sweeper.params.a: ";
  EXPECT_EQ(param("chioce(1, 2)"), at + "\"chioce\" is no function of Hydra; did you mean \"choice\"?");
  EXPECT_EQ(
      param("glob(*)"),
      at + "glob() looks into the configuration, which is not read here; write the values: choice(a, b)");
  EXPECT_EQ(param("choice(1, 2"), at + "\"choice(1, 2\" ends too early; close its brackets and quotes");
  EXPECT_EQ(param("1,,2"), at + "\",2\" is not expected there; look at the commas, brackets and quotes");
  EXPECT_EQ(param("choice(range(2), 1)"), at + "has a sweep inside of a choice; take it out");
  EXPECT_EQ(param("interval(1)"), at + "has no number for end; give it");
  EXPECT_EQ(param("range(1, 2, 0)"), at + "has a step of 0; give another");
  EXPECT_EQ(param("interval(2, 1)"),
            "f.yaml:4:7: hydra.sweeper.params.a: has its larger end first; exchange the two");
  EXPECT_EQ(
      param("tag(log, interval(0, 1))"),
      "f.yaml:4:7: hydra.sweeper.params.a: is logarithmic and begins at 0 or less; raise its beginning");
}

TEST(ConversionTest, ProgramIsNamedByTheArgument) {
  const std::string text = "program: a b.py\nmethod: grid\nparameters: {x: {values: [1, 2]}}\n";
  const absl::StatusOr<Conversion> made = ConvertSweep(text, "dir/sw.yaml", "my-net");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->sweep.dump(), R"({"name":"sw","program":"my-net","axes":[{"field":"x","values":[1,2]}]})");
  EXPECT_EQ(made->program.dump(),
            R"({"name":"my-net","command":["python","a b.py"],"parameters":{"x":{"type":"INTEGER"}}})");
  EXPECT_EQ(std::string(ConvertSweep(text, "sw.yaml", "../net").status().message()),
            "sw.yaml:1:1: --program: \"../net\" cannot name a program; use letters, digits, \"_\" and \"-\", "
            "a letter first");
}

TEST(ConversionTest, ASweepOfOnePointHasNoAxes) {
  const absl::StatusOr<Conversion> made =
      ConvertSweep("method: grid\nparameters: {x: {value: 1}}\n", "one.yaml", "");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->sweep.dump(), R"({"name":"one","program":"train","base":{"x":1}})");
}

TEST(ConversionTest, SmallSpacesRunWhole) {
  const absl::StatusOr<Conversion> made = ConvertSweep(
      "method: bayes\nrun_cap: 9\nparameters: {a: {values: [1, 2, 3]}, b: {values: [x, z]}}", "f.yaml", "");
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE(made->sweep.contains("sampling"));
  ASSERT_EQ(made->remarks.size(), 3u);
  EXPECT_EQ(RemarkText("f.yaml", made->remarks[1]),
            "f.yaml:1:1: method: bayes: inlier draws all points before there are results; here all of them "
            "run: narrow the "
            "ranges by the results, and submit that as a further sweep");
  EXPECT_EQ(RemarkText("f.yaml", made->remarks[2]),
            "f.yaml:2:1: run_cap: is not less than the 6 points that there are, so all of them run, each "
            "once; an axis of "
            "`seed` repeats them");
}

// Names and texts of a file cannot end a comment or a value of the produced one.
TEST(ConversionTest, TextsStayTexts) {
  const absl::StatusOr<Conversion> made = ConvertSweep(
      "method: grid\nname: 'true'\nparameters:\n  \"a\\nbase: {x\": {values: [\"1\", 'null', \"a\\n- b: c\", "
      "'x: y', \"\\x7f\", '#']}\n",
      "f\n.yaml", "");
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string text = SweepFileText(*made, "f\n.yaml");
  EXPECT_THAT(text, HasSubstr("name: \"true\"\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "  - {field: a_base_x, values: [\"1\", \"null\", \"a\\n- b: c\", \"x: y\", \"\\x7f\", \"#\"]}\n"));
  EXPECT_THAT(text, HasSubstr("f\\n.yaml:4:3: parameters.a\\nbase: {x: is called a_base_x here"));
}

TEST(ForeignToolTest, IsNamedWithTagsToo) {
  EXPECT_EQ(ForeignTool("method: grid\nparameters: {a: {min: !!float 1e-5, max: 1}}"),
            "a sweep of Weights & Biases");
  EXPECT_EQ(ForeignTool("hydra: {sweeper: {params: {}}}"), "a configuration of Hydra");
  EXPECT_EQ(ForeignTool("name: x\nprogram: p\nbase: {}\naxes: []"), "");
  EXPECT_EQ(ForeignTool("method: ["), "");
}

}  // namespace
}  // namespace inlier
