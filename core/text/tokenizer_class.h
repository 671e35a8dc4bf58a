// The classes of transformers whose tokenizers are read here: how each changes the tokenizer of a tokenizer.json.
#ifndef INLIER_CORE_TEXT_TOKENIZER_CLASS_H_
#define INLIER_CORE_TEXT_TOKENIZER_CLASS_H_

#include <map>
#include <string>
#include <vector>

namespace inlier {

struct TokenizerClass {
  const char* name;
  const char* model_type;  // Of config.json, for which it is the default.
  std::map<std::string, const char*> special;
  enum class Effect { kNone, kBert, kLlama, kFileAlone } effect = Effect::kNone;
};

const std::vector<TokenizerClass>& TokenizerClasses();

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_CLASS_H_
