#include "results/tables/published.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <utility>

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
constexpr char kRecipesHeader[] = "paper,select,settings,source";

using Settings = std::map<std::string, std::string>;

// The paper's sequences, 512 of 256 tokens a step: tables 2 to 6.
constexpr double kKaulTokensAStep = 512 * 256;

// Reads a number, or the papers' "-4/512" for -alpha / T.
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

// `wanted` may have alternatives: "16|32".
bool AgreesIn(const std::string& name, const std::string& wanted, const Settings& ours) {
  const auto value = ours.find(name);
  if (value == ours.end()) return false;
  const std::vector<std::string> alternatives = absl::StrSplit(wanted, '|');
  return std::ranges::any_of(alternatives,
                             [&](const std::string& one) { return SameValue(value->second, one); });
}

bool AllAgree(const Settings& wanted, const Settings& ours) {
  return std::ranges::all_of(
      wanted, [&](const auto& setting) { return AgreesIn(setting.first, setting.second, ours); });
}

// The word for a setting that differs, by default its own name.
std::string Word(const std::string& setting) {
  static const std::map<std::string, std::string> words = {
      {"corpus", "data"},
      {"mask", "data"},
      {"finetune", "training"},
      {"pretrained", "training"},
      {"train_seq_len", "sequence length"},
      {"eval_seq_len", "sequence length"},
      {"steps", "training"},
      {"epochs", "training"},
      {"batch", "training"},
      {"learning_rate", "training"},
      {"beta2", "training"},
      {"weight_decay", "training"},
      {"schedule", "training"},
      {"warmup", "training"},
      {"ln_gamma_wd", "weight decay of norms"},
      {"bits", "quantization"},
      {"scheme", "quantization"},
      {"weight_range", "ranges"},
      {"activation_range", "ranges"},
      {"weight_grid", "quantization"},
      {"activation_grid", "quantization"},
      {"n_hid", "gate"},
      {"gate_factor", "gate"},
      {"patch_ln", "patch norm"},
  };
  const auto word = words.find(setting);
  return word == words.end() ? setting : word->second;
}

void AddOnce(const std::string& name, std::vector<std::string>* names) {
  if (std::ranges::find(*names, name) == names->end()) names->push_back(name);
}

// The general word replaces the special ones.
void RemoveImplied(const std::string& general, std::initializer_list<std::string_view> special,
                   std::vector<std::string>* words) {
  if (std::ranges::find(*words, general) == words->end()) return;
  std::erase_if(*words,
                [&](const std::string& word) { return std::ranges::find(special, word) != special.end(); });
}

// Words for the settings in which the trial differs from the figure, and the number of those settings.
std::vector<std::string> Differences(const PublishedFigure& figure, const PublishedQuery& query,
                                     std::size_t* settings) {
  std::vector<std::string> words;
  *settings = 0;
  if (figure.model != query.model) {
    words.emplace_back("model");
    ++*settings;
  }
  for (const auto& [name, value] : figure.recipe) {
    if (AgreesIn(name, value, query.settings)) continue;
    AddOnce(Word(name), &words);
    ++*settings;
  }
  RemoveImplied("data", {"tokenizer", "sequence length"}, &words);
  RemoveImplied("training", {"dropout", "weight decay of norms"}, &words);
  const auto rank = [](const std::string& word) {
    return word == "model" ? 0 : word == "data" ? 1 : word == "training" ? 2 : 3;
  };
  std::ranges::stable_sort(words,
                           [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  return words;
}

absl::StatusOr<Settings> ParseSettings(const std::string& text) {
  Settings settings;
  if (text.empty()) return settings;
  for (const auto setting : absl::StrSplit(text, ';')) {
    const std::vector<std::string> parts = absl::StrSplit(setting, absl::MaxSplits('=', 1));
    if (parts.size() != 2)
      return absl::InvalidArgumentError(absl::StrCat("\"", setting, "\" is not a setting: write key=value"));
    settings[parts[0]] = parts[1];
  }
  return settings;
}

// The names that a line of the recipes may select by.
Settings NamesOf(const PublishedFigure& figure) {
  Settings names = figure.settings;
  names["table"] = figure.table;
  names["model"] = figure.model;
  names["method"] = figure.method;
  names["metric"] = figure.metric;
  return names;
}

bool IsOf(const PublishedFigure& figure, const std::string& architecture) {
  if (architecture.empty() || figure.model.compare(0, architecture.size(), architecture) != 0) return false;
  const std::size_t end = figure.model.find_first_not_of("0123456789", architecture.size());
  return end == std::string::npos || figure.model[end] == '-';
}

bool EndsWithAnyOf(const std::string& text, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return text.ends_with(end); });
}

std::uint32_t DecimalsOf(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos ? 0 : static_cast<std::uint32_t>(number.size() - point - 1);
}

bool IsPercent(const std::string& metric) {
  return metric == "average" ||
         EndsWithAnyOf(metric, {"_top1", "_acc", "_accuracy", "_f1", "_mcc", "_pearson", "_spearman"});
}

absl::StatusOr<double> ParseCell(const char* column, const std::string& text) {
  if (const std::optional<double> number = ParseNumber(text)) return *number;
  return absl::InvalidArgumentError(absl::StrCat(column, " \"", text, "\" is not a number"));
}

