// Corpora that a sweep names and the data folder of this machine has not.
#ifndef INLIER_CLI_CORPUS_CHECK_H_
#define INLIER_CLI_CORPUS_CHECK_H_

#include <filesystem>
#include <string>
#include <vector>

#include "spec/sweep/sweep_grid.h"

namespace inlier {

// One warning for each: `data.text.corpus: "kvj" is not in /data (…); did you mean "kjv"? …`. None where the folder
// cannot be read: workers may have another one. Looks at the first 1000 points.
std::vector<std::string> CorpusWarnings(const SweepGrid& grid, const std::filesystem::path& data_dir);

}  // namespace inlier

#endif  // INLIER_CLI_CORPUS_CHECK_H_
