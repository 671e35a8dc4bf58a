#include "cli/data_check.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/utf8.h"
#include "spec/data/classification_source.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::uint64_t kPointsChecked = 1000;

// Adds the corpora that `message` names, each with its path.
void FindCorpora(const Message& message, const std::string& prefix,
                 std::map<std::string, std::string>* corpora) {
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    if (field->is_repeated()) continue;
    const std::string path = JoinPath(prefix, field->name());
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      FindCorpora(message.GetReflection()->GetMessage(message, field), path, corpora);
    } else if (field->name() == "corpus" && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      corpora->emplace(message.GetReflection()->GetString(message, field), path);
    }
  }
}

void WarnOfCorpora(const std::map<std::string, std::string>& corpora, const std::filesystem::path& data_dir,
                   std::vector<std::string>* warnings) {
  const std::vector<std::string> known = DataFilesIn(data_dir, ".txt");
  if (known.empty()) return;
  for (const auto& [corpus, path] : corpora) {
    if (std::ranges::find(known, corpus) != known.end()) continue;
    warnings->push_back(
        absl::StrCat(path, ": ", Quoted(corpus), " is not in the data folder of this machine (",
                     data_dir.string(), ")", DidYouMean(corpus, known),
                     "\n  Its trials fail unless the workers have another data folder with it"));
  }
}

void WarnOfRows(const v1::ClassificationDataSpec& rows, const std::filesystem::path& data_dir,
                std::vector<std::string>* warnings) {
  const std::filesystem::path place =
      rows.has_dataset() ? data_dir / (rows.dataset() + ".tsv") : std::filesystem::path(rows.path());
  std::error_code error;
  if (!std::filesystem::exists(place, error)) return;
  const absl::Status read = ReadClassificationSource(rows, data_dir, {}).status();
  if (read.ok()) return;
  warnings->push_back(absl::StrCat(std::string(read.message()),
                                   "\n  Its trials fail unless the workers have other rows there"));
}

}  // namespace

std::vector<std::string> DataWarnings(const SweepGrid& grid, const std::filesystem::path& data_dir) {
  std::map<std::string, std::string> corpora;
  std::map<std::string, v1::ClassificationDataSpec> labelled;  // By what decides how they are read.
  std::uint64_t points = 0;
  for (auto index = grid.NextIndex(0); index && points < kPointsChecked;
       index = grid.NextIndex(*index + 1), ++points) {
    const auto point = grid.At(*index);
    if (!point.ok()) continue;
    FindCorpora(point->spec, "", &corpora);
    if (!point->spec.data().has_classification()) continue;
    v1::ClassificationDataSpec rows = point->spec.data().classification();
    rows.clear_tokenizer();
    rows.clear_sequence_length();
    labelled.emplace(rows.SerializeAsString(), rows);
  }
  std::vector<std::string> warnings;
  WarnOfCorpora(corpora, data_dir, &warnings);
  for (const auto& [key, rows] : labelled) WarnOfRows(rows, data_dir, &warnings);
  return warnings;
}

}  // namespace inlier
