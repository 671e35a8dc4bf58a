#include "spec/sweep/figure_checks.h"

#include <map>
#include <vector>

#include "base/files/file.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/sweep/point_names.h"

namespace inlier {
namespace {

using v1::FigureSpec;

constexpr std::size_t kFigureNameMax = 100;

// How a kind uses a field.
enum class Need { kNone, kOptional, kRequired };

struct Needs {
  Need x = Need::kNone, y = Need::kNone, by = Need::kNone, series = Need::kNone, site = Need::kNone;
  Need trial = Need::kNone, layer = Need::kNone, head = Need::kNone;
};

Needs NeedsOf(FigureSpec::Kind kind) {
  constexpr Need required = Need::kRequired, optional = Need::kOptional;
  switch (kind) {
    case FigureSpec::CURVES:
    case FigureSpec::BARS:
      return {.y = required, .series = optional};
    case FigureSpec::AGAINST:
    case FigureSpec::SCATTER:
      return {.x = required, .y = required, .series = optional};
    case FigureSpec::HEAT_MAP:
      return {.x = required, .y = required, .by = required};
    case FigureSpec::LAYERS:
      return {.y = required, .series = optional, .site = optional};
    case FigureSpec::DIMENSIONS:
    case FigureSpec::TOKENS:
    case FigureSpec::OUTLIER_DIMENSIONS:
    case FigureSpec::OUTLIER_POSITIONS:
    case FigureSpec::MEAN_ATTENTION:
    case FigureSpec::MEAN_HIDDEN:
    case FigureSpec::OUTLIER_TOKENS:
    case FigureSpec::WEIGHT_NORMS:
    case FigureSpec::SECOND_MOMENTS:
    case FigureSpec::BASES:
      return {.trial = optional};
    case FigureSpec::HEADS:
    case FigureSpec::GATES:
    case FigureSpec::PATCHES:
    case FigureSpec::VALUE_NORMS:
      return {.trial = optional, .layer = optional};
    case FigureSpec::ATTENTION:
    case FigureSpec::VALUES:
    case FigureSpec::CONTEXTS:
      return {.trial = optional, .layer = optional, .head = optional};
  }
  return {};
}

class FigureChecker {
 public:
  FigureChecker(const FigureSpec& figure, const SweepGrid& grid, std::string path, Problems* problems)
      : figure_(figure), form_(grid.form()), names_(grid), path_(std::move(path)), problems_(problems) {}

  void Check() {
    CheckFileName();
    CheckSize();
    names_.CheckWhere(figure_.where(), At("where"), problems_);
    for (int i = 0; i < figure_.series_size(); ++i)
      names_.CheckName(figure_.series(i), ItemPath(At("series"), i), problems_);
    if (!figure_.has_kind()) return;  // Declared as required: reported with the rest of its kind.
    if (form_.is_program() && (IsOfModel(figure_.kind()) || figure_.kind() == FigureSpec::LAYERS))
      return problems_->Add(At("kind"), FigureSpec::Kind_Name(figure_.kind()) +
                                            " is of the layers of inlier's models, and the trials are of a "
                                            "program; give CURVES, AGAINST, BARS, SCATTER or HEAT_MAP");
    const Needs needs = NeedsOf(figure_.kind());
    CheckThere("x", figure_.has_x(), needs.x);
    CheckThere("y", figure_.has_y(), needs.y);
    CheckThere("by", figure_.has_by(), needs.by);
    CheckThere("series", figure_.series_size() > 0, needs.series);
    CheckThere("trial", figure_.has_trial(), needs.trial);
    CheckThere("site", figure_.has_site(), needs.site);
    CheckThere("layer", figure_.has_layer(), needs.layer);
    CheckThere("head", figure_.has_head(), needs.head);
    CheckThere("log_x", figure_.log_x(),
               needs.x != Need::kNone && needs.by == Need::kNone ? Need::kOptional
               : figure_.kind() == FigureSpec::CURVES            ? Need::kOptional
                                                                 : Need::kNone);
    if (figure_.has_y()) CheckMeasurement("y", figure_.y());
    if (figure_.kind() == FigureSpec::SCATTER) {
      if (figure_.has_x()) CheckMeasurement("x", figure_.x());
    } else if (figure_.has_x() && needs.x != Need::kNone) {
      names_.CheckName(figure_.x(), At("x"), problems_);
    }
    if (figure_.has_by() && needs.by != Need::kNone) names_.CheckName(figure_.by(), At("by"), problems_);
  }

