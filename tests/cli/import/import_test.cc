#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/import/csv_table.h"
#include "cli/import/event_file.h"
#include "cli/import/foreign_runs.h"
#include "cli/import/import_request.h"
#include "cli/import/measurement_words.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const fs::path kData = INLIER_IMPORT_TESTS;

class ImportTest : public testing::Test {
 protected:
  fs::path Write(const std::string& name, const std::string& text) {
    const fs::path file = folder_.path() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  absl::StatusOr<ForeignRuns> Csv(const std::string& text, const v1::ImportMapping& mapping = {}) {
    SourceFiles files(Write("runs.csv", text));
    return ReadCsvRuns(files, mapping);
  }
  std::string CsvError(const std::string& text, const v1::ImportMapping& mapping = {}) {
    return std::string(Csv(text, mapping).status().message());
  }
  absl::StatusOr<MadeImport> Made(const std::string& text, const v1::ImportMapping& mapping = {}) {
    v1::ImportSource source;
    source.set_path("runs.csv");
    source.set_format(v1::ImportSource::CSV);
    source.set_sha256(std::string(64, 'a'));
    absl::StatusOr<ForeignRuns> read = Csv(text, mapping);
    if (!read.ok()) return read.status();
    return MakeImport(*std::move(read), mapping, source, "runs");
  }

  TemporaryFolder folder_;
};

TEST_F(ImportTest, CsvHasQuotesLineBreaksAMarkAndCrlf) {
  const CsvTable table =
      ParseCsv("\xEF\xBB\xBFname,note,loss\r\na,\"x, \"\"y\"\"\nz\",1\r\n\r\nb,,2", "f.csv", "").value();
  EXPECT_THAT(table.headings, ElementsAre("name", "note", "loss"));
  ASSERT_THAT(table.rows, SizeIs(2));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("a", "x, \"y\"\nz", "1"));
  EXPECT_EQ(table.rows[1].line, 5u);
  EXPECT_THAT(table.rows[1].cells, ElementsAre("b", "", "2"));
  EXPECT_THAT(ParseCsv("a;b\n1;2\n", "f.csv", "")->headings, ElementsAre("a", "b"));
}

TEST_F(ImportTest, BrokenCsvIsRefusedByItsPlace) {
  const auto error = [](const std::string& text) {
    return std::string(ParseCsv(text, "f.csv", "").status().message());
  };
  EXPECT_EQ(error("a,b\n1,2\n3"),
            "f.csv:3: has 1 cells, and there are 2 headings; correct that line, or is the file incomplete?");
  EXPECT_THAT(error("a,b\n1,\"2\n"),
              HasSubstr("f.csv:2:3: the quotation mark that opens this cell is not closed"));
  EXPECT_THAT(error("a,b\n1,\"2\"x\n"), HasSubstr("f.csv:2:6: text after the quotation mark"));
  EXPECT_EQ(error("a,b\n1,\xff\n"), "f.csv:2:3: is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(error("a,a\n1,2\n"), "f.csv:1: two columns have the heading \"a\"; rename one of them");
  EXPECT_THAT(error("a,b\n"), HasSubstr("f.csv: has no rows"));
}

TEST_F(ImportTest, ColumnsAreToldByNameAndContent) {
  const ForeignRuns read =
      Csv(",name,lr,optimizer,val_loss,seed\n0,a,0.1,adam,1.5,1\n1,b,0.2,sgd,nan,2\n").value();
  ASSERT_THAT(read.runs, SizeIs(2));
  EXPECT_EQ(read.runs[1].name, "b");
  EXPECT_EQ(read.runs[0].parameters.at("lr").number_value(), 0.1);
  EXPECT_EQ(read.runs[0].parameters.at("optimizer").string_value(), "adam");
  EXPECT_EQ(read.runs[0].results.at("val_loss"), 1.5);
  EXPECT_TRUE(std::isnan(read.runs[1].results.at("val_loss")));
  EXPECT_THAT(read.remarks, Contains(HasSubstr("left out: the one without a heading")));
  EXPECT_THAT(Csv("lr,loss\n0.1,1.2")->remarks, Contains(HasSubstr("the last line has no end")));
}

