#include "spec/data/classification_source.h"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/data/record_form.h"
#include "base/data/text_split.h"
#include "base/files/file.h"
#include "base/status.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<fs::path> FileOfFolder(const fs::path& folder, const std::string& name, const char* field) {
  std::error_code error;
  if (fs::exists(folder / name, error)) return folder / name;
  std::vector<std::string> there;
  for (const fs::path& entry : EntriesOf(folder)) {
    if (RecordFormOf(entry.native())) there.push_back(entry.filename().string());
  }
  std::ranges::sort(there);
  return absl::NotFoundError(absl::StrCat("data.classification.", field, ": no file ", name, " in ",
                                          folder.string(), DidYouMean(name, there)));
}

}  // namespace

absl::StatusOr<std::vector<fs::path>> ClassificationFiles(const v1::ClassificationDataSpec& spec,
                                                          const fs::path& data_dir) {
  std::vector<fs::path> files(1);
  if (spec.has_dataset()) {
    ASSIGN_OR_RETURN(
        files[0], FindDataFile(spec.dataset(), data_dir,
                               {.field = "data.classification.dataset",
                                .what = "data set",
                                .plural = "data sets",
                                .extension = ".tsv",
                                .otherwise = "name a .tsv file of your own with data.classification.path"}));
    return files;
  }
  files[0] = spec.path();
  std::error_code error;
  if (!fs::is_directory(files[0], error)) {
    if (fs::exists(files[0], error)) return files;
    return absl::NotFoundError(
        absl::StrCat("data.classification.path: no file ", spec.path(),
                     " on this machine; name a .csv, .tsv, .jsonl or .json file, or a folder with one for "
                     "training and one for validation"));
  }
  const fs::path folder = files[0];
  ASSIGN_OR_RETURN(files[0], FileOfFolder(folder, spec.train_file(), "train_file"));
  ASSIGN_OR_RETURN(const fs::path validation,
                   FileOfFolder(folder, spec.validation_file(), "validation_file"));
  files.push_back(validation);
  return files;
}

namespace {

// Puts the rows into their parts by file, or by the hash of the text.
absl::Status SplitRows(double validation_fraction, const fs::path& file, ClassificationSource* source) {
  source->rows = source->tables[0].rows();
  source->train_rows = source->rows.size();
  if (source->tables.size() > 1) {
    const std::vector<LabelledRow>& validation = source->tables[1].rows();
    source->rows.insert(source->rows.end(), validation.begin(), validation.end());
    return absl::OkStatus();
  }
  std::vector<double> hashes;
  for (const LabelledRow& row : source->rows) hashes.push_back(HashOfText(row.text));
  const TextSplit split = SplitByHash(hashes, validation_fraction);
  std::vector<LabelledRow> rows;
  for (const std::uint64_t row : split.order) rows.push_back(source->rows[row]);
  source->train_rows = split.train;
  source->rows = std::move(rows);
  if (source->train_rows > 0 && source->train_rows < source->rows.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file.string(), ": no row for ", source->train_rows == 0 ? "training" : "validation",
                   ", of ", source->rows.size(), " with data.classification.validation_fraction ",
                   validation_fraction, "; use more rows, another fraction, or a folder with two files"));
}

std::string PlaceOf(const ClassificationSource& source, std::size_t row) {
  const bool second = source.tables.size() > 1 && row >= source.train_rows;
  return source.tables[second].Place(source.rows[row]);
}

absl::Status ReadNumbers(ClassificationSource* source) {
  for (std::size_t row = 0; row < source->rows.size(); ++row) {
    const std::string label(source->rows[row].label);
    double number = 0;
    if (!absl::SimpleAtod(label, &number) || !std::isfinite(static_cast<float>(number))) {
      return absl::InvalidArgumentError(absl::StrCat(
          PlaceOf(*source, row), ": the label is not a number, and data.classification.target is NUMBER"));
    }
    source->numbers.push_back(static_cast<float>(number));
  }
  return absl::OkStatus();
}

absl::Status UnknownClass(const ClassificationSource& source, std::size_t row) {
  constexpr std::size_t kRowsToJudge = 10;
  const bool nearly_all_differ =
      source.train_rows >= kRowsToJudge && source.class_names.size() > source.train_rows / 2;
  double number = 0;
  const char* hint = absl::SimpleAtod(std::string(source.rows[row].label), &number)
                         ? "; if numbers are to be predicted, set data.classification.target: NUMBER"
                     : nearly_all_differ ? " (is it the right data.classification.label_column?)"
                                         : "";
  return absl::InvalidArgumentError(absl::StrCat(
      PlaceOf(source, row), ": the class of this validation row is not among the ", source.class_names.size(),
      " of the training part; add rows of it there, or take this one out", hint));
}

absl::Status ReadClasses(ClassificationSource* source) {
  std::vector<std::string>& names = source->class_names;
  for (std::size_t row = 0; row < source->train_rows; ++row) names.emplace_back(source->rows[row].label);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(PlaceOf(*source, 0),
                     ": every training row is of one class; two at least are needed "
                     "(is it the right data.classification.label_column?)"));
  }
  std::vector<std::int64_t> trained(names.size());
  for (std::size_t row = 0; row < source->rows.size(); ++row) {
    const std::string_view label = source->rows[row].label;
    const auto found = std::lower_bound(names.begin(), names.end(), label);
    if (found == names.end() || *found != label) return UnknownClass(*source, row);
    source->classes.push_back(found - names.begin());
    if (row < source->train_rows) ++trained[source->classes.back()];
  }
  const std::int64_t majority = std::ranges::max_element(trained) - trained.begin();
  const auto validation = source->classes.begin() + static_cast<std::ptrdiff_t>(source->train_rows);
  source->majority_share = static_cast<double>(std::count(validation, source->classes.end(), majority)) /
                           static_cast<double>(source->rows.size() - source->train_rows);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClassificationSource> ReadClassificationSource(const v1::ClassificationDataSpec& spec,
                                                              const fs::path& data_dir,
                                                              const DataRoots& roots) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, ClassificationFiles(spec, data_dir));
  LabelledColumns columns{.label = spec.label_column(), .text = spec.text_column(), .pair = {}};
  if (spec.has_pair_column()) columns.pair = spec.pair_column();
  ClassificationSource source;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(LabelledTable table, LabelledTable::Read(file, columns, roots));
    source.tables.push_back(std::move(table));
  }
  RETURN_IF_ERROR(SplitRows(spec.validation_fraction(), files[0], &source));
  RETURN_IF_ERROR(spec.target() == v1::ClassificationDataSpec::NUMBER ? ReadNumbers(&source)
                                                                      : ReadClasses(&source));
  return source;
}

}  // namespace inlier
