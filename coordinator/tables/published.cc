#include "coordinator/tables/published.h"

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/number_text.h"

namespace inlier {
namespace {

constexpr char kHeader[] = "paper,table,model,method,settings,metric,mean,std";

// The paper's sequences, 512 of 256 tokens a step: tables 2 to 6.
constexpr double kKaulTokensAStep = 512 * 256;

// "-4/512" is the papers' way to write -alpha / T.
std::optional<double> Number(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return ParseNumber(text);
  const std::optional<double> above = ParseNumber(text.substr(0, slash));
  const std::optional<double> below = ParseNumber(text.substr(slash + 1));
  if (!above.has_value() || !below.has_value() || *below == 0) return std::nullopt;
  return *above / *below;
}

bool SameValue(const std::string& a, const std::string& b) {
  if (a == b) return true;
  // The same alpha at another T is the same setting.
  const bool of_alpha = a.find('/') != std::string::npos && b.find('/') != std::string::npos;
  const std::optional<double> x = of_alpha ? ParseNumber(a.substr(0, a.find('/'))) : Number(a);
  const std::optional<double> y = of_alpha ? ParseNumber(b.substr(0, b.find('/'))) : Number(b);
  return x.has_value() && y.has_value() && *x == *y;
}

bool SettingsAgree(const PublishedFigure& figure, const PublishedQuery& query) {
  return std::all_of(figure.settings.begin(), figure.settings.end(), [&](const auto& setting) {
    const auto ours = query.settings.find(setting.first);
    return ours != query.settings.end() && SameValue(ours->second, setting.second);
  });
}

bool IsOf(const PublishedFigure& figure, const std::string& architecture) {
  if (architecture.empty() || figure.model.compare(0, architecture.size(), architecture) != 0) return false;
  const std::size_t end = figure.model.find_first_not_of("0123456789", architecture.size());
  return end == std::string::npos || figure.model[end] == '-';
}

bool EndsWithAnyOf(const std::string& text, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return text.ends_with(end); });
}

}  // namespace

absl::StatusOr<std::vector<PublishedFigure>> ParsePublished(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  if (!std::getline(lines, line) || line != kHeader)
    return absl::InvalidArgumentError(absl::StrCat("line 1: must be ", kHeader));
  std::vector<PublishedFigure> figures;
  for (int number = 2; std::getline(lines, line); ++number) {
    const auto wrong = [&](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", what));
    };
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    if (fields.size() != 8) return wrong(absl::StrCat("has ", fields.size(), " fields, not 8"));
    PublishedFigure figure{fields[0], fields[1], fields[2], fields[3], {}, fields[5], 0, std::nullopt};
    if (!fields[4].empty()) {
      for (const auto setting : absl::StrSplit(fields[4], ';')) {
        const std::vector<std::string> parts = absl::StrSplit(setting, absl::MaxSplits('=', 1));
        if (parts.size() != 2) return wrong(absl::StrCat("\"", setting, "\" is no setting: write key=value"));
        figure.settings[parts[0]] = parts[1];
      }
    }
    const std::optional<double> mean = ParseNumber(fields[6]);
    if (!mean.has_value()) return wrong(absl::StrCat("mean \"", fields[6], "\" is no number"));
    figure.mean = *mean;
    if (!fields[7].empty()) {
      figure.std = ParseNumber(fields[7]);
      if (!figure.std.has_value()) return wrong(absl::StrCat("std \"", fields[7], "\" is no number"));
    }
    figures.push_back(std::move(figure));
  }
  return figures;
}

const std::vector<PublishedFigure>& PublishedFigures() {
  static const std::vector<PublishedFigure> figures = [] {
    absl::StatusOr<std::vector<PublishedFigure>> parsed = ParsePublished(PublishedCsv());
    INLIER_CHECK(parsed.ok());
    return *std::move(parsed);
  }();
  return figures;
}

absl::StatusOr<std::vector<const PublishedFigure*>> PublishedTable(const std::string& wanted) {
  const std::size_t first_slash = wanted.find('/');
  const std::size_t slash =
      first_slash == std::string::npos ? first_slash : wanted.find('/', first_slash + 1);
  const std::string paper_and_table = wanted.substr(0, slash);
  std::vector<const PublishedFigure*> found;
  std::vector<std::string> known;
  std::vector<std::string> models;
  const auto add_new = [](const std::string& name, std::vector<std::string>* names) {
    if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
  };
  for (const PublishedFigure& figure : PublishedFigures()) {
    const std::string name = absl::StrCat(figure.paper, "/", figure.table);
    add_new(name, &known);
    if (name != paper_and_table) continue;
    found.push_back(&figure);
    add_new(figure.model, &models);
  }
  if (found.empty()) {
    const std::string nearest = Nearest(paper_and_table, known);
    return absl::NotFoundError(absl::StrCat("no published table is named \"", paper_and_table, "\"",
                                            nearest.empty()
                                                ? absl::StrCat("; known: ", absl::StrJoin(known, ", "))
                                                : absl::StrCat("; did you mean \"", nearest, "\"?")));
  }
  if (slash == std::string::npos) return found;
  const std::vector<std::string> chosen = absl::StrSplit(wanted.substr(slash + 1), ',');
  for (const std::string& model : chosen) {
    if (std::find(models.begin(), models.end(), model) != models.end()) continue;
    return absl::NotFoundError(absl::StrCat("the published table ", paper_and_table, " has no model \"",
                                            model, "\"", DidYouMean(model, models)));
  }
  std::erase_if(found, [&](const PublishedFigure* figure) {
    return std::find(chosen.begin(), chosen.end(), figure->model) == chosen.end();
  });
  return found;
}

double PublishedUnit(const std::string& metric) {
  if (EndsWithAnyOf(metric, {"_top1", "_acc", "_accuracy", "_f1", "_mcc", "_pearson", "_spearman"}))
    return 0.01;
  if (metric == "a100_hours") return 3600;
  if (metric == "iterations_per_second") return kKaulTokensAStep;
  return 1;
}

const PublishedFigure* FindPublished(const std::vector<const PublishedFigure*>& figures,
                                     const PublishedQuery& query) {
  for (const std::string& metric : query.metrics) {
    std::vector<const PublishedFigure*> fits;
    for (const PublishedFigure* figure : figures) {
      if (figure->metric == metric && figure->method == query.method && IsOf(*figure, query.architecture) &&
          SettingsAgree(*figure, query)) {
        fits.push_back(figure);
      }
    }
    const auto keep = [&](const auto& condition) {
      std::vector<const PublishedFigure*> kept;
      std::copy_if(fits.begin(), fits.end(), std::back_inserter(kept), condition);
      if (!kept.empty()) fits = std::move(kept);
    };
    keep([&](const PublishedFigure* figure) { return figure->model == query.model; });
    std::size_t most = 0;
    for (const PublishedFigure* figure : fits) most = std::max(most, figure->settings.size());
    keep([&](const PublishedFigure* figure) { return figure->settings.size() == most; });
    if (fits.size() == 1) return fits.front();
  }
  return nullptr;
}

}  // namespace inlier
