// The figures that the papers print, as data: the values that cells of our tables are compared with.
//
// published.csv (embedded) has one figure a row: paper, table, model, method, settings, metric, mean, std.
// Settings are "key=value" joined by ";". A figure is in the paper's unit (PublishedUnit), of the paper's
// model size: it is shown next to ours for orientation.
//
// Thread safety: immutable after the first use.
#ifndef INLIER_COORDINATOR_TABLES_PUBLISHED_H_
#define INLIER_COORDINATOR_TABLES_PUBLISHED_H_

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
  std::map<std::string, std::string> settings;  // "gamma" -> "-0.03"
  std::string metric;                           // "fp_perplexity"
  double mean = 0;
  std::optional<double> std;
};

// Of CSV text; InvalidArgument names the line.
absl::StatusOr<std::vector<PublishedFigure>> ParsePublished(const std::string& csv);

// The embedded text of published.csv.
const std::string& PublishedCsv();

// All figures of the embedded file, in its order.
const std::vector<PublishedFigure>& PublishedFigures();

// The figures of "paper/table", for example "bondarenko2023/2", or of some of its models, for example
// "kaul2024/2/gpt2-60m,llama2-130m". NotFound names what comes close.
absl::StatusOr<std::vector<const PublishedFigure*>> PublishedTable(const std::string& wanted);

// The factor from a figure of `metric` to our unit: papers print percent, hours and
// iterations a second where we have shares, seconds and tokens a second.
double PublishedUnit(const std::string& metric);

// The names that the papers would give a trial and a measurement of ours. A sweep needs no labels of its own
// for a figure to be found: softmax, gate, norm, optimizer, lengths, bits and the data decide.
struct PublishedQuery {
  std::vector<std::string>
      metrics;               // Names the papers use for the measurement; the first that is there counts.
  std::string architecture;  // "bert": figures of bert-…; "llama" also those of llama2-…
  std::string model;         // "bert-base": preferred when the table has several of the architecture.
  std::string method;        // "clipped_softmax"
  std::map<std::string, std::string>
      settings;  // Every setting that a figure names must be here and equal; numbers as numbers.
};

// `spec` is a resolved one; fields that are not there have their defaults.
PublishedQuery PublishedQueryOf(const v1::TrialSpec& spec, const std::string& measurement);

// The one figure of `figures` that fits; of several the one with most settings. nullptr when none or no
// single one fits.
const PublishedFigure* FindPublished(const std::vector<const PublishedFigure*>& figures,
                                     const PublishedQuery& query);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_TABLES_PUBLISHED_H_
