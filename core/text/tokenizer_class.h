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
  // kLlama and kTemplate put a text between bos_token and eos_token by add_bos_token and add_eos_token, whatever the file has.
  // kRoberta: a mask_token that is a text takes the space before it.
  enum class Effect { kNone, kBert, kLlama, kTemplate, kRoberta, kFileAlone } effect = Effect::kNone;
  bool adds_bos = false;  // The default of add_bos_token there.
};

const std::vector<TokenizerClass>& TokenizerClasses();

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_TOKENIZER_CLASS_H_
