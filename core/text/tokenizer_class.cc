#include "core/text/tokenizer_class.h"

namespace inlier {

const std::vector<TokenizerClass>& TokenizerClasses() {
  using Effect = TokenizerClass::Effect;
  static const std::map<std::string, const char*> bert = {{"unk_token", "[UNK]"},
                                                          {"sep_token", "[SEP]"},
                                                          {"pad_token", "[PAD]"},
                                                          {"cls_token", "[CLS]"},
                                                          {"mask_token", "[MASK]"}};
  static const std::map<std::string, const char*> gpt2 = {
      {"unk_token", "<|endoftext|>"}, {"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
  static const std::vector<TokenizerClass> classes = {
      {"BertTokenizer", "bert", bert, Effect::kBert},
      {"DistilBertTokenizer", "distilbert", bert, Effect::kBert},
      {"GPT2Tokenizer", "gpt2", gpt2},
      {"GPT2Tokenizer", "opt", gpt2},
      {"LlamaTokenizer",
       "llama",
       {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}},
       Effect::kLlama},
      {"Qwen2Tokenizer",
       "qwen2",
       {{"unk_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}}},
      {"PreTrainedTokenizer", "", {}},
      {"TokenizersBackend", "", {}, Effect::kFileAlone},  // Of transformers 5: tokenizer.json has all of it.
  };
  return classes;
}

}  // namespace inlier
