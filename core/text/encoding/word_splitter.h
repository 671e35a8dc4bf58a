// The pre-tokenizer of a tokenizer.json: from a text to the words that the model encodes one by one.
#ifndef INLIER_CORE_TEXT_ENCODING_WORD_SPLITTER_H_
#define INLIER_CORE_TEXT_ENCODING_WORD_SPLITTER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

class WordSplitter {
 public:
  // Messages as TextNormalizer::Of.
  static absl::StatusOr<WordSplitter> Of(const nlohmann::json& value, const std::string& place);

  // True when it is one of these two alone, which are faster by themselves: BertWords after BERT's normalization, and
  // NextWord of pre_tokenizer.h, of whose words the bytes are spelt.
  bool is_bert() const { return kind_ == Kind::kBert; }
  bool is_gpt2() const { return kind_ == Kind::kGpt2; }
  // Where a text begins matters to it: prepend_scheme "first".
  bool needs_begin() const { return needs_begin_; }
  // Its words spell bytes: byte_alphabet.h.
  bool spells_bytes() const { return spells_bytes_; }

  // The words of a text, in UTF-8. `at_begin`: nothing of the whole text is before it.
  std::vector<std::string> Split(std::string text, bool at_begin) const;

  // The same for two that do the same.
  const std::string& description() const { return description_; }

 private:
  enum class Kind { kOther, kBert, kGpt2 };
  // Replaces a word by the words in it.
  using Step = std::function<void(std::string word, bool at_begin, std::vector<std::string>* words)>;
  absl::Status Add(const nlohmann::json& value, const std::string& place, int depth);
  absl::Status AddStep(const nlohmann::json& value, const std::string& place, const std::string& type);

  std::vector<Step> steps_;
  Kind kind_ = Kind::kOther;
  bool spells_bytes_ = false;
  bool needs_begin_ = false;
  std::string description_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_WORD_SPLITTER_H_
