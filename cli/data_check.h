// Data that a sweep names and that its trials could not read on this machine.
#ifndef INLIER_CLI_DATA_CHECK_H_
#define INLIER_CLI_DATA_CHECK_H_

#include <filesystem>
#include <string>
#include <vector>

#include "spec/sweep/sweep_grid.h"

namespace inlier {

// One warning for each corpus that the data folder lacks, `data.text.corpus: "kvj" is not in /data (…); did you mean
// "kjv"? …`, and for each file of labelled rows here that a trial would refuse, with the trial's error. None without any
// data: workers may have it. Checks the first 1000 points.
std::vector<std::string> DataWarnings(const SweepGrid& grid, const std::filesystem::path& data_dir);

}  // namespace inlier

#endif  // INLIER_CLI_DATA_CHECK_H_
