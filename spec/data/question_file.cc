#include "spec/data/question_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/data/data_folder.h"
#include "base/data/text_lines.h"
#include "base/data/utf8_text.h"
#include "base/json_text.h"
#include "base/status.h"
#include "spec/data/json_texts.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {
namespace {

using nlohmann::json;

constexpr JsonLimits kQuestionLimits = {.values_max = 10'000};
constexpr std::size_t kGroupBytesMax = 100;
constexpr std::size_t kGroupsMax = 1000;
constexpr std::array kKeys = {"task", "context", "choices", "gold"};

// One line.
class QuestionReader {
 public:
  QuestionReader(const json& object, std::string place, bool may_quote)
      : object_(object), may_quote_(may_quote) {
    question_.place = std::move(place);
  }

  absl::StatusOr<FileQuestion> Read() {
    RETURN_IF_ERROR(CheckKeys());
    ASSIGN_OR_RETURN(question_.group, Text("task"));
    const bool plain = std::ranges::none_of(question_.group, [](char c) { return absl::ascii_iscntrl(c); });
    if (question_.group.empty() || question_.group.size() > kGroupBytesMax || !plain) {
      return Wrong("\"task\"", absl::StrCat("names the results: give 1 to ", kGroupBytesMax,
                                            " bytes without a line break or a tab"));
    }
    ASSIGN_OR_RETURN(question_.context, Text("context"));
    RETURN_IF_ERROR(ReadChoices());
    const json& gold = object_["gold"];
    if (!gold.is_number_integer() || gold < 0 || gold >= question_.choices.size()) {
      return Wrong("\"gold\"",
                   absl::StrCat("is the place of the right one of the ", question_.choices.size(),
                                " choices: give a whole number from 0 to ", question_.choices.size() - 1));
    }
    question_.gold = gold.get<std::size_t>();
    return std::move(question_);
  }

 private:
  absl::Status Wrong(const std::string& what, const std::string& text) const {
    return absl::InvalidArgumentError(absl::StrCat(question_.place, ": ", what, " ", text));
  }

  absl::Status CheckKeys() const {
    if (!object_.is_object()) {
      return Wrong("this",
                   absl::StrCat("is of type ", object_.type_name(),
                                ", and a question is an object: {\"task\": \"…\", \"context\": \"…\", "
                                "\"choices\": [\"…\", \"…\"], \"gold\": 0}"));
    }
    const std::vector<std::string> known(kKeys.begin(), kKeys.end());
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      return Wrong("a key", absl::StrCat(may_quote_ ? absl::StrCat("\"", key, "\" ") : "",
                                         "that a question does not have",
                                         may_quote_ ? DidYouMean(key, known) : "", "; leave it out"));
    }
    for (const std::string& key : known) {
      if (!object_.contains(key))
        return Wrong(absl::StrCat("no \"", key, "\","),
                     R"(which a question needs, with the others of "task", "context", "choices" and "gold")");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Text(const char* key) const {
    const json& value = object_[key];
    if (value.is_string()) return value.get<std::string>();
    return Wrong(absl::StrCat("\"", key, "\""), absl::StrCat("is of type ", value.type_name(),
                                                             ", and a text is needed: \"", key, "\": \"…\""));
  }

  absl::Status ReadChoices() {
    const json& choices = object_["choices"];
    if (!choices.is_array() || choices.size() < 2) {
      return Wrong("\"choices\"",
                   absl::StrCat(choices.is_array() ? absl::StrCat("has ", choices.size(), " of them")
                                                   : absl::StrCat("is of type ", choices.type_name()),
                                ": give a list of two texts or more"));
    }
    for (const json& choice : choices) {
      if (!choice.is_string() || choice.get_ref<const std::string&>().empty()) {
        return Wrong("\"choices\"", absl::StrCat("has at place ", question_.choices.size(), " ",
                                                 choice.is_string() ? "an empty text" : choice.type_name(),
                                                 ", and an answer needs a token: give a text"));
      }
      question_.choices.push_back(choice.get<std::string>());
    }
    return absl::OkStatus();
  }

  const json& object_;
  const bool may_quote_;
  FileQuestion question_;
};

absl::Status CheckGroups(const std::vector<FileQuestion>& questions, const std::string& path) {
  std::set<std::string_view> groups;
  for (const FileQuestion& question : questions) {
    groups.insert(question.group);
    if (groups.size() <= kGroupsMax) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(question.place, ": \"task\" is the ", groups.size(), "th of the file, and at most ",
                     kGroupsMax, " have results: it names the group of questions, not the question"));
  }
  if (!questions.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": has no question; ", kQuestionFiles));
}

}  // namespace

absl::StatusOr<std::vector<FileQuestion>> ReadQuestions(const std::string& path, const RecordAccess& access) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat("evaluation.multiple_choice.path: no file ", path,
                                            " on this machine; ", kQuestionFiles));
  }
  const absl::StatusOr<MappedFile> file = MappedFile::Open(path, access.roots);
  if (!file.ok()) return Unreadable(file.status());
  std::string_view text = file->bytes();
  RETURN_IF_ERROR(CheckTextFile(WholeLines(text, access.bytes_max), path));
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<FileQuestion> questions;
  JsonTexts lines(text, path, RecordForm::kJsonLines);
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, lines.Next());
    if (!more || lines.offset() >= access.bytes_max) break;
    ASSIGN_OR_RETURN(const json object,
                     ParseJsonText(lines.value(), path, lines.line(), kQuestionLimits, lines.column()));
    QuestionReader reader(object, absl::StrCat(path, ":", lines.line()), !access.roots.limited());
    ASSIGN_OR_RETURN(FileQuestion question, reader.Read());
    questions.push_back(std::move(question));
  }
  RETURN_IF_ERROR(CheckGroups(questions, path));
  return questions;
}

}  // namespace inlier
