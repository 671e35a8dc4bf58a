// ParseTokenizerJson of tokenizer_definition.h: the format of the `tokenizers` library.
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json_text.h"
#include "base/status.h"
#include "core/text/encoding/json_fields.h"
#include "core/text/tokenizer_definition.h"
#include "core/text/vocabulary_file.h"

namespace inlier {
namespace {

using nlohmann::json;

// The ids of an object of tokens.
void ReadVocabulary(JsonFields& model, VocabularyIds* ids) {
  const json& vocabulary = model.At("vocab");
  if (!vocabulary.is_object()) return model.Fail("vocab", "is not an object of tokens and ids");
  std::set<uint64_t> seen;
  for (const auto& [token, id] : vocabulary.items()) {
    const bool number = id.is_number_unsigned() && id.get<uint64_t>() < kVocabularyTokensMax;
    if (!number || !seen.insert(id.get<uint64_t>()).second) {
      return model.Fail("vocab",
                        absl::StrCat("the id of ", Quoted(token), " is ",
                                     number ? "another token's too"
                                            : absl::StrCat("not a number below ", kVocabularyTokensMax)));
    }
    (*ids)[token] = id.get<uint32_t>();
  }
}

// Each "a b", or ["a", "b"].
void ReadMerges(JsonFields& model, BytePairSettings* settings) {
  const json& merges = model.At("merges");
  if (!merges.is_array()) return model.Fail("merges", "is not a list");
  for (size_t i = 0; i < merges.size(); ++i) {
    const json& merge = merges[i];
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      settings->merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
      return model.Fail(absl::StrCat("merges[", i, "]"), "is not two tokens");
    settings->merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
}

void ReadBytePair(JsonFields& model, BytePairSettings* settings) {
  ReadMerges(model, settings);
  if (model.Has("unk_token") && !model.At("unk_token").is_null()) settings->unknown = model.Text("unk_token");
  settings->prefix = model.Text("continuing_subword_prefix", "");
  settings->suffix = model.Text("end_of_word_suffix", "");
  settings->fuse_unknown = model.Flag("fuse_unk", false);
  settings->byte_fallback = model.Flag("byte_fallback", false);
  settings->ignore_merges = model.Flag("ignore_merges", false);
  const json& dropout = model.At("dropout");
  if (!dropout.is_null() && dropout != 0)
    model.Fail("dropout", "is not 0: the same text would have other ids each time");
}

void ReadWordPiece(JsonFields& model, WordPieceSettings* settings) {
  settings->unknown = model.Text("unk_token", "[UNK]");
  settings->prefix = model.Text("continuing_subword_prefix", "##");
  if (model.Has("max_input_chars_per_word"))
    settings->max_characters = model.Count("max_input_chars_per_word", UINT32_MAX);
}

absl::Status ReadModel(const json& value, const std::string& place, TokenizerDefinition* definition) {
  JsonFields model(value, place);
  RETURN_IF_ERROR(model.status());
  // Old files do not name it.
  const char* unnamed = model.Has("merges")                     ? "BPE"
                        : model.Has("max_input_chars_per_word") ? "WordPiece"
                                                                : nullptr;
  const std::string type = model.Text("type", unnamed);
  if (type != "BPE" && type != "WordPiece") {
    model.Fail("type", absl::StrCat(Quoted(type), " is not known to inlier: BPE and WordPiece are"));
    return model.status();
  }
  ReadVocabulary(model, &definition->ids);
  if (type == "BPE") {
    ReadBytePair(model, &definition->model.emplace<BytePairSettings>());
  } else {
    ReadWordPiece(model, &definition->model.emplace<WordPieceSettings>());
  }
  return model.Finish();
}

absl::Status ReadAddedTokens(const json& value, const std::string& place, TokenizerDefinition* definition) {
  if (value.is_null()) return absl::OkStatus();
  if (!value.is_array()) return absl::InvalidArgumentError(absl::StrCat(place, ": is not a list"));
  for (size_t i = 0; i < value.size(); ++i) {
    JsonFields fields(value[i], absl::StrCat(place, "[", i, "]"));
    const uint32_t id = fields.Count("id", kVocabularyTokensMax);
    AddedToken token = ReadAddedToken(fields);
    RETURN_IF_ERROR(fields.Finish());
    const absl::StatusOr<uint32_t> given = definition->Add(std::move(token));
    if (!given.ok()) {
      fields.Fail("content", std::string(given.status().message()));
    } else if (*given != id) {
      fields.Fail("id", absl::StrCat("is ", id, ", and tokenizers gives the token ", *given));
    }
    RETURN_IF_ERROR(fields.status());
  }
  return absl::OkStatus();
}

// Reads what a post-processor puts around one text.
class AroundReader {
 public:
  absl::Status Read(const json& value, const std::string& place, int depth) {
    JsonFields fields(value, place);
    const std::string type = fields.Text("type");
    if (type == "Sequence") {
      const json& parts = fields.At("processors");
      if (!parts.is_array() || depth == 8)
        fields.Fail("processors", "is not a list, or one in too many others");
      RETURN_IF_ERROR(fields.Finish());
      for (size_t i = 0; i < parts.size(); ++i)
        RETURN_IF_ERROR(Read(parts[i], absl::StrCat(fields.PathOf("processors"), "[", i, "]"), depth + 1));
      return absl::OkStatus();
    }
    for (const char* of_offsets : {"trim_offsets", "add_prefix_space", "use_regex"}) {
      if (type == "ByteLevel" || type == "RobertaProcessing") fields.Skip(of_offsets);
    }
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      Put({IdOf(fields, "cls")}, {IdOf(fields, "sep")});
    } else if (type == "TemplateProcessing") {
      ReadTemplate(fields);
    } else if (type != "ByteLevel") {
      fields.Fail("type", absl::StrCat(Quoted(type), " is not known to inlier"));
    }
    return fields.Finish();
  }

  std::optional<TokenizerDefinition::Around> around() const {
    return around_.before.empty() && around_.after.empty() ? std::nullopt : std::optional(around_);
  }

 private:
  // Outside of what earlier ones have put there.
  void Put(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after) {
    around_.before.insert(around_.before.begin(), before.begin(), before.end());
    around_.after.insert(around_.after.end(), after.begin(), after.end());
  }
  uint32_t IdOf(JsonFields& fields, const char* key) {
    const json& pair = fields.At(key);
    if (pair.is_array() && pair.size() == 2 && pair[1].is_number_unsigned() &&
        pair[1].get<uint64_t>() < kVocabularyTokensMax)
      return pair[1].get<uint32_t>();
    fields.Fail(key, "is not a token with its id");
    return 0;
  }

  void ReadTemplate(JsonFields& fields) {
    const json& single = fields.At("single");
    const json& tokens = fields.At("special_tokens");
    fields.Skip("pair");  // inlier joins the texts of a pair itself.
    if (!single.is_array() || !tokens.is_object())
      return fields.Fail("single", "is not a list with special_tokens");
    std::vector<uint32_t> parts[2];
    int texts = 0;
    for (const json& part : single) {
      if (part.is_object() && part.size() == 1 && part.contains("Sequence")) {
        ++texts;
        continue;
      }
      const json* token = nullptr;
      if (part.is_object() && part.size() == 1 && part.contains("SpecialToken") &&
          part["SpecialToken"].is_object() && part["SpecialToken"].contains("id") &&
          part["SpecialToken"]["id"].is_string()) {
        const auto found = tokens.find(part["SpecialToken"]["id"].get<std::string>());
        if (found != tokens.end() && found->is_object() && found->contains("ids")) token = &(*found)["ids"];
      }
      if (token == nullptr || !token->is_array() || texts > 1)
        return fields.Fail("single", "has a part that is neither the text nor a special token with ids");
      for (const json& id : *token) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() >= kVocabularyTokensMax)
          return fields.Fail("special_tokens", "has an id that is not the number of a token");
        parts[texts].push_back(id.get<uint32_t>());
      }
    }
    if (texts != 1) return fields.Fail("single", "does not have the text once");
    Put(parts[0], parts[1]);
  }

