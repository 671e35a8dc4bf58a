// Sweeps over a program of one's own: read, checked, expanded, fingerprinted by the code that does it for our models.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/program/measurement_list.h"
#include "spec/program/program_columns.h"
#include "spec/program/trial_form.h"
#include "spec/schema/field_path.h"
#include "spec/sweep/default_table.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/canonical.h"
#include "spec/trial/data_source.h"
#include "tests/spec/program/program_folder.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kProgramSweep[] =
    "name: lrs\n"
    "program: mygpt\n"
    "base: {data: wiki, optimizer.momentum: 0.8}\n"
    "axes:\n"
    "  - {field: lr, values: [1e-3, 3e-4]}\n"
    "  - {field: bits, values: [8, 4]}\n"
    "  - {field: seed, values: [1, 2]}\n";

struct ProgramSweepTest : testing::Test {
  absl::StatusOr<v1::SweepSpec> Read(const std::string& yaml, const std::vector<std::string>& overrides = {},
                                     const std::string& scale = "") const {
    return ReadSweepText(yaml, (folder.path() / "s.yaml").string(), overrides, scale);
  }
  std::string ErrorOf(const std::string& yaml, const std::vector<std::string>& overrides = {}) const {
    std::string message = MessageOf(Read(yaml, overrides).status());
    const std::string prefix = (folder.path() / "s.yaml").string() + ":";
    for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) message.erase(at, prefix.size());
    return message;
  }
  // The resolved trial of a point.
  v1::TrialSpec Trial(const v1::SweepSpec& sweep, std::uint64_t index) const {
    const SweepGrid grid = SweepGrid::Create(sweep).value();
    v1::TrialSpec trial = grid.At(index)->spec;
    EXPECT_EQ(grid.form().Resolve(&trial), absl::OkStatus());
    SeriesValidator series;
    EXPECT_TRUE(grid.form().Find(trial, series).empty());
    return trial;
  }

  ProgramFolder folder;
};

TEST_F(ProgramSweepTest, APointHasTheDefaultsTheBaseAndItsAxes) {
  const v1::SweepSpec sweep = Read(kProgramSweep).value();
  EXPECT_EQ(SweepGrid::Create(sweep)->kept(), 8u);
  EXPECT_EQ(ResolvedPartJson(Trial(sweep, 7), v1::TRAIN_STAGE),
            "{\"seed\":2,\"program\":{\"name\":"
            "\"mygpt\",\"digest\":\"" +
                sweep.program().digest() +
                "\",\"parameters\":{\"causal\":true,\"data\":\"wiki\",\"layers\":4,\"lr\":3e-4,\"optimizer."
                "momentum\":0.8,"
                "\"optimizer.name\":\"adam\"},\"incidental\":{\"print_every\":10}}}");
  EXPECT_EQ(ResolvedPartJson(Trial(sweep, 7), v1::EVALUATE_STAGE),
            "{\"program_evaluation\":{\"parameters\":{\"bits\":4}}}");
  EXPECT_EQ(DataSourceNames(Trial(sweep, 0)), "{\"program\":{\"name\":\"mygpt\"}}");
}

TEST_F(ProgramSweepTest, WhatOnlyTheEvaluationReadsDoesNotTrainAgain) {
  const v1::SweepSpec sweep = Read(kProgramSweep).value();
  const v1::TrialSpec first = Trial(sweep, 0), other_bits = Trial(sweep, 2), other_lr = Trial(sweep, 4);
  EXPECT_EQ(TrainFingerprint(first), TrainFingerprint(other_bits));
  EXPECT_NE(EvaluateFingerprint(first), EvaluateFingerprint(other_bits));
  EXPECT_NE(TrainFingerprint(first), TrainFingerprint(other_lr));
  const PackedParts parts = SplitPacked(first);
  v1::TrialSpec whole;
  ASSERT_TRUE(whole.ParseFromString(parts.train + parts.evaluate));
  EXPECT_EQ(ResolvedJson(whole), ResolvedJson(first));
  EXPECT_EQ(ResolvedJson(TrialSpecFromJson(ResolvedJson(first)).value()), ResolvedJson(first));
}

