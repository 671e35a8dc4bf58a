// The tables of sweeps/*.yaml, at all scales, built from their grids without results: a published figure next
// to a cell of another setting has a mark, and at full size every figure has its cell.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/tables/table_writer.h"
#include "nlohmann/json.hpp"
#include "results/tables/comparison.h"
#include "results/tables/published.h"
#include "results/tables/table_builder.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/architecture.h"
#include "spec/trial/canonical.h"
#include "spec/trial/resolver.h"
#include "spec/trial/validator.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/support/hub.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

struct ShippedTable {
  std::string name;  // "bondarenko-table2 at small"
  bool full = false;
  v1::SweepSpec sweep;
};

// All tables, at each size.
std::vector<ShippedTable> ShippedTables() {
  UseHubOfTests(INLIER_SOURCE_DIR);
  std::vector<ShippedTable> tables;
  for (const fs::directory_entry& entry : fs::directory_iterator(INLIER_SOURCE_DIR "/sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    std::vector<std::string> scales = {""};
    if (const auto names = ReadScaleNames(entry.path()); names.ok())
      scales.insert(scales.end(), names->begin(), names->end());
    for (const std::string& scale : scales) {
      const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepFile(entry.path(), {}, scale);
      EXPECT_TRUE(sweep.ok()) << entry.path() << scale << sweep.status();
      if (!sweep.ok()) continue;
      const std::string name = entry.path().stem().string();
      tables.push_back({scale.empty() ? name : name + " at " + scale, scale.empty(), *sweep});
    }
  }
  return tables;
}

// Layers and width of the models, as the papers print them.
const std::map<std::string, std::pair<std::uint32_t, std::uint32_t>>& Sizes() {
  static const std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> sizes = {
      {"bert-small", {6, 512}},     {"bert-base", {12, 768}},
      {"bert-large", {24, 1024}},   {"opt-125m", {12, 768}},
      {"opt-350m", {24, 1024}},     {"opt-1.3b", {24, 2048}},
      {"vit-s16", {12, 384}},       {"gpt2-60m", {12, 512}},
      {"gpt2-130m", {12, 768}},     {"gpt2-350m", {24, 1024}},
      {"gpt2-1.4b", {24, 2048}},    {"llama2-130m", {12, 768}},
      {"llama-3.1-8b", {32, 4096}}, {"llama-3.1-8b-instruct", {32, 4096}},
  };
  return sizes;
}

// gamma of the clipped softmax at the length of the training.
double Gamma(const v1::TrialSpec& spec) {
  const v1::ClippedSoftmaxSpec& clipped = spec.attention().softmax().clipped();
  const double length = spec.data().text().sequence_length();
  return clipped.has_alpha() ? -clipped.alpha() / length : clipped.gamma();
}

// gamma of the figure: its own, or the one of the best rows of tables 2 and 10 (tables 5 to 7 have the same
// numbers), or alpha = 3.2 and 12.
double Gamma(const PublishedFigure& figure, const v1::TrialSpec& spec) {
  const auto own = figure.settings.find("gamma");
  if (own != figure.settings.end() && own->second.find('/') == std::string::npos)
    return std::stod(own->second);
  if (own != figure.settings.end()) return std::stod(own->second) / 512;
  if (figure.model == "vit-s16") return -0.0001;
  if (figure.model == "opt-125m") return -12.0 / 512;
  return figure.paper == "liao2024" && figure.table != "5" ? -3.2 / spec.data().text().sequence_length()
                                                           : -0.025;
}

// Why the figure is of another setting than the trial; empty: it is not. Knows the papers by itself, so that a
// mistake in the recipes shows.
std::string OtherSetting(const PublishedFigure& figure, const v1::TrialSpec& spec) {
  std::pair<std::uint32_t, std::uint32_t> size;
  VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) {
    size = {model.layers(), model.hidden_size()};
  });
  if (size != Sizes().at(figure.model)) return "model";
  const bool kaul = figure.paper == "kaul2024";
  const v1::DataSpec& data = spec.data();
  if (data.has_text() && kaul && data.text().path() != "/data/c4.jsonl") return "corpus";
  if (data.has_text() && !kaul && data.text().corpus() != "bookcorpus-wiki") return "corpus";
  if (data.has_images() && data.images().path() != "/data/imagenet") return "images";
  if (data.has_classification() != (figure.table == "5" && figure.paper == "liao2024")) return "GLUE";
  if (data.has_instructions() != (figure.table == "8" && kaul)) return "instructions";
  const v1::SoftmaxSpec& softmax = spec.attention().softmax();
  if (softmax.has_clipped() != (figure.method == "clipped_softmax")) return "clipped softmax";
  if (softmax.has_ncs() != (figure.method == "normalized_clipped_softmax")) return "NCS";
  if (softmax.has_softmax_n() != (figure.method == "softmax1")) return "softmax-1";
  if (spec.attention().gate().has_none() == (figure.method == "gated_attention")) return "gate";
  if (softmax.has_sink() || softmax.has_softpick() || softmax.has_sigmoid() || softmax.has_script())
    return "no paper's softmax";
  if (softmax.has_clipped() && figure.metric != "a100_hours" &&
      std::abs(Gamma(spec) - Gamma(figure, spec)) > 1e-12)
    return "gamma";
  const bool quantized = figure.metric.find("w8a8") == 0 || figure.metric.find("absmax") == 0 ||
                         figure.metric.find("zeropoint") == 0 ||
                         (figure.settings.contains("bits") && figure.settings.at("bits") != "fp16");
  if (figure.metric != "a100_hours" && figure.metric != "iterations_per_second" &&
      spec.has_quantization() != quantized)
    return "bits";
  if (figure.metric.find("w8a8") == 0 &&
      (spec.quantization().weights().bits() != 8 || spec.quantization().activations().bits() != 8))
    return "not 8 bits";
  const bool ortho = spec.training().optimizer().has_ortho_adam();
  if (kaul && figure.settings.contains("optimizer") &&
      ortho != (figure.settings.at("optimizer") == "orthoadam"))
    return "optimizer";
  if (figure.table == "5" && kaul && spec.training().steps() < 40000) return "updates";
  if (!kaul && data.has_text() && figure.table != "9" && spec.training().steps() < 100000) return "updates";
  return "";
}

