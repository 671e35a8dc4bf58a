// What a sweep of another tool says, in no tool's own form: a reader for each tool fills it (foreign_readers.h), and MakeSweep
// (conversion.h) writes it as a sweep of inlier.
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

// A place in the file, and the keys that lead to it.
struct Place {
  SourceMap::Position position;
  std::string path;
};

// Something that the sweep of inlier does not say as the file does: what it means, and the remedy.
struct Remark : Place {
  std::string text;
};

// "line:column: path: text".
inline std::string PlacedText(const Place& place, absl::string_view text) {
  return absl::StrCat(place.position.line, ":", place.position.column, ": ", place.path,
                      place.path.empty() ? "" : ": ", text);
}
inline absl::Status ForeignError(const Place& place, absl::string_view text) {
  return absl::InvalidArgumentError(PlacedText(place, text));
}

struct ForeignParameter {
  std::string name;  // With dots where it has groups.
  Place place;
  std::vector<ForeignValue> values;  // One: it has this value everywhere.
  std::vector<double> weights;       // As many as values, or none.
  ForeignValue range;                // In place of values: an AxisRange.
  ForeignValue normal;               // In place of values: an AxisNormal.
};

struct ForeignSweep {
  enum Plan { kGrid, kRandom, kSobol };

  std::string name, description;
  std::string program;  // A path of it, or "".
  Place program_place;
  std::vector<std::string> command;
  std::vector<ForeignParameter> parameters;
  Plan plan = kGrid;
  std::optional<std::uint32_t> trials;  // Most of them; of a grid all when not given.
  Place trials_place;                   // Of their number, or of what chooses the plan.
  std::string learner;                  // What searches by results, "bayes", or "".
  Place learner_place;
  std::optional<std::uint32_t> seed;  // Of the samples.
  std::optional<std::uint32_t> max_parallel;
  std::string measurement;
  Place measurement_place;
  bool maximize = false;
  ForeignValue asha;  // An AshaPruning, or null.
  std::vector<Remark> remarks;

  void Tell(Place place, std::string text) { remarks.push_back({std::move(place), std::move(text)}); }
  absl::Status SetGoal(const Place& place, absl::string_view goal) {
    maximize = goal == "maximize";
    return maximize || goal == "minimize"
               ? absl::OkStatus()
               : ForeignError(place, "is neither minimize nor maximize; write one");
  }
};

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_FOREIGN_SWEEP_H_