TEST_F(ProgramSweepTest, WhatDoesNotDecideTheResultIsNotInItsIdentity) {
  const v1::SweepSpec sweep = Read(kProgramSweep).value(),
                      chatty = Read(kProgramSweep, {"print_every=1"}).value();
  EXPECT_EQ(EvaluateFingerprint(Trial(sweep, 0)), EvaluateFingerprint(Trial(chatty, 0)));
  EXPECT_NE(ResolvedJson(Trial(sweep, 0)), ResolvedJson(Trial(chatty, 0)));
  // The source is named data: its digest is not in the fingerprint, as that of a text is not.
  folder.Write("train.py", "print('another')\n");
  const v1::SweepSpec changed = Read(kProgramSweep).value();
  EXPECT_NE(changed.program().digest(), sweep.program().digest());
  EXPECT_EQ(TrainFingerprint(Trial(changed, 0)), TrainFingerprint(Trial(sweep, 0)));
}

TEST_F(ProgramSweepTest, MistakesAreNamedAsForOurModels) {
  const std::string head = "name: s\nprogram: mygpt\n";
  EXPECT_EQ(ErrorOf(kProgramSweep), "OK");
  EXPECT_EQ(ErrorOf(head + "base: {data: wiki, lrr: 1}\n"),
            "3:20: base.lrr: unknown field; did you mean \"lr\"?");
  EXPECT_THAT(ErrorOf(head + "base: {data: wiki, lr: 2}\n"),
              HasSubstr("3:24: base.lr: 2 is out of range: give a number above 0 and at most 1"));
  EXPECT_THAT(ErrorOf(head + "base: {data: wiki, layers: 2.5}\n"), HasSubstr("2.5 is not a whole number"));
  EXPECT_THAT(ErrorOf(head + "base: {data: wiki, optimizer: {name: adan}}\n"),
              HasSubstr("\"adan\" is not one of the choices; did you mean \"adam\"?"));
  EXPECT_THAT(ErrorOf(head), HasSubstr("base.data: is missing: give a text"));
  EXPECT_THAT(ErrorOf("name: s\nbase: {program: {name: x}}\n"), HasSubstr("base.program: unknown field"));
  EXPECT_THAT(ErrorOf(head + "base: {data: wiki, model: {bert: {preset: tiny}}}\n"),
              HasSubstr("base.model: unknown field"));
  EXPECT_THAT(ErrorOf(head + "base: {data: w}\naxes: [{field: lr, values: [0.1, 3]}]\n"),
              HasSubstr("4:34: axes[0].values[1]: 3 is out of range"));
  EXPECT_THAT(
      ErrorOf(head +
              "base: {data: w}\naxes: [{name: m, variants: [{label: a, set: {optimizer.name: adamw}}]}]\n"),
      HasSubstr("optimizer.name: \"adamw\" is not one of the choices"));
  EXPECT_THAT(ErrorOf(head + "base: {data: w}\naxes: [{field: optimizer, values: [1]}]\n"),
              HasSubstr("is a group of fields"));
  EXPECT_THAT(ErrorOf(kProgramSweep, {"lr=7"}), HasSubstr("--set lr=7"));
  EXPECT_THAT(ErrorOf("name: s\nprogram: other\nbase: {data: w}\n"),
              HasSubstr("2:10: program: " + (folder.path() / "inlier-program.yaml").string() +
                        " describes mygpt, not other"));
  EXPECT_THAT(ErrorOf("name: s\nprogram: [a]\n"),
              HasSubstr("program: is the name or the folder of one program"));
  folder.Write("nowhere/x", "");
  EXPECT_THAT(
      MessageOf(
          ReadSweepText("name: s\nprogram: mygpt\n", (folder.path() / "nowhere/s.yaml").string()).status()),
      HasSubstr("write one of them, or give the path of the program's folder"));
}

TEST_F(ProgramSweepTest, ProgramsAreFoundByTheirFolder) {
  folder.Write("other/inlier-program.yaml", "name: second\ncommand: [./x]\nfiles: [x]\n");
  folder.Write("other/x", "");
  EXPECT_EQ(Read("name: s\nprogram: other\n")->program().name(), "second");
  EXPECT_EQ(Read("name: s\nprogram: " + (folder.path() / "other").string() + "\n")->program().name(),
            "second");
}

