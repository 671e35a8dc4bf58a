// inlier plot: a sweep's numbers as pictures.
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/data/data_dir.h"
#include "base/status.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/plots/figure_choice.h"
#include "cli/plots/picture_writer.h"
#include "cli/plots/read_trials.h"
#include "cli/programs/model_of_trial.h"
#include "cli/query_rows.h"
#include "cli/sweeps/axis_arguments.h"
#include "cli/trial_program.h"
#include "nlohmann/json.hpp"
#include "results/figures/figure_builder.h"
#include "results/figures/model_figure.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/figure_checks.h"
#include "spec/sweep/point_labels.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// Rows of one answer; longer ones are continued.
constexpr std::uint32_t kRowsOfAnAnswer = 20'000;

struct PlotArguments {
  std::string sweep;
  std::vector<std::string> names;
  std::string spec, kind;  // `spec`: a file.
  std::vector<std::string> series, where;
  v1::FigureSpec fields;  // Set by the further flags.
  std::string output;
  std::string format = "svg";
  std::optional<std::uint32_t> dpi;
  bool force = false;
  std::string data_dir;
};

// The figure that the flags describe; nothing without one of them.
absl::StatusOr<std::optional<v1::FigureSpec>> FigureOfFlags(const PlotArguments& arguments,
                                                            const std::vector<std::string>& axes) {
  v1::FigureSpec figure;
  if (!arguments.spec.empty()) RETURN_IF_ERROR(ReadYamlFile(arguments.spec, &figure));
  if (!arguments.kind.empty()) {
    ASSIGN_OR_RETURN(const v1::FigureSpec::Kind kind, ParseFigureKind(arguments.kind));
    figure.set_kind(kind);
  }
  figure.MergeFrom(arguments.fields);
  if (!arguments.series.empty()) figure.clear_series();
  for (const std::string& name : SplitNames(arguments.series, axes)) figure.add_series(name);
  for (const std::string& condition : arguments.where)
    RETURN_IF_ERROR(AddCondition(condition, axes, &figure));
  if (figure.ByteSizeLong() == 0) return std::optional<v1::FigureSpec>();
  if (!figure.has_kind())
    return absl::InvalidArgumentError(
        "--kind is not given; a figure of its own needs one, such as --kind curves --y train_loss");
  return std::optional(figure);
}

// "t-3 (BERT, clipped, 1)".
std::string NameOf(const PlotTrial& trial, const SweepGrid& grid) {
  std::string labels;
  for (const AxisInfo& axis : grid.axes()) {
    const std::string& label = TextOf(trial, axis.name);
    if (!label.empty()) absl::StrAppend(&labels, labels.empty() ? "" : ", ", label);
  }
  return labels.empty() ? trial.id : absl::StrCat(trial.id, " (", labels, ")");
}

