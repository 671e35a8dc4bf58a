// The rows of data.classification, split into the two parts, with their labels as numbers.
//
// Thread safety: immutable.
#ifndef INLIER_SPEC_DATA_CLASSIFICATION_SOURCE_H_
#define INLIER_SPEC_DATA_CLASSIFICATION_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/data/labelled_table.h"

namespace inlier {

struct ClassificationSource {
  std::vector<LabelledTable> tables;  // Own the rows' texts.
  std::vector<LabelledRow> rows;      // The training rows, then those for validation.
  std::size_t train_rows = 0;

  std::vector<std::string> class_names;  // Of the training part, sorted by bytes; none for NUMBER.
  std::vector<std::int64_t> classes;     // Of each row; empty for NUMBER.
  std::vector<float> numbers;            // Of each row; empty for CLASS.
  double majority_share = 0;             // Of the validation rows: the training part's most frequent class.
};

// The files that `spec` names: one, or one for training and one for validation.
absl::StatusOr<std::vector<std::filesystem::path>> ClassificationFiles(const v1::ClassificationDataSpec& spec,
                                                                       const std::filesystem::path& data_dir);

// Errors as ClassificationDataset::Open.
absl::StatusOr<ClassificationSource> ReadClassificationSource(const v1::ClassificationDataSpec& spec,
                                                              const std::filesystem::path& data_dir,
                                                              const DataRoots& roots);

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_CLASSIFICATION_SOURCE_H_
