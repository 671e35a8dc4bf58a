// What a sweep of another tool says, in no tool's own form: a reader for each tool fills it (wandb_reader.h, hydra_reader.h), and
// MakeConversion (conversion.h) writes it as a sweep of inlier.
#ifndef INLIER_CLI_CONVERT_FOREIGN_SWEEP_H_
#define INLIER_CLI_CONVERT_FOREIGN_SWEEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "spec/schema/yaml_reader.h"

namespace inlier {

// Keys keep their order.
using ForeignValue = nlohmann::ordered_json;

// Something that the sweep of inlier does not say as the file does: what it means, and the remedy.
struct Remark {
  SourceMap::Position position;
  std::string path;
  std::string text;
};

// InvalidArgument: "line:column: path: text".
inline absl::Status ForeignError(SourceMap::Position position, const std::string& path,
                                 const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat(position.line, ":", position.column, ": ", path, path.empty() ? "" : ": ", text));
}

struct ForeignParameter {
  std::string name;  // With dots where it has groups.
  std::string path;  // In the file.
  SourceMap::Position position;
  std::vector<ForeignValue> values;  // One: it has this value everywhere.
  std::vector<double> weights;       // As many as values, or none.
  ForeignValue range;                // In place of values: an AxisRange.
  ForeignValue normal;               // In place of values: an AxisNormal.
};

struct ForeignSweep {
  enum Plan { kGrid, kRandom, kSobol };

  std::string name, description;
  std::string program;  // A path of it, or "".
  SourceMap::Position program_position;
  std::vector<std::string> command;
  std::vector<ForeignParameter> parameters;
  Plan plan = kGrid;
  std::optional<std::uint32_t> trials;  // Most of them; of a grid all when not given.
  std::string trials_key;               // What names their number: "run_cap".
  SourceMap::Position trials_position;  // Of that, or of what chooses the plan.
  std::string learner;                  // What searches by results, "bayes", or "".
  std::string learner_key;              // What chooses it.
  SourceMap::Position learner_position;
  std::optional<std::uint32_t> seed;  // Of the samples.
  std::optional<std::uint32_t> max_parallel;
  std::string measurement;
  SourceMap::Position measurement_position;
  bool maximize = false;
  ForeignValue asha;  // An AshaPruning, or null.
  std::vector<Remark> remarks;

  void Tell(SourceMap::Position position, std::string path, std::string text) {
    remarks.push_back({position, std::move(path), std::move(text)});
  }
};

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_FOREIGN_SWEEP_H_
