#include "results/tables/published_cells.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "spec/trial/canonical.h"

namespace inlier {
namespace {

constexpr char kAverage[] = "average";

void SetFigure(const PublishedFigure& figure, std::vector<std::string> differences, v1::TableCell* cell) {
  cell->set_published_mean(InOurUnit(figure.metric, figure.mean));
  if (figure.std.has_value()) cell->set_published_std(InOurUnit(figure.metric, *figure.std));
  cell->set_published_decimals(figure.decimals);
  for (std::string& difference : differences) cell->add_published_differs_in(std::move(difference));
}

}  // namespace

absl::StatusOr<PublishedCells> PublishedCells::Of(const v1::TableSpec& table) {
  PublishedCells cells;
  if (table.published().empty()) return cells;
  absl::string_view name = table.published();
  cells.other_settings_ = absl::ConsumePrefix(&name, "other:");
  absl::StatusOr<std::vector<const PublishedFigure*>> found = PublishedTable(std::string(name));
  if (!found.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("table.published: ", std::string(found.status().message())));
  cells.figures_ = *std::move(found);
  return cells;
}

absl::Status PublishedCells::ReadSpecs(const std::vector<const TrialValues*>& trials) {
  if (!any()) return absl::OkStatus();
  for (const TrialValues* trial : trials) {
    ASSIGN_OR_RETURN(specs_[trial], TrialSpecFromJson(SqlText(trial->columns.at(kSpecColumn))));
  }
  return absl::OkStatus();
}

const PublishedFigure* PublishedCells::FigureOf(const std::vector<const TrialValues*>& trials,
                                                const std::string& measurement,
                                                std::vector<std::string>* differences) const {
  const PublishedFigure* figure = nullptr;
  for (const TrialValues* trial : trials) {
    const PublishedMatch match = FindPublished(figures_, PublishedQueryOf(specs_.at(trial), measurement));
    if (match.figure == nullptr || (!match.differences.empty() && !other_settings_)) return nullptr;
    if (figure != nullptr && match.figure != figure) return nullptr;
    figure = match.figure;
    for (const std::string& difference : match.differences) {
      if (std::ranges::find(*differences, difference) == differences->end())
        differences->push_back(difference);
    }
  }
  return figure;
}

void PublishedCells::Attach(const std::vector<const TrialValues*>& trials, const std::string& measurement,
                            v1::TableCell* cell) const {
  if (!any()) return;
  std::vector<std::string> differences;
  const PublishedFigure* figure = FigureOf(trials, measurement, &differences);
  if (figure != nullptr) SetFigure(*figure, std::move(differences), cell);
}

void PublishedCells::AttachAverage(const std::vector<const TrialValues*>& trials, std::size_t with_figure,
                                   v1::TableCell* cell) const {
  if (!any()) return;
  std::vector<std::string> differences;
  const PublishedFigure* figure = FigureOf(trials, kAverage, &differences);
  if (figure == nullptr) return;
  const auto others = std::ranges::count_if(figures_, [&](const PublishedFigure* other) {
    return other != figure && other->model == figure->model && other->method == figure->method &&
           other->settings == figure->settings;
  });
  if (static_cast<std::size_t>(others) == with_figure) SetFigure(*figure, std::move(differences), cell);
}

}  // namespace inlier