TEST_F(ImportTest, WhatCouldBeEitherIsRefused) {
  EXPECT_THAT(
      CsvError("lr,foo,loss\n1,2,3\n"),
      AllOf(HasSubstr("runs.csv:1: whether foo is a setting or a result"), HasSubstr("--measurements")));
  EXPECT_THAT(CsvError("lr,loss\n0.1,1\nauto,2\n"),
              HasSubstr("runs.csv:3: column \"lr\": \"auto\" is not a number, and 1 other row has one"));
  EXPECT_THAT(CsvError("lr,opt\n0.1,adam\n"), HasSubstr("no column is a result"));
  v1::ImportMapping mapping;
  mapping.add_measurements("foo");
  EXPECT_EQ(Csv("lr,foo\n1,2\n", mapping)->runs[0].results.at("foo"), 2);
  EXPECT_THAT(CsvError("lr,foo\n1,x\n", mapping),
              HasSubstr("column \"foo\": \"x\" is not a number, as results are"));
  mapping.set_run("rnu");
  EXPECT_THAT(CsvError("run,foo\n1,2\n", mapping), HasSubstr("has no such column; did you mean \"run\"?"));
}

TEST_F(ImportTest, ExportsOfWandbAndMlflowSayWhatTheirColumnsAre) {
  const ForeignRuns wandb = Csv("\"Name\",\"State\",\"Notes\",\"Created\",\"Runtime\",\"lr\",\"loss\"\n\"x\","
                                "\"finished\",\"-\",\"\",\"5\",\"0.1\",\"1\"\n"
                                "\"y\",\"crashed\",\"-\",\"\",\"5\",\"0.1\",\"\"\n")
                                .value();
  EXPECT_EQ(wandb.runs[0].unfinished, "");
  EXPECT_EQ(wandb.runs[1].unfinished, "crashed");
  EXPECT_THAT(wandb.runs[0].parameters, SizeIs(1));
  EXPECT_THAT(wandb.runs[1].results, IsEmpty());
  const ForeignRuns mlflow =
      Csv("run_id,status,metrics.foo,params.bar,tags.mlflow.runName\nr1,FINISHED,2,3,calm-1\n").value();
  EXPECT_EQ(mlflow.runs[0].name, "calm-1");
  EXPECT_EQ(mlflow.runs[0].results.at("foo"), 2);
  EXPECT_EQ(mlflow.runs[0].parameters.at("bar").number_value(), 3);
}

TEST_F(ImportTest, AChartOfWandbHasCurvesOfItsRuns) {
  const std::string headings =
      "\"Step\",\"calm - sea - loss\",\"calm - sea - loss__MIN\",\"calm - sea - loss__MAX\",\"b - loss\",\"b "
      "- loss__MIN\",\"b - "
      "loss__MAX\"\n";
  const ForeignRuns read = Csv(headings + "0,3.5,3,4,,,\n10,2.5,2,3,9,8,10\n").value();
  ASSERT_THAT(read.runs, SizeIs(2));
  EXPECT_EQ(read.runs[0].name, "calm - sea");
  EXPECT_THAT(read.runs[0].curves.at("loss"), ElementsAre(testing::Pair(0, 3.5), testing::Pair(10, 2.5)));
  EXPECT_THAT(read.runs[1].curves.at("loss"), ElementsAre(testing::Pair(10, 9)));
  EXPECT_THAT(read.runs[1].curves, SizeIs(1));
  EXPECT_THAT(read.remarks, Contains(HasSubstr("a chart of W&B: it has no settings")));
  EXPECT_THAT(CsvError(headings + "0.5,3,3,4,,,\n"), HasSubstr("runs.csv:2: \"0.5\" is not a step"));
  EXPECT_THAT(CsvError(headings + "1,x,3,4,,,\n"),
              HasSubstr("runs.csv:2: column \"calm - sea - loss\": \"x\" is not a number"));
  EXPECT_THAT(
      CsvError("Relative Time (Process),b - loss,b - loss__MIN,b - loss__MAX\n1,2,3,4\n"),
      HasSubstr("the x axis of this chart is \"Relative Time (Process)\", and curves here are by step"));
}

