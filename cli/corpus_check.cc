#include "cli/corpus_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/utf8.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::uint64_t kPointsLookedAt = 1000;

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

}  // namespace

std::vector<std::string> CorpusWarnings(const SweepGrid& grid, const std::filesystem::path& data_dir) {
  std::vector<std::string> known;
  for (const std::filesystem::path& file : EntriesOf(data_dir)) {
    if (file.extension() == ".txt") known.push_back(file.stem().string());
  }
  if (known.empty()) return {};
  std::sort(known.begin(), known.end());
  std::map<std::string, std::string> corpora;
  std::uint64_t points = 0;
  for (auto index = grid.NextIndex(0); index && points < kPointsLookedAt;
       index = grid.NextIndex(*index + 1), ++points) {
    if (const auto point = grid.At(*index); point.ok()) FindCorpora(point->spec, "", &corpora);
  }
  std::vector<std::string> warnings;
  for (const auto& [corpus, path] : corpora) {
    if (std::find(known.begin(), known.end(), corpus) != known.end()) continue;
    warnings.push_back(
        absl::StrCat(path, ": ", Quoted(corpus), " is not in the data folder of this machine (",
                     data_dir.string(), ")", DidYouMean(corpus, known),
                     "\n  Its trials fail unless the workers have another data folder with it"));
  }
  return warnings;
}

}  // namespace inlier
