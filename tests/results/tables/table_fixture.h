// Sweeps with trainings, calibrations and results, in a real database, and their tables.
#ifndef INLIER_TESTS_RESULTS_TABLES_TABLE_FIXTURE_H_
#define INLIER_TESTS_RESULTS_TABLES_TABLE_FIXTURE_H_

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "results/tables/table_builder.h"
#include "tests/coordinator/store/store_fixture.h"
#include "tests/results/tables/text_value.h"

namespace inlier {

using Labels = std::map<std::string, std::string>;

// With a baseline: that label of the last of the rows.
inline v1::TableSpec TableOf(const std::vector<std::string>& rows,
                             const std::vector<std::string>& measurements = {"perplexity"},
                             const std::string& baseline = "") {
  v1::TableSpec spec;
  for (const std::string& row : rows) spec.add_rows(row);
  for (const std::string& measurement : measurements) spec.add_columns()->set_measurement(measurement);
  if (!baseline.empty()) (*spec.mutable_baseline())[rows.back()] = TextValue(baseline);
  return spec;
}

class TableTest : public StoreTest {
 protected:
  // Axes by name, each with its labels; each has a field of its own, so that any text can be a label.
  void MustAddSweep(int id, const std::string& name,
                    const std::vector<std::pair<std::string, std::vector<std::string>>>& axes) {
    SweepRow row = Sweep(id);
    row.spec.Clear();
    row.spec.set_name(name);
    for (const auto& [axis, labels] : axes) {
      v1::Axis* added = row.spec.add_axes();
      added->set_name(axis);
      const std::string field = kFields[axes_++ % std::size(kFields)];
      for (const std::string& label : labels) {
        v1::Variant* variant = added->add_variants();
        variant->set_label(label);
        (*variant->mutable_set()->mutable_fields())[field].set_number_value(added->variants_size());
      }
    }
    MustApply(row);
  }

  // A trial with a training of its own, with a result where there is a value.
  void MustAddTrial(int sweep, const Labels& labels, std::optional<double> perplexity,
                    std::optional<double> accuracy = std::nullopt) {
    const int trial = ++trials_;
    training_ = 2 * trial - 1;
    const std::string spec = R"({"seed":)" + std::to_string(trial) + more_of_specs_ + "}";
    MustApply(Train(training_, spec), Evaluate(2 * trial, training_, spec),
              Trial(trial, sweep, trial - 1, training_, 2 * trial, nlohmann::json(labels).dump()));
    if (!perplexity && !accuracy) return;
    const Token token = static_cast<Token>(training_);
    MustApply(Start(token, training_), Checkpoint(token, 9, true), End(token, v1::SUCCEEDED));
    MustEvaluate(trial, perplexity, accuracy);
  }
  // A trial that evaluates the training of the one before it: another calibration, or other bits.
  void MustAddCalibration(int sweep, const Labels& labels, double perplexity) {
    const int trial = ++trials_;
    MustApply(Evaluate(2 * trial, training_),
              Trial(trial, sweep, trial - 1, training_, 2 * trial, nlohmann::json(labels).dump()));
    MustEvaluate(trial, perplexity, std::nullopt);
  }

  // The first calibration of a training of its own, the others of the same: "ptq" is "1", "2" and so on.
  void MustAddCalibrations(int sweep, Labels labels, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      labels["ptq"] = std::to_string(i + 1);
      if (i == 0) {
        MustAddTrial(sweep, labels, values[i]);
      } else {
        MustAddCalibration(sweep, labels, values[i]);
      }
    }
  }

  v1::Table MustBuild(const v1::TableSpec& spec, const std::vector<SweepId>& sweeps = {SweepId(1)}) {
    return BuildTable(*reader_, sweeps, spec).value();
  }
  std::string ErrorOf(const v1::TableSpec& spec) {
    return std::string(BuildTable(*reader_, {SweepId(1)}, spec).status().message());
  }

  static constexpr const char* kFields[] = {"training.steps", "training.batch_size", "seed",
                                            "quantization.calibration.seed", "evaluation.batches"};
  std::size_t axes_ = 0;
  int trials_ = 0;
  std::string more_of_specs_;  // Of the trials added from here on: ,"training":{…}

 private:
  void MustEvaluate(int trial, std::optional<double> perplexity, std::optional<double> accuracy) {
    const Token token = static_cast<Token>(2 * trial);
    MustApply(Start(token, 2 * trial));
    if (perplexity) MustApply(Final(token, "perplexity", *perplexity));
    if (accuracy) MustApply(Final(token, "accuracy", *accuracy));
    MustApply(End(token, v1::SUCCEEDED), TrialIs(trial, v1::SUCCEEDED));
  }

  int training_ = 0;  // Stage.
};

}  // namespace inlier

#endif  // INLIER_TESTS_RESULTS_TABLES_TABLE_FIXTURE_H_