TEST_F(ImportTest, NamesSayTheirKindAndDirection) {
  EXPECT_EQ(KindOfName("val/loss"), NameKind::kResult);
  EXPECT_EQ(KindOfName("learning_rate"), NameKind::kSetting);
  EXPECT_EQ(KindOfName("loss_weight"), NameKind::kUnknown);
  EXPECT_EQ(BetterOfName("perplexity"), Better::kLower);
  EXPECT_EQ(BetterOfName("top1_acc"), Better::kHigher);
  EXPECT_EQ(BetterOfName("foo"), Better::kNone);
  for (const char* name : {"error_rate", "acc_val", "loss/train_mean", "acc@5", "batch_loss"})
    EXPECT_EQ(KindOfName(name), NameKind::kResult) << name;
  for (const char* name : {"lr_max", "dropout_rate", "weight_decay", "beta_1"})
    EXPECT_EQ(KindOfName(name), NameKind::kSetting) << name;
  for (const char* name : {"score_threshold", "reward_scale", "accuracy_top_k", "best_accuracy_epoch",
                           "target_loss", "success_rate", "weight_norm", "rank_correlation", "accuracy_gap"})
    EXPECT_EQ(KindOfName(name), NameKind::kUnknown) << name;
  EXPECT_EQ(BetterOfName("error_rate"), Better::kLower);
  EXPECT_EQ(BetterOfName("loss_improvement"), Better::kNone);
}

TEST_F(ImportTest, NamesThatAreExactComeFirst) {
  const MadeImport made = Made("name,lr,val/loss,val_loss\na,0.1,100,1\nb,0.2,200,2\n").value();
  EXPECT_EQ(made.request.runs(0).results().at("val_loss"), 1);
  EXPECT_EQ(made.request.runs(0).results().at("val_loss_2"), 100);
  v1::ImportMapping mapping;
  (*mapping.mutable_rename())["loss"] = "acc";
  EXPECT_THAT(std::string(Made("lr,loss,acc\n1,2,3\n", mapping).status().message()),
              HasSubstr("--rename loss=acc: runs.csv has a acc, too; rename or --ignore that one"));
}

TEST_F(ImportTest, WholeNumbersThatNoDoubleHoldsStayTexts) {
  const ForeignRuns read = Csv("data,lr,loss\n9007199254740993,1,2\n9007199254740991,1,2\n",
                               [] {
                                 v1::ImportMapping mapping;
                                 mapping.add_parameters("data");
                                 return mapping;
                               }())
                               .value();
  EXPECT_EQ(read.runs[0].parameters.at("data").string_value(), "9007199254740993");
  EXPECT_EQ(read.runs[1].parameters.at("data").number_value(), 9007199254740991.0);
}

TEST_F(ImportTest, SpacesAroundCellsAreNoPartOfThemAndOtherFormatsAreNamed) {
  const ForeignRuns read = Csv("name, lr, val_loss\na, 0.1,  1.5 \n").value();
  EXPECT_EQ(read.runs[0].results.at("val_loss"), 1.5);
  EXPECT_THAT(
      CsvError("lr,val_loss\n0.1,\"1,500\"\n"),
      HasSubstr("column \"val_loss\": \"1,500\" is not a number, and the heading is that of a result"));
  EXPECT_THAT(CsvError("\x1f\x8b\x08"), HasSubstr("is compressed (gzip); unpack it first"));
  EXPECT_THAT(CsvError("SQLite format 3"), HasSubstr("is a database of SQLite"));
  EXPECT_THAT(CsvError("PK\x03\x04"), HasSubstr("is a spreadsheet or a zip file"));
  v1::ImportMapping mapping;
  mapping.add_measurements("nosuch");
  EXPECT_THAT(CsvError("lr,loss\n1,2\n", mapping), HasSubstr("--measurements nosuch: "));
  mapping.add_parameters("nosuch");
  mapping.clear_measurements();
  mapping.add_parameters("loss");
  mapping.add_measurements("loss");
  mapping.mutable_parameters()->DeleteSubrange(0, 1);
  EXPECT_THAT(std::string(Made("lr,loss\n1,2\n", mapping).status().message()),
              HasSubstr("--parameters loss: is in --measurements, too"));
}