class ShippedTablesTest : public StoreTest {
 protected:
  // The sweep with a trial for each point, as expansion makes them, nothing run. Keeps the trials' specs.
  void MustAddSweep(int id, const v1::SweepSpec& spec) {
    SweepRow row = Sweep(id);
    row.spec = spec;
    ChangeBatch batch;
    batch.Add(row);
    const auto grid = SweepGrid::Create(spec).value();
    for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
      const absl::StatusOr<GridPoint> point = grid.At(*index);
      const auto resolved = ResolveAndValidate(point->spec).value();
      nlohmann::json labels = nlohmann::json::object();
      for (const auto& [axis, label] : point->labels) labels[axis] = label;
      ++trials_;
      batch.Add(Train(2 * trials_ - 1, ResolvedPartJson(resolved, v1::TRAIN_STAGE)));
      batch.Add(Evaluate(2 * trials_, 2 * trials_ - 1, ResolvedPartJson(resolved, v1::EVALUATE_STAGE)));
      batch.Add(Trial(trials_, id, static_cast<int>(*index), 2 * trials_ - 1, 2 * trials_, labels.dump()));
      specs_["t-" + std::to_string(trials_)] = resolved;
    }
    ASSERT_TRUE(store_->Apply(batch).ok());
  }

  // The figures that the cell can show: those of the table with its number, and why each is of another setting.
  std::map<const PublishedFigure*, std::string> Shown(const v1::TableCell& cell,
                                                      const std::vector<const PublishedFigure*>& figures) {
    std::map<const PublishedFigure*, std::string> shown;
    for (const PublishedFigure* figure : figures) {
      if (InOurUnit(figure->metric, figure->mean) != cell.published_mean()) continue;
      std::string why;
      for (const std::string& trial : cell.trials()) {
        why = OtherSetting(*figure, specs_.at(trial));
        if (!why.empty()) break;
      }
      shown[figure] = why;
    }
    return shown;
  }

  std::map<std::string, v1::TrialSpec> specs_;
  int trials_ = 0;
};

// Figures whose cell is of another setting at full size, too: one largest activation of all tokens is no
// measurement of ours, and Llama's tokenizer is not there.
bool IsMarked(const PublishedFigure& figure) {
  return figure.metric == "max_abs_activation" || figure.model == "llama2-130m";
}

