// The output of `inlier analyze`, from the lines of inlier-trial (core/trial/analysis.h).
#ifndef INLIER_CLI_ANALYSIS_REPORT_H_
#define INLIER_CLI_ANALYSIS_REPORT_H_

#include <string>

#include "inlier/v1/sweep_service.pb.h"
#include "nlohmann/json.hpp"

namespace inlier {

// Gathers the lines of one analysis.
class AnalysisReport {
 public:
  // One line of inlier-trial. True for a result, false for progress.
  bool Add(const nlohmann::ordered_json& line);

  // {"model": {...}, "settings": [{"name", "measurements", "sites"}, ...]}, and where methods were left out
  // "left_out": [{"name", "reason"}, ...].
  nlohmann::ordered_json ToJson() const;

  // Every number, for the coordinator; without the model's name.
  v1::StoreAnalysisRequest ToRequest() const;

  // A row for each setting and site, a column for each measurement of sites. Not measured, or not a number: empty.
  std::string ToCsv() const;

  std::string ToString() const;

  // "W8A8: calibrate 3/16", from the latest line of progress.
  const std::string& progress() const { return progress_; }

 private:
  nlohmann::ordered_json model_;
  nlohmann::ordered_json settings_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json left_out_ = nlohmann::ordered_json::array();
  std::string progress_;
};

}  // namespace inlier

#endif  // INLIER_CLI_ANALYSIS_REPORT_H_