TEST_F(ImportTest, RunsThatAreNoneAreNotLeftOutInSilence) {
  Write("mlruns/1/meta.yaml", "experiment_id: '1'\nname: one\n");
  Write("mlruns/1/a/meta.yaml", "experiment_id: '1'\nrun_id: a\nstatus: 3\nlifecycle_stage: active\n");
  Write("mlruns/1/a/metrics/loss", "1 2 3\n");
  Write("mlruns/1/b/metrics/loss", "1 2 3\n");
  SourceFiles mlruns(folder_.path() / "mlruns");
  EXPECT_THAT(std::string(ReadMlflowRuns(mlruns, {}).status().message()),
              HasSubstr("mlruns/1/b: has params or metrics and no meta.yaml"));
  Write("wandb/run-1/files/wandb-summary.json", "{\"loss\": 1}");
  Write("wandb/run-2/files/output.log", "x");
  SourceFiles wandb(folder_.path() / "wandb");
  EXPECT_THAT(ReadWandbRuns(wandb, {})->remarks,
              Contains(AllOf(HasSubstr("neither a log"), HasSubstr("wandb/run-2"))));
}

TEST_F(ImportTest, AnImportHasTypesAxesAndNamesOfItsOwn) {
  v1::ImportMapping mapping;
  mapping.set_run("name");  // Not unique, so no guess.
  const MadeImport made =
      Made(
          "name,lr,batch,label,opt,train/loss,seed\na,0.1,8,x,adam,1,1\nb,0.2,8,y,adam,2,1\n"
          "b,0.2,8,y,None,2.5,2\n",
          mapping)
          .value();
  const v1::SweepSpec& spec = made.request.spec();
  const auto& parameters = spec.program().description().parameters();
  EXPECT_EQ(parameters.at("lr").type(), v1::ProgramParameter::NUMBER);
  EXPECT_EQ(parameters.at("batch").type(), v1::ProgramParameter::INTEGER);
  EXPECT_TRUE(parameters.contains("label_2"));  // `label` is a column of the views.
  EXPECT_EQ(spec.program().description().measurements().at("train_loss").better(),
            v1::ProgramMeasurement::LOWER);
  std::vector<std::string> axes;
  for (const v1::Axis& axis : spec.axes()) axes.push_back(axis.field());
  EXPECT_THAT(axes, ElementsAre("label_2", "lr", "opt", "seed"));
  EXPECT_THAT(made.request.runs(2).name(), "b (2)");
  EXPECT_THAT(made.remarks, Contains("train/loss is named train_loss here"));
  EXPECT_THAT(spec.table().rows(), ElementsAre("label_2", "lr", "opt"));
}

TEST_F(ImportTest, RunsThatNothingTellsApartHaveTheirNamesAsAnAxis) {
  const MadeImport made = Made("lr,loss\n0.1,1\n0.1,2\n").value();
  ASSERT_EQ(made.request.spec().axes_size(), 1);
  EXPECT_EQ(made.request.spec().axes(0).field(), "run");
  EXPECT_EQ(made.request.runs(1).name(), "run-2");
}

TEST_F(ImportTest, SettingsOfSeveralTypesAndBadSeedsAreSaid) {
  v1::ImportMapping mapping;
  mapping.add_parameters("size");
  const MadeImport made = Made("size,loss\n8,1\nbig,2\n", mapping).value();
  EXPECT_THAT(made.remarks, Contains(HasSubstr("size is a number in 1 of 2 runs, and \"big\" in")));
  EXPECT_EQ(made.request.runs(0).parameters().fields().at("size").string_value(), "8");
  EXPECT_THAT(std::string(Made("seed,loss\n-1,1\n").status().message()),
              HasSubstr("is not a seed, a whole number"));
  mapping.clear_parameters();
  mapping.add_lower("lsos");
  EXPECT_THAT(std::string(Made("lr,loss\n1,1\n", mapping).status().message()),
              HasSubstr("did you mean \"loss\"?"));
}