class Plotting {
 public:
  Plotting(Session& session, const PlotArguments& arguments) : session_(session), arguments_(arguments) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(sweep_, session_.GetSweep(arguments_.sweep));
    ASSIGN_OR_RETURN(const SweepGrid grid, SweepGrid::Create(sweep_.spec()));
    ASSIGN_OR_RETURN(const std::vector<v1::FigureSpec> figures, Figures(grid));
    ASSIGN_OR_RETURN(const std::vector<FigureFiles> files, Files(figures));
    if (!arguments_.force) RETURN_IF_ERROR(CheckAbsent(files));
    absl::Status failed;
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < figures.size(); ++i) {
      absl::Status status = Draw(figures[i], grid, files[i]);
      if (absl::IsNotFound(status) && usual_ && sweep_.spec().has_program() &&
          figures[i].kind() == v1::FigureSpec::CURVES) {
        // What a program reports of a training is a curve or a result.
        v1::FigureSpec bars = figures[i];
        bars.set_kind(v1::FigureSpec::BARS);
        status = Draw(bars, grid, files[i]);
      }
      if (status.ok()) {
        ++drawn;
        continue;
      }
      // The other figures are drawn all the same.
      const std::string text = absl::StrCat(figures[i].name(), ": ", status.message());
      failed = failed.ok() ? absl::Status(status.code(), text)
                           : absl::Status(failed.code(), absl::StrCat(failed.message(), "\n", text));
    }
    if (session_.json && drawn > 0) PrintJson(written_);
    // Not every sweep has the numbers of the usual figures.
    if (usual_ && drawn > 0 && absl::IsNotFound(failed)) return absl::OkStatus();
    return failed;
  }

 private:
  RunQuery Queries() {
    return [this](const std::string& sql) { return QueryRows(session_, sql, kRowsOfAnAnswer); };
  }

  absl::StatusOr<std::vector<v1::FigureSpec>> Figures(const SweepGrid& grid) {
    ASSIGN_OR_RETURN(std::optional<v1::FigureSpec> own, FigureOfFlags(arguments_, AxisNames(sweep_.spec())));
    if (!own) {
      usual_ = sweep_.spec().figures_size() == 0;
      return ChooseFigures(sweep_.spec(), arguments_.names);
    }
    if (!arguments_.names.empty())
      return absl::InvalidArgumentError(absl::StrCat(
          arguments_.names[0],
          ": the name of a figure of the sweep, together with flags of a figure of its own; give either"));
    RETURN_IF_ERROR(CheckAlone(*own, grid));
    if (!own->has_name())
      own->set_name(FigureNameOf(
          sweep_.spec(), absl::StrCat("-", absl::AsciiStrToLower(v1::FigureSpec::Kind_Name(own->kind())))));
    return std::vector<v1::FigureSpec>{*own};
  }

  absl::StatusOr<std::vector<FigureFiles>> Files(const std::vector<v1::FigureSpec>& figures) const {
    std::vector<FigureFiles> files;
    if (!arguments_.output.empty()) {
      if (figures.size() > 1)
        return absl::InvalidArgumentError(absl::StrCat("-o ", arguments_.output, ": names one file, and ",
                                                       figures.size(),
                                                       " figures would be drawn; name one of them"));
      ASSIGN_OR_RETURN(files.emplace_back(), FilesOf(arguments_.output, arguments_.dpi));
      return files;
    }
    for (const v1::FigureSpec& figure : figures) {
      ASSIGN_OR_RETURN(files.emplace_back(),
                       FilesOf(absl::StrCat(figure.name(), ".", arguments_.format), arguments_.dpi));
    }
    return files;
  }

  absl::Status Draw(const v1::FigureSpec& spec, const SweepGrid& grid, const FigureFiles& files) {
    RETURN_IF_ERROR(CheckAlone(spec, grid));
    ASSIGN_OR_RETURN(
        const std::vector<PlotTrial> trials,
        ReadPlotTrials(Queries(), sweep_.sweep_id(), ColumnsOf(spec, grid), MeasurementsOf(spec)));
    absl::StatusOr<Figure> figure =
        IsOfModel(spec.kind()) ? OfModel(spec, grid, trials)
                               : BuildFigure(spec, grid, trials, [&](const std::vector<std::string>& of) {
                                   return spec.kind() == v1::FigureSpec::LAYERS
                                              ? ReadLayers(Queries(), of, spec.y(), spec.site())
                                              : ReadCurves(Queries(), of, spec.y());
                                 });
    RETURN_IF_ERROR(figure.status());
    if (sweep_.has_imported())
      figure->notes.insert(figure->notes.begin(),
                           "imported from " + fs::path(sweep_.imported().path()).filename().string());
    RETURN_IF_ERROR(WriteFigure(*figure, files));
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const fs::path& file : files.All()) {
      names.push_back(file.string());
      if (session_.mode() != OutputMode::kJson) Print(file.string() + "\n");
    }
    written_.push_back({{"name", spec.name()},
                        {"kind", v1::FigureSpec::Kind_Name(spec.kind())},
                        {"files", names},
                        {"notes", figure->notes}});
    return absl::OkStatus();
  }

  // The trial that is named, or the first with a model here.
  absl::StatusOr<std::pair<const PlotTrial*, fs::path>> TrialWithModel(const v1::FigureSpec& spec,
                                                                       const SweepGrid& grid,
                                                                       const std::vector<PlotTrial>& trials) {
    std::vector<const PlotTrial*> matching = MatchingTrials(spec, grid, trials);
    if (spec.has_trial())
      std::erase_if(matching, [&](const PlotTrial* trial) { return trial->id != spec.trial(); });
    absl::Status reason =
        absl::NotFoundError(spec.has_trial() ? absl::StrCat(spec.trial(), ": is no trial of ",
                                                            arguments_.sweep, " that matches `where`")
                                             : "no trial of the sweep matches `where`");
    std::set<std::string> trainings;
    for (const PlotTrial* trial : matching) {
      if (!trainings.insert(trial->train_stage).second) continue;
      const absl::StatusOr<fs::path> model = ModelOfTrial(session_, trial->id);
      if (model.ok()) return std::pair(trial, *model);
      reason = model.status();
    }
    return reason;
  }

  absl::StatusOr<Figure> OfModel(const v1::FigureSpec& spec, const SweepGrid& grid,
                                 const std::vector<PlotTrial>& trials) {
    ASSIGN_OR_RETURN(const auto found, TrialWithModel(spec, grid, trials));
    const auto& [trial, model] = found;
    std::vector<std::string> command = {"numbers",
                                        model.string(),
                                        DataDirOr(arguments_.data_dir),
                                        (fs::absolute(session_.dir) / "cache").string(),
                                        absl::AsciiStrToLower(v1::FigureSpec::Kind_Name(spec.kind())),
                                        absl::StrCat(spec.layer()),
                                        absl::StrCat(spec.head())};
    std::string numbers;
    RETURN_IF_ERROR(RunTrialProgram(command, [&](const std::string& line) {
      if (!line.empty() && line[0] == '{') numbers = line;
    }));
    return BuildModelFigure(spec, NameOf(*trial, grid), numbers);
  }

  Session& session_;
  const PlotArguments& arguments_;
  v1::SweepStatus sweep_;
  bool usual_ = false;
  nlohmann::ordered_json written_ = nlohmann::ordered_json::array();
};

}  // namespace

