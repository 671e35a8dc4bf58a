#include "cli/import/measurement_words.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/convert/program_names.h"

namespace inlier {
namespace {

// Words between spaces.
constexpr char
    kLowerWords[] = " loss perplexity ppl error mse rmse mae nll bpb bpc wer cer ",
    kHigherWords[] = " acc accuracy f1 auc auroc bleu rouge score precision recall reward iou map r2 ",
    kNeitherWords[] = " kurtosis seconds throughput result ",
    kSettingWords[] =
        " lr learning batch bsize epochs steps seed hidden layers heads dropout decay warmup momentum "
        "beta1 beta2 beta gamma alpha eta lambda weight optimizer model dataset method size width depth dim "
        "bits clip samples length schedule tau rank workers scheduler temperature ",
    // Said of another word: "val" in acc_val, "rate" in learning_rate.
    kWordsBeside[] =
        " rate val valid validation train training test eval dev mean avg best final last init initial max "
        "min ",
    kAimWords[] = " target goal ";

bool HasWord(const char* words, const std::string& word) {
  return !word.empty() && absl::StrContains(words, absl::StrCat(" ", word, " "));
}

// Nothing for a word that says no result.
std::optional<Better> BetterOfWord(const std::string& word) {
  if (HasWord(kLowerWords, word)) return Better::kLower;
  if (HasWord(kHigherWords, word)) return Better::kHigher;
  return HasWord(kNeitherWords, word) ? std::optional(Better::kNone) : std::nullopt;
}

// "val/topAcc-1" -> val, topacc, 1.
std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (absl::ascii_isalnum(c)) {
      words.back() += absl::ascii_tolower(c);
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// The word that a name ends with, without numbers and what is said beside it: "rate" of "win_rate" is not "learning" of "learning_rate".
std::string HeadOf(std::vector<std::string> words) {
  const auto beside = [](const std::string& word) {
    return word.empty() || absl::ascii_isdigit(static_cast<unsigned char>(word[0])) ||
           HasWord(kWordsBeside, word);
  };
  while (!words.empty() && beside(words.back())) words.pop_back();
  return words.empty() ? "" : words.back();
}

}  // namespace

const MeasurementInfo* OursOfName(std::string_view name) {
  const MeasurementInfo* ours = FindMeasurement(WordOf(name));
  return ours == nullptr || !ours->final || ours->axis == "site" ? nullptr : ours;
}

NameKind KindOfName(std::string_view name) {
  const std::vector<std::string> words = WordsOf(name);
  const std::string head = HeadOf(words);
  const bool aim = std::ranges::any_of(words, [](const auto& word) { return HasWord(kAimWords, word); });
  const auto result = [](const auto& word) { return BetterOfWord(word).has_value(); };
  if (OursOfName(name) != nullptr || (result(head) && !aim)) return NameKind::kResult;
  if (HasWord(kSettingWords, head) && std::ranges::none_of(words, result)) return NameKind::kSetting;
  return NameKind::kUnknown;
}

Better BetterOfName(std::string_view name) {
  if (const MeasurementInfo* ours = OursOfName(name)) return ours->better;
  return BetterOfWord(HeadOf(WordsOf(name))).value_or(Better::kNone);
}

}  // namespace inlier