TEST_F(ImportTest, CurvesAreThinnedAndRunsThatDidNotFinishFail) {
  ForeignRuns read;
  read.runs.resize(2);
  for (std::uint64_t i = 0; i < 100; ++i)
    read.runs[0].curves["loss"].emplace_back(99 - i, static_cast<double>(i));
  read.runs[0].curves["loss"].emplace_back(99, 7);  // Of two at one step the last.
  read.runs[1].results["loss"] = 1;
  read.runs[1].unfinished = "crashed";
  v1::ImportMapping mapping;
  mapping.set_points(10);
  v1::ImportSource source;
  source.set_path("x");
  source.set_sha256(std::string(64, 'a'));
  const MadeImport made = MakeImport(read, mapping, source, "x").value();
  const v1::ImportedCurve& curve = made.request.runs(0).curves(0);
  EXPECT_EQ(curve.steps_size(), 10);
  EXPECT_EQ(curve.steps(0), 0u);
  EXPECT_EQ(curve.steps(9), 99u);
  EXPECT_EQ(curve.values(9), 7);
  EXPECT_EQ(made.request.runs(0).results().at("loss"), 7);
  EXPECT_EQ(made.request.runs(1).failed(), "crashed, as its source says");
  EXPECT_EQ(made.request.runs(1).results_size(), 0);
  EXPECT_THAT(made.remarks, Contains("1 curve is thinned to 10 points, of up to 100"));
}

TEST_F(ImportTest, EventFilesOfTensorBoardAreRead) {
  EXPECT_EQ(FormatOfRuns(kData / "tensorboard").value(), v1::ImportSource::TENSORBOARD);
  SourceFiles files(kData / "tensorboard");
  const ForeignRuns read = ReadTensorBoardRuns(files, {}).value();
  ASSERT_THAT(read.runs, SizeIs(2));
  const ForeignRun& run = read.runs[1];
  EXPECT_EQ(run.name, "lr0.1");
  EXPECT_EQ(run.parameters.at("lr").number_value(), 0.1);
  EXPECT_EQ(run.parameters.at("opt").string_value(), "adam");
  EXPECT_FALSE(run.parameters.at("amsgrad").bool_value());
  EXPECT_THAT(run.curves.at("train/loss"),
              ElementsAre(testing::Pair(0, 2.0), testing::Pair(10, 1.0),
                          testing::Pair(20, testing::DoubleNear(2.0 / 3, 1e-6))));
  EXPECT_EQ(files.size(), 4u);
  EXPECT_THAT(read.remarks,
              Contains(HasSubstr("the settings of 2 runs are those of the folders below them")));
}

TEST_F(ImportTest, ADamagedEventFileIsRefusedByNameAndPlace) {
  fs::copy(kData / "tensorboard", folder_.path() / "tb", fs::copy_options::recursive);
  fs::path file;
  for (const auto& entry : fs::directory_iterator(folder_.path() / "tb" / "lr0.1")) {
    if (entry.is_regular_file()) file = entry.path();
  }
  const auto error = [&] {
    SourceFiles files(folder_.path() / "tb");
    return std::string(ReadTensorBoardRuns(files, {}).status().message());
  };
  const auto size = fs::file_size(file);
  fs::resize_file(file, size - 3);
  EXPECT_THAT(error(), AllOf(HasSubstr(file.string() + ": byte "), HasSubstr("is cut off")));
  fs::resize_file(file, 4);
  EXPECT_THAT(error(), HasSubstr(file.string() + ": byte 0: the record that begins here is cut off"));
  std::ofstream(file, std::ios::binary) << std::string(40, 'x');
  EXPECT_THAT(error(), HasSubstr("the checksum of a record's length is wrong"));
}

TEST_F(ImportTest, TheChecksumIsThatOfCastagnoli) {
  // RFC 3720 has 0xE3069283 for these nine digits.
  const std::uint32_t crc = 0xE3069283u;
  EXPECT_EQ(MaskedCrc32c("123456789"), ((crc >> 15) | (crc << 17)) + 0xA282EAD8u);
}

TEST_F(ImportTest, LogsOfWandbAreRead) {
  EXPECT_EQ(FormatOfRuns(kData / "wandb").value(), v1::ImportSource::WANDB);
  SourceFiles files(kData / "wandb");
  const ForeignRuns read = ReadWandbRuns(files, {}).value();
  ASSERT_THAT(read.runs, SizeIs(2));
  const ForeignRun& run = read.runs[0];
  EXPECT_EQ(run.name, "lr0.1");
  EXPECT_EQ(run.unfinished, "");
  EXPECT_EQ(run.parameters.at("model.layers").number_value(), 2);
  EXPECT_EQ(run.parameters.at("tags_list").string_value(), "[1,2]");
  EXPECT_EQ(run.results.at("acc"), 0.2);
  EXPECT_THAT(run.curves.at("acc"),
              ElementsAre(testing::Pair(0, 0.0), testing::Pair(1, 0.1), testing::Pair(2, 0.2)));
  EXPECT_THAT(run.results, testing::Not(Contains(testing::Key("_runtime"))));
}