 private:
  std::string At(const char* field) const { return JoinPath(path_, field); }

  void CheckFileName() {
    if (!figure_.has_name()) return;
    const std::string& name = figure_.name();
    if (IsFileName(name) && name.size() <= kFigureNameMax && name[0] != '-') return;
    problems_->Add(At("name"), Quoted(name) + " cannot name a file: use 1 to " +
                                   std::to_string(kFigureNameMax) +
                                   " letters, digits, \"_\", \"-\" and \".\", a letter or digit first");
  }

  void CheckSize() {
    std::size_t conditions = 0;
    for (const auto& [name, value] : figure_.where())
      conditions += 1 + static_cast<std::size_t>(value.list_value().values_size());
    if (conditions > kFigureConditionsMax)
      problems_->Add(At("where"), "has " + std::to_string(conditions) + " names and values; give at most " +
                                      std::to_string(kFigureConditionsMax));
    if (figure_.series_size() > kFigureSeriesMax)
      problems_->Add(At("series"), "has " + std::to_string(figure_.series_size()) + " names; give at most " +
                                       std::to_string(kFigureSeriesMax));
  }

  void CheckThere(const char* field, bool there, Need need) {
    const std::string kind = FigureSpec::Kind_Name(figure_.kind());
    if (need == Need::kRequired && !there) problems_->Add(At(field), "must be given for " + kind);
    if (need == Need::kNone && there)
      problems_->Add(At(field), "has no meaning for " + kind + "; leave it out");
  }

  // Allows final numbers of the whole model, those of single modules for LAYERS, and for CURVES those of a running training.
  void CheckMeasurement(const char* field, const std::string& name) {
    const bool curves = figure_.kind() == FigureSpec::CURVES, layers = figure_.kind() == FigureSpec::LAYERS;
    std::vector<std::string> known;
    for (const MeasurementInfo& info : form_.measurements()->all()) {
      if ((info.axis == "site") != layers || !(curves ? info.curve : info.final)) continue;
      if (info.name == name) return;
      known.emplace_back(info.name);
    }
    const bool exists = form_.measurements()->Find(name) != nullptr;
    problems_->Add(
        At(field),
        Quoted(name) +
            (!exists  ? " is not a measurement"
             : curves ? " is not reported while a training runs; give a curve such as train_loss"
             : layers ? " is not measured at single modules; give one that is, such as inf_norm or kurtosis"
                      : " is not one final number of a trial; give one such as perplexity or max_inf_norm") +
            (exists ? "" : DidYouMean(name, known)));
  }

  const FigureSpec& figure_;
  const TrialForm& form_;
  const PointNames names_;
  const std::string path_;
  Problems* problems_;
};

}  // namespace

bool IsOfModel(FigureSpec::Kind kind) { return NeedsOf(kind).trial != Need::kNone; }

std::string FigureNameOf(const v1::SweepSpec& sweep, const std::string& ending) {
  std::string name = sweep.name().substr(0, kFigureNameMax - ending.size()) + ending;
  if (name[0] == '-' || name[0] == '.') name[0] = '_';  // Of an earlier version.
  return name;
}

void CheckFigure(const FigureSpec& figure, const SweepGrid& grid, const std::string& path,
                 Problems* problems) {
  FigureChecker(figure, grid, path, problems).Check();
}

void CheckFigures(const v1::SweepSpec& sweep, const SweepGrid& grid, Problems* problems) {
  if (sweep.figures_size() > kFiguresMax)
    return problems->Add("figures", "has " + std::to_string(sweep.figures_size()) + "; give at most " +
                                        std::to_string(kFiguresMax));
  std::map<std::string, int> first;
  for (int i = 0; i < sweep.figures_size(); ++i) {
    const FigureSpec& figure = sweep.figures(i);
    const std::string path = ItemPath("figures", i);
    CheckFigure(figure, grid, path, problems);
    if (!figure.has_name()) continue;
    const auto [found, is_new] = first.emplace(figure.name(), i);
    if (!is_new)
      problems->Add(path + ".name", Quoted(figure.name()) + " is the name of figures[" +
                                        std::to_string(found->second) + "] too; give another one");
  }
}

}  // namespace inlier
