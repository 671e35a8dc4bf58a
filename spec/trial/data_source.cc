#include "spec/trial/data_source.h"

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "spec/trial/canonical.h"
#include "spec/trial/file_fields.h"

namespace inlier {

v1::TrialSpec DataSourceOf(const v1::TrialSpec& resolved) {
  v1::TrialSpec source = FileFieldsOf(resolved);
  // A training of the coordinator names no file.
  if (source.has_training() &&
      source.training().start_from().source_case() == v1::StartFromSpec::SOURCE_NOT_SET)
    source.mutable_training()->clear_start_from();
  return source;
}

v1::TrialSpec TrainingSourceOf(const v1::TrialSpec& resolved) {
  v1::TrialSpec source = DataSourceOf(resolved);
  source.clear_evaluation();
  return source;
}

std::string DataSourceNames(const v1::TrialSpec& resolved) { return CanonicalJson(DataSourceOf(resolved)); }

std::string DataSourceText(const std::string& names) {
  const absl::StatusOr<v1::TrialSpec> source = TrialSpecFromJson(names);
  if (!source.ok()) return names;
  std::string text;
  VisitFileFields(*source, [&text](const std::string& path, v1::FileUse use, const std::string& value) {
    const bool of_program = use == v1::PROGRAM;
    absl::StrAppend(&text, text.empty() ? "" : ", ",
                    !of_program          ? path
                    : IsSha256Hex(value) ? "its source"
                                         : "program",
                    " ", value);
  });
  return text;
}

}  // namespace inlier