TEST_F(ProgramSweepTest, ScalesSamplingZipAndVariantsSetItsParameters) {
  const std::string more =
      "scales: {small: {base: {layers: 1, optimizer.momentum: 0.5}, axes: [{field: seed, values: [3]}]}}\n";
  const v1::SweepSpec small = Read(kProgramSweep + more, {}, "small").value();
  const v1::TrialSpec trial = Trial(small, 0);
  EXPECT_EQ(trial.seed(), 3u);
  EXPECT_EQ(trial.program().parameters().fields().at("layers").number_value(), 1);
  EXPECT_EQ(trial.program().parameters().fields().at("optimizer.momentum").number_value(), 0.5);
  EXPECT_EQ(trial.program().parameters().fields().at("data").string_value(), "wiki");
  const v1::SweepSpec sampled =
      Read(
          "name: s\nprogram: mygpt\nbase: {data: w}\nsampling: {sobol: {trials: 4}}\naxes:\n"
          "  - {field: lr, range: {min: 1e-5, max: 1e-2, log: true}}\n"
          "  - {name: opt, variants: [{label: a, set: {optimizer: {name: sgd}}}, {label: b, set: {note: "
          "x}}]}\n"
          "  - {zip: [layers, causal], values: [[2, true], [3, false]]}\n")
          .value();
  const SweepGrid grid = SweepGrid::Create(sampled).value();
  EXPECT_EQ(grid.kept(), 4u);
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const v1::TrialSpec spec = Trial(sampled, *index);
    const double lr = spec.program().parameters().fields().at("lr").number_value();
    EXPECT_TRUE(lr >= 1e-5 && lr <= 1e-2);
  }
}

TEST_F(ProgramSweepTest, AxesThatSetOneParameterAreRefused) {
  EXPECT_THAT(ErrorOf("name: s\nprogram: mygpt\nbase: {data: w}\naxes:\n  - {field: lr, values: [0.1]}\n"
                      "  - {name: m, variants: [{label: a, set: {lr: 0.2}}]}\n"),
              HasSubstr("sets lr as axis lr does"));
}

TEST_F(ProgramSweepTest, ASweepThatAClientMadeUpIsRefused) {
  v1::SweepSpec sweep = Read(kProgramSweep).value();
  (*sweep.mutable_base()->mutable_program()->mutable_parameters()->mutable_fields())["evil"].set_number_value(
      1);
  EXPECT_THAT(MessageOf(CheckedGrid(sweep).status()), HasSubstr("evil: unknown field"));
  sweep = Read(kProgramSweep).value();
  sweep.mutable_program()->clear_digest();
  EXPECT_THAT(MessageOf(CheckedGrid(sweep).status()),
              HasSubstr("program: has not the name of its description"));
  sweep = Read(kProgramSweep).value();
  sweep.clear_program();
  EXPECT_THAT(MessageOf(CheckedGrid(sweep).status()), HasSubstr("base: has a program's parameters"));
  sweep = Read(kProgramSweep).value();
  (*sweep.mutable_program()->mutable_description()->mutable_parameters())["a b"].set_type(
      v1::ProgramParameter::TEXT);
  EXPECT_THAT(MessageOf(CheckedGrid(sweep).status()), HasSubstr("\"a b\" cannot name a parameter"));
}

TEST_F(ProgramSweepTest, ItsMeasurementsAreThoseItDeclares) {
  const v1::SweepSpec sweep = Read(kProgramSweep).value();
  const auto list = MeasurementList::Of(sweep);
  ASSERT_EQ(list->all().size(), 2u);
  EXPECT_EQ(list->Find("perplexity")->source, "evaluate");
  EXPECT_EQ(list->Find("train_loss")->better, Better::kLower);
  EXPECT_EQ(list->Find("max_inf_norm"), nullptr);
  EXPECT_NE(MeasurementList::OfModels()->Find("max_inf_norm"), nullptr);
  const v1::TableSpec table = TableAskedFor({}, sweep);
  EXPECT_THAT(table.rows(), ElementsAre("lr", "bits"));
  ASSERT_EQ(table.columns_size(), 2);
  EXPECT_EQ(table.columns(0).measurement(), "perplexity");
  v1::SweepSpec many = sweep;
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    (*many.mutable_program()->mutable_description()->mutable_measurements())[name].set_better(
        v1::ProgramMeasurement::LOWER);
  EXPECT_EQ(MeasurementList::Of(many)->first().back().name, "f");
  EXPECT_EQ(TableAskedFor({}, many).columns_size(), 6);
}