// Calls `use` with the fields of each line below `header`; puts the line in front of its error.
template <typename Use>
absl::Status ForEachLine(const std::string& csv, const std::string& header, const Use& use) {
  std::istringstream lines(csv);
  std::string line;
  if (!std::getline(lines, line) || line != header)
    return absl::InvalidArgumentError(absl::StrCat("line 1: must be ", header));
  const auto count = static_cast<std::size_t>(std::ranges::count(header, ',')) + 1;
  for (int number = 2; std::getline(lines, line); ++number) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    const absl::Status status =
        fields.size() == count
            ? use(fields)
            : absl::InvalidArgumentError(absl::StrCat("has ", fields.size(), " fields, not ", count));
    if (!status.ok())
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<PublishedFigure>> ParsePublished(const std::string& csv) {
  std::vector<PublishedFigure> figures;
  const auto add = [&figures](const std::vector<std::string>& fields) -> absl::Status {
    PublishedFigure figure{fields[0], fields[1], fields[2],    fields[3],   /*settings=*/{},
                           {},        fields[5], /*mean=*/0.0, std::nullopt};
    ASSIGN_OR_RETURN(figure.settings, ParseSettings(fields[4]));
    ASSIGN_OR_RETURN(figure.mean, ParseCell("mean", fields[6]));
    if (!fields[7].empty()) {
      ASSIGN_OR_RETURN(figure.std, ParseCell("std", fields[7]));
    }
    if (InOurUnit(figure.metric, 1) <= 1)
      figure.decimals =
          std::max(DecimalsOf(fields[6]), DecimalsOf(fields[7])) + (IsPercent(figure.metric) ? 2 : 0);
    figures.push_back(std::move(figure));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachLine(csv, kHeader, add));
  return figures;
}

absl::Status AddRecipes(const std::string& csv, std::vector<PublishedFigure>* figures) {
  return ForEachLine(csv, kRecipesHeader, [figures](const std::vector<std::string>& fields) -> absl::Status {
    ASSIGN_OR_RETURN(const Settings select, ParseSettings(fields[1]));
    ASSIGN_OR_RETURN(const Settings settings, ParseSettings(fields[2]));
    if (fields[3].empty()) return absl::InvalidArgumentError("has no source");
    bool selects = false;
    for (PublishedFigure& figure : *figures) {
      if ((!fields[0].empty() && figure.paper != fields[0]) || !AllAgree(select, NamesOf(figure))) continue;
      selects = true;
      for (const auto& [name, value] : settings) {
        if (!figure.settings.contains(name)) figure.recipe.emplace(name, value);
      }
    }
    return selects ? absl::OkStatus() : absl::InvalidArgumentError("selects no figure");
  });
}

const std::vector<PublishedFigure>& PublishedFigures() {
  static const std::vector<PublishedFigure> figures = [] {
    absl::StatusOr<std::vector<PublishedFigure>> parsed = ParsePublished(PublishedCsv());
    INLIER_CHECK(parsed.ok());
    INLIER_CHECK(AddRecipes(PublishedRecipesCsv(), &*parsed).ok());
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
  for (const PublishedFigure& figure : PublishedFigures()) {
    const std::string name = absl::StrCat(figure.paper, "/", figure.table);
    AddOnce(name, &known);
    if (name != paper_and_table) continue;
    found.push_back(&figure);
    AddOnce(figure.model, &models);
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
    if (std::ranges::find(models, model) != models.end()) continue;
    return absl::NotFoundError(absl::StrCat("the published table ", paper_and_table, " has no model \"",
                                            model, "\"", DidYouMean(model, models)));
  }
  std::erase_if(found, [&](const PublishedFigure* figure) {
    return std::ranges::find(chosen, figure->model) == chosen.end();
  });
  return found;
}

double InOurUnit(const std::string& metric, double figure) {
  // Divided, 80.98 % stays 0.8098 to the last digit.
  if (IsPercent(metric)) return figure / 100;
  if (metric == "a100_hours") return std::round(figure * 36000) / 10;
  if (metric == "iterations_per_second") return figure * kKaulTokensAStep;
  if (metric == "vram_gb") return figure * 1024;  // As GiB, which the tools of the GPU print.
  return figure;
}

PublishedMatch FindPublished(const std::vector<const PublishedFigure*>& figures,
                             const PublishedQuery& query) {
  if (query.method.empty()) return {};
  for (const std::string& metric : query.metrics) {
    PublishedMatch best;
    std::pair<std::size_t, std::size_t> best_rank;  // Settings that differ, settings that the row leaves out.
    bool several = false;
    for (const PublishedFigure* figure : figures) {
      if (figure->metric != metric || figure->method != query.method || !IsOf(*figure, query.architecture) ||
          !AllAgree(figure->settings, query.settings)) {
        continue;
      }
      std::size_t differ = 0;
      std::vector<std::string> differences = Differences(*figure, query, &differ);
      const std::pair rank(differ, SIZE_MAX - figure->settings.size());
      if (best.figure != nullptr && rank > best_rank) continue;
      several = best.figure != nullptr && rank == best_rank;
      best = {figure, std::move(differences)};
      best_rank = rank;
    }
    if (best.figure != nullptr && !several) return best;
  }
  return {};
}

}  // namespace inlier
