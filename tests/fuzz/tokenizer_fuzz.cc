// The tokenizer of a Hugging Face folder: an input is its tokenizer.json and, behind the first byte 0, its
// tokenizer_config.json. What is accepted encodes awkward texts to ids that it has, twice the same.
#include "base/check.h"
#include "core/text/tokenizer.h"
#include "core/text/tokenizer_folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

constexpr std::size_t kBytesMax = 1 << 16;

void EncodeTexts(const Tokenizer& tokenizer) {
  const auto encoder = tokenizer.MakeEncoder();
  for (const std::string& text :
       {std::string("In the beginning, it's 1611"),
        std::string("  [MASK] <|user|>\n\n\xC3\xA9 e\xCC\x81 \xE6\x97\xA5\xE6\x9C\xAC"),
        std::string("\0\xFF\xC2", 3), std::string(300, 'a'), std::string()}) {
    std::vector<std::uint32_t> ids, again;
    encoder->Encode(text, &ids);
    encoder->Encode(text, &again);
    INLIER_CHECK(ids == again);
    for (const std::uint32_t id : ids) INLIER_CHECK(id < tokenizer.size());
    tokenizer.Decode(ids);
  }
  tokenizer.Digest();
}

}  // namespace

void FuzzOne(std::string_view input) {
  if (input.size() > kBytesMax) return;
  const std::size_t end = std::min(input.find('\0'), input.size());
  static const TemporaryFolder folder;
  folder.Write("tokenizer.json", input.substr(0, end));
  folder.Write("tokenizer_config.json",
               end < input.size() ? input.substr(end + 1) : "{\"tokenizer_class\": \"BertTokenizer\"}");
  absl::StatusOr<TokenizerDefinition> definition = ReadTokenizerFolder(folder.path());
  INLIER_CHECK(definition.ok() || !definition.status().message().empty());
  if (!definition.ok()) return;
  const auto tokenizer = MakeTokenizer(*std::move(definition));
  INLIER_CHECK(tokenizer.ok() || !tokenizer.status().message().empty());
  if (tokenizer.ok()) EncodeTexts(**tokenizer);
}

std::vector<std::string> FuzzSeeds() {
  const std::string bert =
      R"({"version": "1.0", "added_tokens": [{"id": 0, "content": "[UNK]", "special": true, "normalized": false}, {"id": 6, "content": "<|user|>", "lstrip": true}],
"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
"pre_tokenizer": {"type": "BertPreTokenizer"},
"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[UNK]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"[UNK]": {"id": "[UNK]", "ids": [0], "tokens": ["[UNK]"]}}},
"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "in": 1, "the": 2, "be": 3, "##gin": 4, "##ning": 5}}})";
  const std::string llama =
      R"({"added_tokens": [{"id": 0, "content": "<unk>", "special": true, "normalized": false}],
"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "_"}, {"type": "Replace", "pattern": {"String": " "}, "content": "_"}, {"type": "NFKC"}]},
"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"}, "behavior": "Isolated", "invert": false},
  {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
"model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true, "vocab": {"<unk>": 0, "a": 1, "aa": 2, "t": 3, "h": 4, "th": 5, "<0x0A>": 6}, "merges": ["a a", ["t", "h"]]}})";
  const std::string config =
      R"({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<unk>", "added_tokens_decoder": {"0": {"content": "<unk>", "special": true}}})";
  return {
      bert, llama,
      bert + '\0' + R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false, "strip_accents": true})",
      llama + '\0' + config,
      llama + '\0' +
          R"({"tokenizer_class": "LlamaTokenizer", "add_eos_token": true, "split_special_tokens": true})"};
}

std::string FuzzMutate(std::string input, FuzzRandom& random) {
  return MutateBytes(std::move(input), random);
}

}  // namespace inlier