TEST_F(ProgramSweepTest, SeveralSweepsHaveTheMeasurementsOfAll) {
  const v1::SweepSpec sweep = Read(kProgramSweep).value();
  v1::SweepSpec ours, other = sweep;
  ours.set_name("ours");
  other.set_name("others");
  other.mutable_program()->set_name("second");
  auto& measurements = *other.mutable_program()->mutable_description()->mutable_measurements();
  measurements.clear();
  measurements["bleu"].set_better(v1::ProgramMeasurement::HIGHER);
  const auto all = MeasurementList::Of(std::vector{sweep, ours, other}).value();
  EXPECT_EQ(all->Find("bleu")->better, Better::kHigher);
  EXPECT_NE(all->Find("max_inf_norm"), nullptr);
  EXPECT_EQ(all->Find("perplexity")->source, "evaluate");
  EXPECT_EQ(all->all().size(), Measurements().size() + 1);
  measurements["perplexity"].set_better(v1::ProgramMeasurement::HIGHER);
  EXPECT_EQ(
      MessageOf(MeasurementList::Of(std::vector{sweep, other}).status()),
      "perplexity: the better number is lower for program mygpt (sweep lrs) and higher for program second "
      "(sweep others); leave one sweep out, or give one measurement another name");
}

TEST_F(ProgramSweepTest, ItsParametersAreListedAsOursAre) {
  const auto params = TrialForm::Of(Read(kProgramSweep).value()).value()->params();
  EXPECT_EQ(ParamsText(ParamsWith("lr", params)),
            "lr\n    number; above 0 and at most 1; default 3e-4\n    Step size.\n");
  EXPECT_THAT(ParamsText(ParamsWith("optimizer", params)),
              testing::StartsWith(
                  "optimizer\n    group\noptimizer.momentum\n    number; default 0.9\noptimizer.name\n"
                  "    adam | sgd; default adam\n"));
  EXPECT_THAT(ParamsText(ParamsWith("print_every", params)), HasSubstr("does not decide the result"));
  EXPECT_EQ(ParamsWith("seed", params).size(), 1u);
}

TEST_F(ProgramSweepTest, ColumnsOfProgramsAreSharedByName) {
  const v1::ProgramDescription first = Read(kProgramSweep)->program().description();
  v1::ProgramDescription second;
  (*second.mutable_parameters())["sgd.LR"].set_type(v1::ProgramParameter::NUMBER);
  (*second.mutable_parameters())["gamma"].set_type(v1::ProgramParameter::NUMBER);
  (*second.mutable_parameters())["lr"].set_column("step_size");
  const auto paths = [](const std::vector<SpecColumn>& columns, const std::string& name) {
    for (const SpecColumn& column : columns) {
      if (column.name == name) return column.json_paths;
    }
    return std::vector<std::string>{"none"};
  };
  const std::vector<SpecColumn> columns = ColumnsWith({first, second, first});
  EXPECT_THAT(paths(columns, "lr"),
              ElementsAre("$.program.parameters.\"lr\"", "$.program.parameters.\"sgd.LR\""));
  EXPECT_THAT(paths(columns, "step_size"), ElementsAre("$.program.parameters.\"lr\""));
  EXPECT_THAT(paths(columns, "print_every"), ElementsAre("$.program.incidental.\"print_every\""));
  EXPECT_THAT(paths(columns, "bits"), ElementsAre("$.program_evaluation.parameters.\"bits\""));
  EXPECT_THAT(paths(columns, "optimizer"), ElementsAre("$.program.parameters.\"optimizer.name\""));
  for (const SpecColumn& column : columns) {
    EXPECT_TRUE(column.name != "optimizer" || column.members.size() > 1) << "of our models";
  }
  EXPECT_THAT(paths(columns, "gamma"), testing::Contains("$.program.parameters.\"gamma\""));
  EXPECT_GT(paths(columns, "gamma").size(), 1u);
  EXPECT_EQ(ColumnsOf(first).size(), 10u) << "its own and the seed";
}