TEST_F(ImportTest, ADamagedLogOfWandbIsRefusedByNameAndPlace) {
  fs::copy(kData / "wandb" / "offline-run-1", folder_.path() / "run", fs::copy_options::recursive);
  const fs::path file = fs::directory_iterator(folder_.path() / "run")->path();
  const auto error = [&] {
    SourceFiles files(folder_.path() / "run");
    return std::string(ReadWandbRuns(files, {}).status().message());
  };
  fs::resize_file(file, fs::file_size(file) - 2);
  EXPECT_THAT(error(), AllOf(HasSubstr(file.string() + ": byte "), HasSubstr("is cut off")));
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(20) << "#";
  EXPECT_THAT(error(), HasSubstr("byte 7: a checksum is wrong"));
}

TEST_F(ImportTest, ExportedFilesOfWandbAreRead) {
  SourceFiles files(kData / "wandb_export");
  const ForeignRuns read = ReadWandbRuns(files, {}).value();
  ASSERT_THAT(read.runs, SizeIs(1));
  EXPECT_EQ(read.runs[0].parameters.at("lr").number_value(), 0.1);
  EXPECT_EQ(read.runs[0].parameters.at("model.layers").number_value(), 2);
  EXPECT_EQ(read.runs[0].results.at("val.acc"), 0.75);
  EXPECT_THAT(read.runs[0].curves.at("loss"), ElementsAre(testing::Pair(0, 1.0), testing::Pair(2, 0.5)));
  EXPECT_THAT(read.remarks, Contains("left out, for they are not numbers: hist"));
}

TEST_F(ImportTest, AFileStoreOfMlflowIsRead) {
  EXPECT_EQ(FormatOfRuns(kData / "mlruns").value(), v1::ImportSource::MLFLOW);
  SourceFiles files(kData / "mlruns");
  const ForeignRuns read = ReadMlflowRuns(files, {}).value();
  ASSERT_THAT(read.runs, SizeIs(3));
  std::map<std::string, const ForeignRun*> runs;
  for (const ForeignRun& run : read.runs) runs[run.name] = &run;
  EXPECT_EQ(runs.at("dead")->unfinished, "failed");
  EXPECT_EQ(runs.at("run-0.1")->parameters.at("lr").number_value(), 0.1);
  EXPECT_EQ(runs.at("run-0.1")->parameters.at("optimizer").string_value(), "adam");
  EXPECT_THAT(runs.at("run-0.1")->curves.at("train/loss"), SizeIs(3));
  v1::ImportMapping mapping;
  mapping.set_experiment("other");
  EXPECT_THAT(std::string(ReadMlflowRuns(files, mapping).status().message()),
              HasSubstr("has no experiment \"other\"; name one with --experiment: tuning"));
}

TEST_F(ImportTest, ADamagedMetricOfMlflowIsRefusedByItsLine) {
  Write("m/1/meta.yaml", "experiment_id: '1'\nname: e\n");
  Write("m/1/r/meta.yaml", "run_id: r\nexperiment_id: '1'\nstatus: 3\n");
  const fs::path metric = Write("m/1/r/metrics/loss", "1 0.5 0\n1 0.4 1");
  SourceFiles files(folder_.path() / "m");
  EXPECT_THAT(std::string(ReadMlflowRuns(files, {}).status().message()),
              HasSubstr(metric.string() + ":2: \"1 0.4 1\" is not"));
}

TEST_F(ImportTest, FoldersOfNoToolOrOfSeveralAreRefused) {
  Write("none/a.txt", "x");
  EXPECT_THAT(std::string(FormatOfRuns(folder_.path() / "none").status().message()),
              HasSubstr("has neither event files"));
  Write("both/meta.yaml", "x");
  Write("both/events.out.tfevents.1", "x");
  EXPECT_THAT(std::string(FormatOfRuns(folder_.path() / "both").status().message()),
              HasSubstr("has files of several tools"));
  EXPECT_EQ(FormatOfRuns(folder_.path() / "absent").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inlier
