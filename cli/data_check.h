// The data that a sweep names, opened on this machine as its trials would open them.
#ifndef INLIER_CLI_DATA_CHECK_H_
#define INLIER_CLI_DATA_CHECK_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "spec/sweep/sweep_grid.h"

namespace inlier {

struct DataProblem {
  enum Kind {
    kDoubtful,  // A trial may do what was not meant, or a worker lack a file of its data folder.
    kAbsent,    // Not on this machine; workers may have it.
    kWrong,     // A trial would refuse it.
  };
  Kind kind;
  std::string field;  // "data.text.path".
  std::string value;  // What the sweep has there.
  std::string text;   // What is wrong, with file and line, and the remedy.
};

// Of the first 1000 points, each problem once: files and folders that are absent or cannot be read, and in data what a trial
// would refuse. Of texts and instructions the first 64 MiB of each file are read, of images the first bytes of 20,000
// files; labelled rows are read whole. Nothing of data sets that are absent with all of the data folder.
std::vector<DataProblem> FindDataProblems(const SweepGrid& grid, const std::filesystem::path& data_dir);

// "sweep.yaml:3:12: data.text.path: …": the place of the value in the sweep's file, whose text is `yaml`; without a
// place where it is from elsewhere, such as --set.
std::string DataProblemText(const DataProblem& problem, const std::string& file, std::string_view yaml);

}  // namespace inlier

#endif  // INLIER_CLI_DATA_CHECK_H_