TEST_F(ProgramSweepTest, TablesFiguresAndPruningNameWhatTheProgramHas) {
  const std::string more = kProgramSweep;
  EXPECT_EQ(
      ErrorOf(more +
              "table: {rows: [optimizer, lr], columns: [{measurement: perplexity, statistic: BEST}]}\n"
              "pruning: {measurement: train_loss, median: {}}\n"
              "figures: [{kind: CURVES, y: train_loss}, {kind: AGAINST, x: lr, y: perplexity, log_x: true},"
              " {kind: HEAT_MAP, x: lr, by: bits, y: perplexity}, {kind: BARS, y: train_loss},"
              " {kind: SCATTER, x: train_loss, y: perplexity, where: {causal: true}}]\n"),
      "OK");
  EXPECT_THAT(ErrorOf(more + "table: {columns: [{measurement: max_inf_norm}]}\n"),
              HasSubstr("\"max_inf_norm\" is not a final measurement of a trial"));
  EXPECT_THAT(ErrorOf(more + "table: {columns: [{measurement: perplexty}]}\n"),
              HasSubstr("did you mean \"perplexity\"?"));
  EXPECT_THAT(ErrorOf(more + "table: {rows: [gamma], columns: [{measurement: perplexity}]}\n"),
              HasSubstr("\"gamma\" is neither an axis of this sweep nor a column of trials"));
  EXPECT_THAT(ErrorOf(more + "pruning: {measurement: loss, median: {}}\n"),
              HasSubstr("\"loss\" is not a measurement"));
  EXPECT_THAT(ErrorOf(more + "pruning: {measurement: perplexity, median: {}}\n"),
              HasSubstr("\"perplexity\" is reported by the evaluation, not while training"));
  EXPECT_THAT(ErrorOf(more + "figures: [{kind: CURVES, y: loss}]\n"),
              HasSubstr("\"loss\" is not a measurement"));
  EXPECT_THAT(ErrorOf(more + "figures: [{kind: DIMENSIONS}]\n"),
              HasSubstr("figures[0].kind: DIMENSIONS is of the layers of inlier's models"));
  EXPECT_THAT(ErrorOf(more + "figures: [{kind: LAYERS, y: perplexity}]\n"),
              HasSubstr("give CURVES, AGAINST"));
}

TEST_F(ProgramSweepTest, FormsOfManyProgramsStandBesideEachOther) {
  // Plans that are kept for a descriptor must not be taken for another one at the same address.
  for (int i = 0; i < 50; ++i) {
    const std::string name = "p" + std::to_string(i);
    const ProgramFolder other("name: p\ncommand: [x]\nparameters: {" + name +
                              ": {type: INTEGER, min: " + std::to_string(i) + ", required: true}}\n");
    const std::string file = (other.path() / "s.yaml").string();
    EXPECT_EQ(MessageOf(ReadSweepText(
                            "name: s\nprogram: p\nbase: {" + name + ": " + std::to_string(i) + "}\n", file)
                            .status()),
              "OK");
    EXPECT_THAT(MessageOf(ReadSweepText("name: s\nprogram: p\n", file).status()),
                HasSubstr("base." + name + ": is missing"));
  }
}

constexpr char kEvaluated[] =
    "name: mybert\n"
    "command: [python, train.py]\n"
    "evaluate: [inlier]\n"
    "parameters: {lr: {type: NUMBER, default: 3e-4}}\n"
    "measurements: {train_loss: {better: LOWER}}\n";

struct EvaluatedByInlierTest : ProgramSweepTest {
  EvaluatedByInlierTest() { folder.Write("inlier-program.yaml", kEvaluated); }

  static constexpr char kSweep[] =
      "name: s\n"
      "program: mybert\n"
      "base: {lr: 1e-3, data: {text: {path: /data/mine.txt}}}\n"
      "axes:\n"
      "  - {field: attention.softmax.clipped.gamma, values: [0, -0.03]}\n"
      "  - {name: bits, variants: [{label: FP, set: {}}, {label: W8, set: {quantization: {weights: {bits: "
      "8}}}}]}\n";
};

