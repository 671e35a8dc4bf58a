// The encoder of a definition and its decoding, as production makes them.
#ifndef INLIER_TESTS_CORE_TEXT_DEFINITION_ENCODER_H_
#define INLIER_TESTS_CORE_TEXT_DEFINITION_ENCODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/text/tokenizer.h"

namespace inlier {

class DefinitionEncoder {
 public:
  explicit DefinitionEncoder(TokenizerDefinition definition) {
    absl::StatusOr<std::unique_ptr<Tokenizer>> made = MakeTokenizer(std::move(definition));
    INLIER_CHECK(made.ok());
    tokenizer_ = *std::move(made);
    encoder_ = tokenizer_->MakeEncoder();
  }

  std::vector<uint32_t> Ids(std::string_view text) {
    std::vector<uint32_t> ids;
    encoder_->Encode(text, &ids);
    return ids;
  }

  std::string Text(const std::vector<uint32_t>& ids) const { return tokenizer_->Decode(ids); }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<TextEncoder> encoder_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_TEXT_DEFINITION_ENCODER_H_
