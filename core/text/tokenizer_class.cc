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
  static const std::map<std::string, const char*> llama = {
      {"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
  static const std::map<std::string, const char*> qwen2 = {
      {"unk_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}};
  static const std::vector<TokenizerClass> classes = {
      {"BertTokenizer", "bert", bert, Effect::kBert},
      {"DistilBertTokenizer", "distilbert", bert, Effect::kBert},
      {"GPT2Tokenizer", "gpt2", gpt2},
      {"GPT2Tokenizer", "opt", gpt2},
      {"LlamaTokenizer", "llama", llama, Effect::kLlama, true},
      {"LlamaTokenizer", "mistral", llama, Effect::kLlama, true},
      {"Qwen2Tokenizer", "qwen2", qwen2},
      {"Qwen2Tokenizer", "qwen3", qwen2},
      {"RobertaTokenizer",
       "roberta",
       {{"unk_token", "<unk>"},
        {"bos_token", "<s>"},
        {"eos_token", "</s>"},
        {"sep_token", "</s>"},
        {"pad_token", "<pad>"},
        {"cls_token", "<s>"},
        {"mask_token", "<mask>"}},
       Effect::kRoberta},
      {"GPTNeoXTokenizer", "gpt_neox", gpt2, Effect::kTemplate},
      {"GemmaTokenizer",
       "gemma2",
       {{"unk_token", "<unk>"}, {"bos_token", "<bos>"}, {"eos_token", "<eos>"}, {"pad_token", "<pad>"}},
       Effect::kTemplate,
       true},
      {"PreTrainedTokenizer", "", {}},
      {"TokenizersBackend", "", {}, Effect::kFileAlone},  // Of transformers 5: tokenizer.json has all of it.
  };
  return classes;
}

}  // namespace inlier
