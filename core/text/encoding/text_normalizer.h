// The normalizer of a tokenizer.json: what is done to a text before it is cut into words.
#ifndef INLIER_CORE_TEXT_ENCODING_TEXT_NORMALIZER_H_
#define INLIER_CORE_TEXT_ENCODING_TEXT_NORMALIZER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/text/encoding/bert_words.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

class TextNormalizer {
 public:
  // `place` names the file and the key in messages. InvalidArgument names a type or a key that is not known.
  static absl::StatusOr<TextNormalizer> Of(const nlohmann::json& value, const std::string& place);

  bool changes_nothing() const { return steps_.empty(); }
  // The settings, where it is BERT's alone.
  const std::optional<BertNormalization>& bert() const { return bert_; }

  std::string Apply(std::string text) const {
    for (const Step& step : steps_) text = step(std::move(text));
    return text;
  }

  // The same for two that do the same.
  const std::string& description() const { return description_; }

 private:
  using Step = std::function<std::string(std::string)>;
  absl::Status Add(const nlohmann::json& value, const std::string& place, int depth);

  std::vector<Step> steps_;
  std::optional<BertNormalization> bert_;
  std::string description_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_TEXT_NORMALIZER_H_