// Nothing was started: the table is there, "not run" in each cell that has a trial; a baseline has its row.
void ExpectNotRun(const v1::Table& table, const ShippedTable& shipped) {
  EXPECT_GT(table.rows_size(), 0);
  int not_run = 0;
  for (const v1::TableRow& row : table.rows()) {
    for (const v1::TableCell& cell : row.cells()) {
      EXPECT_TRUE(cell.not_run());
      EXPECT_EQ(cell.missing() > 0, cell.trials_size() > 0);
      if (cell.trials_size() > 0) ++not_run;
    }
  }
  EXPECT_GT(not_run, 0);
  EXPECT_THAT(WriteTable(table, TableFormat::kText), ::testing::HasSubstr("  not run"));
  if (shipped.sweep.table().baseline().empty()) return;
  int compared = 0;
  for (const RowGroup& group : GroupsOfRows(shipped.sweep.table(), table)) {
    EXPECT_TRUE(group.baseline >= 0 || group.rows.size() < 3);
    if (group.baseline >= 0) compared += static_cast<int>(group.rows.size()) - 1;
  }
  EXPECT_GT(compared, 0);
}

// "paper/table" of every published figure.
std::set<std::string> PublishedTables() {
  std::set<std::string> tables;
  for (const PublishedFigure& figure : PublishedFigures()) tables.insert(figure.paper + "/" + figure.table);
  return tables;
}

TEST_F(ShippedTablesTest, FigureOfAnotherSettingIsMarkedAndEveryFigureHasItsCell) {
  std::set<std::string> without_sweep = PublishedTables();
  EXPECT_GT(without_sweep.size(), 20u);
  int id = 0;
  int cells = 0;
  int marked = 0;
  for (const ShippedTable& shipped : ShippedTables()) {
    SCOPED_TRACE(shipped.name);
    MustAddSweep(++id, shipped.sweep);
    const auto table = BuildTable(*reader_, {SweepId(id)}, {}).value();
    ExpectNotRun(table, shipped);
    if (!shipped.sweep.table().has_published()) continue;
    std::string published = shipped.sweep.table().published();
    const bool others = published.starts_with("other:");
    if (others) published.erase(0, std::string("other:").size());
    if (shipped.full) without_sweep.erase(published);
    const auto figures = PublishedTable(published).value();
    std::set<const PublishedFigure*> found;
    for (const v1::TableRow& row : table.rows()) {
      for (int i = 0; i < row.cells_size(); ++i) {
        const v1::TableCell& cell = row.cells(i);
        ASSERT_GT(cell.trials_size() + (cell.has_published_mean() ? 0 : 1), 0);
        if (!cell.has_published_mean()) {
          EXPECT_EQ(cell.published_differs_in_size(), 0);
          continue;
        }
        ++cells;
        if (cell.published_differs_in_size() > 0) {
          EXPECT_TRUE(others);
          ++marked;
          for (const auto& [figure, why] : Shown(cell, figures)) {
            if (shipped.full) {
              EXPECT_TRUE(IsMarked(*figure)) << figure->model << " " << figure->metric;
            }
            if (IsMarked(*figure)) found.insert(figure);
          }
          continue;
        }
        std::string reasons;
        bool right = false;
        for (const auto& [figure, why] : Shown(cell, figures)) {
          right = right || why.empty();
          if (why.empty()) found.insert(figure);
          reasons += figure->model + " " + figure->method + " " + figure->metric + ": " + why + "\n";
        }
        EXPECT_TRUE(right) << nlohmann::json(
                                  std::vector<std::string>(row.labels().begin(), row.labels().end()))
                           << ", " << table.column_headings(i) << ":\n"
                           << reasons;
      }
    }
    if (!shipped.full) continue;
    for (const PublishedFigure* figure : figures) {
      EXPECT_TRUE(found.contains(figure)) << "no cell shows " << figure->model << " " << figure->method << " "
                                          << figure->metric << " " << figure->mean;
    }
  }
  EXPECT_THAT(without_sweep, ::testing::IsEmpty());
  EXPECT_GT(id, 50);
  EXPECT_GT(cells - marked, 500);
  EXPECT_GT(marked, 150);
}

}  // namespace
}  // namespace inlier