void AddPlotCommand(CLI::App& app, Session& session) {
  auto arguments = std::make_shared<PlotArguments>();
  CLI::App* command = app.add_subcommand(
      "plot", "Draw the figures of a sweep, each with a CSV of its numbers (needs gnuplot)");
  command->add_option("sweep", arguments->sweep, "Sweep id or name")->required();
  command->add_option("names", arguments->names, "Figures of the sweep; default: all of its `figures`");
  command->add_option("--kind", arguments->kind, "A figure of its own")
      ->type_name(absl::StrCat("{", absl::StrJoin(FigureKinds(), ","), "}"));
  v1::FigureSpec& fields = arguments->fields;
  AddField(*command, "--y", fields, "Measurement, for example train_loss or max_inf_norm")
      ->type_name("MEASUREMENT");
  AddField(*command, "--x", fields,
           "against, heat-map: an axis or column of `trials`, for example gamma; scatter: a measurement")
      ->type_name("AXIS");
  AddField(*command, "--by", fields, "heat-map: the second axis")->type_name("AXIS");
  command
      ->add_option("--series", arguments->series,
                   "Axes whose labels are the lines or bars; default: all but seeds")
      ->type_name("AXIS");
  command
      ->add_option("--where", arguments->where,
                   "Only these trials, for example method=vanilla; repeat it for more")
      ->type_name("AXIS=LABEL")
      ->allow_extra_args(false);
  AddField(*command, "--log-x", fields, "Logarithmic");
  AddField(*command, "--log-y", fields, "Logarithmic; of a heat map its colours");
  AddField(*command, "--trial", fields,
           "dimensions, tokens, … of a model: of this trial; default: the first with a model in --dir")
      ->type_name("TRIAL");
  AddField(*command, "--layer", fields, "attention and others of a layer: counted from 0");
  AddField(*command, "--head", fields, "attention, values, contexts: counted from 0");
  AddField(*command, "--site", fields,
           "layers: which module of a layer, for example output.dense; needed where --y has several");
  AddField(*command, "--title", fields, "Printed above");
  AddField(*command, "--width", fields, "Millimetres; default: 120", "width_mm");
  AddField(*command, "--height", fields, "Millimetres; default: 80", "height_mm");
  command->add_option("--spec", arguments->spec,
                      "A FigureSpec (YAML) in place of these flags, or changed by them");
  command->add_option("--output,-o", arguments->output,
                      "File of one figure: .svg, .pdf, .png, or .csv for the numbers alone");
  command
      ->add_option("--format,-f", arguments->format,
                   "svg, pdf, png or csv, for figures in the current folder")
      ->capture_default_str()
      ->check(CLI::IsMember({"svg", "pdf", "png", "csv"}));
  command->add_option("--dpi", arguments->dpi, absl::StrCat("Pixels an inch of a .png; default: ", kDpi))
      ->check(CLI::Range(kDpiLeast, kDpiMost));
  command->add_flag("--force", arguments->force, "Replace files");
  command->add_option(
      "--data-dir", arguments->data_dir,
      "Folder of corpora, for the kinds of one model; default: the one that `make setup` fills");
  command->callback([&session, arguments] { session.Finish(Plotting(session, *arguments).Run()); });
}

}  // namespace inlier
