// The figures that the papers print, with which cells of our tables are compared.
//
// published.csv (embedded) has one figure a row: paper, table, model, method, settings, metric, mean, std, in the paper's
// unit (InOurUnit). Settings are "key=value" joined by ";", as the row of the paper's table names them. Those of the
// paper's text or code (corpus, length, updates, ranges, the gamma of "the best") are in published_recipes.csv: paper,
// select, settings, source. `select` names table, model, method, metric or settings of a line's figures, with "|" between
// alternatives; empty for all. A setting of the figure, then the first line that has it, counts.
//
// Thread safety: immutable after the first use.
#ifndef INLIER_RESULTS_TABLES_PUBLISHED_H_
#define INLIER_RESULTS_TABLES_PUBLISHED_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

struct PublishedFigure {
  std::string paper;                            // "bondarenko2023"
  std::string table;                            // "2"
  std::string model;                            // "bert-base"
  std::string method;                           // "clipped_softmax"
  std::map<std::string, std::string> settings;  // "gamma" -> "-0.03"; named by the row of the table.
  std::map<std::string, std::string> recipe;  // The same of the paper's text and code; "a|b" for one of them.
  std::string metric;                         // "fp_perplexity"
  double mean = 0;
  std::optional<double> std;
  std::uint32_t decimals = 0;  // Digits after the point, in our unit.
};

// Reads CSV text; InvalidArgument names the line.
absl::StatusOr<std::vector<PublishedFigure>> ParsePublished(const std::string& csv);

// Adds the recipes of CSV text to the figures; InvalidArgument names the line.
absl::Status AddRecipes(const std::string& csv, std::vector<PublishedFigure>* figures);

// The embedded texts of published.csv and published_recipes.csv.
const std::string& PublishedCsv();
const std::string& PublishedRecipesCsv();

// All figures of the embedded file, in its order, with their recipes.
const std::vector<PublishedFigure>& PublishedFigures();

// The figures of "paper/table", for example "bondarenko2023/2", or of some of its models, for example
// "kaul2024/2/gpt2-60m,llama2-130m". NotFound names the nearest one.
absl::StatusOr<std::vector<const PublishedFigure*>> PublishedTable(const std::string& wanted);

// A figure of `metric` in our unit: shares, seconds and tokens a second for percent, hours and iterations a second.
double InOurUnit(const std::string& metric, double figure);

// The papers' names for a trial, by its specification, and a measurement.
struct PublishedQuery {
  std::vector<std::string> metrics;  // Names of the measurement; the first that the papers have counts.
  std::string architecture;          // "bert" for figures of bert-…; "llama" also for those of llama2-…
  std::string model;                 // "bert-base"; empty for a model that no paper has.
  std::string method;                // "clipped_softmax"; empty for a method that no paper has.
  std::map<std::string, std::string> settings;  // Names and values as in published.csv.
};

// `spec` is resolved.
PublishedQuery PublishedQueryOf(const v1::TrialSpec& spec, const std::string& measurement);

// A figure, and the trial's differences from it, in words such as "model", "data", "gamma".
struct PublishedMatch {
  const PublishedFigure* figure = nullptr;  // nullptr where none or several fit.
  std::vector<std::string> differences;
};

// The figure whose metric, architecture, method and row (`settings`) are the trial's, with the fewest differences in model
// and recipe; of several the one whose row names most.
PublishedMatch FindPublished(const std::vector<const PublishedFigure*>& figures, const PublishedQuery& query);

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_PUBLISHED_H_