TEST_F(EvaluatedByInlierTest, ATrialHasOurSettingsBesideItsParameters) {
  const v1::SweepSpec sweep = Read(kSweep).value();
  const v1::TrialSpec floating = Trial(sweep, 2), rounded = Trial(sweep, 3);
  EXPECT_EQ(rounded.data().text().path(), "/data/mine.txt");
  EXPECT_FALSE(rounded.data().text().has_tokenizer()) << "the folder's own";
  EXPECT_EQ(rounded.attention().softmax().clipped().gamma(), -0.03);
  EXPECT_EQ(rounded.quantization().weights().bits(), 8u);
  EXPECT_TRUE(floating.has_evaluation());
  EXPECT_FALSE(floating.has_quantization());
  EXPECT_THAT(ResolvedPartJson(rounded, v1::TRAIN_STAGE), Not(HasSubstr("model")));
  EXPECT_EQ(TrainFingerprint(floating), TrainFingerprint(rounded));
  EXPECT_NE(EvaluateFingerprint(floating), EvaluateFingerprint(rounded));
  EXPECT_NE(TrainFingerprint(Trial(sweep, 0)), TrainFingerprint(floating)) << "a program reads its softmax";
  const PackedParts parts = SplitPacked(rounded);
  v1::TrialSpec train, whole;
  ASSERT_TRUE(train.ParseFromString(parts.train));
  EXPECT_FALSE(train.has_evaluation() || train.has_quantization());
  ASSERT_TRUE(whole.ParseFromString(parts.train + parts.evaluate));
  EXPECT_EQ(ResolvedJson(whole), ResolvedJson(rounded));
}

TEST_F(EvaluatedByInlierTest, SourceAndDataAreFoundTogether) {
  const v1::SweepSpec sweep = Read(kSweep).value();
  const v1::TrialSpec trial = Trial(sweep, 0);
  EXPECT_FALSE(trial.program().has_digest());
  EXPECT_EQ(trial.program().source(), sweep.program().digest());
  EXPECT_EQ(DataSourceText(DataSourceNames(trial)),
            "data.text.path /data/mine.txt, program mybert, its source " + sweep.program().digest());
  folder.Write("train.py", "print('another')\n");
  EXPECT_NE(TrainFingerprint(Trial(Read(kSweep).value(), 0)), TrainFingerprint(trial));
}

TEST_F(EvaluatedByInlierTest, ItsMeasurementsAreOursBehindItsOwn) {
  const auto list = MeasurementList::Of(Read(kSweep).value());
  EXPECT_EQ(list->all().front().name, "train_loss");
  ASSERT_NE(list->Find("max_inf_norm"), nullptr);
  EXPECT_FALSE(list->Find("max_inf_norm")->curve);
  EXPECT_EQ(list->Find("learning_rate"), nullptr) << "of our training";
  const v1::TableSpec table = TableAskedFor({}, Read(kSweep).value());
  EXPECT_EQ(table.columns(0).measurement(), "perplexity");
}

TEST_F(EvaluatedByInlierTest, MistakesAreNamed) {
  const std::string head = "name: s\nprogram: mybert\n";
  EXPECT_THAT(ErrorOf(head), HasSubstr("base.data"));
  EXPECT_THAT(ErrorOf(head + "base: {data: {text: {path: mine.txt}}}\n"), HasSubstr("give an absolute path"));
  EXPECT_THAT(ErrorOf(head + "base: {data: {text: {pat: /a}}}\n"), HasSubstr("did you mean \"path\"?"));
  EXPECT_THAT(ErrorOf(head + "base: {data: {text: {path: /a}}, quantization: {weights: {bits: 99}}}\n"),
              HasSubstr("99 is out of range"));
  EXPECT_THAT(ErrorOf(head + "base: {data: {text: {path: /a}}, quantization: {}}\n"),
              HasSubstr("nothing to quantize"));
  EXPECT_THAT(ErrorOf(head + "base: {model: {bert: {}}}\n"), HasSubstr("base.model: unknown field"));
  folder.Write(
      "inlier-program.yaml",
      "name: mybert\ncommand: [a]\nevaluate: [inlier]\nparameters: {data.path: {type: TEXT}, bits: {type: "
      "INTEGER, read_by: EVALUATION}}\nmeasurements: {loss: {}, other: {reported_by: EVALUATION}}\n");
  const std::string wrong = MessageOf(Read(kSweep).status());
  EXPECT_THAT(wrong,
              HasSubstr("is a setting of inlier's evaluation already (evaluate: [inlier]); rename it"));
  EXPECT_THAT(wrong, HasSubstr("is reported by inlier's evaluation (evaluate: [inlier]); rename it"));
  EXPECT_THAT(wrong, HasSubstr("read_by: is EVALUATION, and inlier evaluates"));
  EXPECT_THAT(wrong, HasSubstr("reported_by: is EVALUATION, and inlier evaluates"));
}

}  // namespace
}  // namespace inlier