  TokenizerDefinition::Around around_;
};

}  // namespace

absl::StatusOr<TokenizerDefinition> ParseTokenizerJson(std::string_view text, const std::string& file) {
  // A token has a key, an id and in most models a merge of three values.
  ASSIGN_OR_RETURN(const json root,
                   ParseJsonText(text, file, 1,
                                 {.bytes_max = kVocabularyBytesMax, .values_max = 3 * kVocabularyTokensMax}));
  TokenizerDefinition definition;
  definition.place = file;
  JsonFields fields(root, file);
  // How long texts are cut and filled, and how ids become text again, change no id of a text.
  for (const char* ignored : {"version", "truncation", "padding", "decoder"}) fields.Skip(ignored);
  definition.normalizer = fields.At("normalizer");
  definition.pre_tokenizer = fields.At("pre_tokenizer");
  const json& model = fields.At("model");
  const json& added = fields.At("added_tokens");
  const json& around = fields.At("post_processor");
  RETURN_IF_ERROR(fields.Finish());
  RETURN_IF_ERROR(ReadModel(model, fields.PathOf("model"), &definition));
  RETURN_IF_ERROR(ReadAddedTokens(added, fields.PathOf("added_tokens"), &definition));
  if (!around.is_null()) {
    AroundReader reader;
    RETURN_IF_ERROR(reader.Read(around, fields.PathOf("post_processor"), 0));
    definition.around = reader.around();
  }
  return definition;
}

}  // namespace inlier
