#include "core/text/tokenizer_folder.h"

#include <array>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/json_text.h"
#include "base/status.h"
#include "core/text/encoding/json_fields.h"
#include "core/text/tokenizer_class.h"
#include "core/text/vocabulary_file.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kTokenizerJson[] = "tokenizer.json";
constexpr char kTokenizerConfig[] = "tokenizer_config.json";
constexpr char kSpecialTokensMap[] = "special_tokens_map.json";
constexpr char kAddedTokens[] = "added_tokens.json";
constexpr char kConfig[] = "config.json";

// In the order in which transformers adds them.
constexpr std::array<const char*, 7> kNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                               "pad_token", "cls_token", "mask_token"};
constexpr char kMoreSpecial[] = "additional_special_tokens";
constexpr char kExtraSpecial[] = "extra_special_tokens";  // Its name in transformers 5, as a list.

bool IsRegular(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

class FolderReader {
 public:
  FolderReader(const fs::path& folder, const DataRoots& roots) : folder_(folder), roots_(roots) {}

  absl::StatusOr<TokenizerDefinition> Read() {
    ASSIGN_OR_RETURN(config_, ReadObject(kTokenizerConfig));
    ASSIGN_OR_RETURN(model_, ReadObject(kConfig));
    RETURN_IF_ERROR(ChooseClass());
    RETURN_IF_ERROR(RefuseKeys());
    RETURN_IF_ERROR(IsRegular(folder_ / kTokenizerJson) ? ReadJson() : ReadBare());
    const json settings = config_;  // Before older files are read into them.
    RETURN_IF_ERROR(AddTokens());
    RETURN_IF_ERROR(FollowClass());
    JsonFields config(config_, Place(kTokenizerConfig));
    if (has_settings()) made_.special_is_text = config.Flag("split_special_tokens", false);
    RETURN_IF_ERROR(config.status());
    RETURN_IF_ERROR(KeepFiles(settings));
    return std::move(made_);
  }

 private:
  std::string Place(const char* file) const { return (folder_ / file).string(); }
  absl::Status Refuse(const char* file, const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(Place(file), ": ", what));
  }
  // True where transformers would read the folder at all: a class is known.
  bool has_settings() const { return class_ != nullptr; }
  // REQUIRES: has_settings().
  bool is_file_alone() const { return class_->effect == TokenizerClass::Effect::kFileAlone; }

  // Empty where there is no such file.
  absl::StatusOr<json> ReadObject(const char* name) const {
    if (!IsRegular(folder_ / name)) return json::object();
    ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(folder_ / name, roots_));
    ASSIGN_OR_RETURN(json value, ParseJsonText(file.bytes(), Place(name)));
    if (value.is_object()) return value;
    return Refuse(name, "is not an object of keys and values");
  }

  // For an export. Its config.json is another one, so that the class is named with the tokenizer.
  absl::Status KeepFiles(json settings) {
    made_.files.clear();
    for (const fs::path& path : TokenizerFilesIn(folder_)) {
      if (path.filename() == kConfig) continue;
      ASSIGN_OR_RETURN(const MappedFile file, OpenVocabularyFile(path, roots_));
      made_.files[path.filename().string()] = std::string(file.bytes());
    }
    if (!has_settings()) return absl::OkStatus();
    if (made_.IsOwn() && made_.files.count("vocab.json") > 0 && made_.files.count("merges.txt") > 0) {
      // An export writes the others by what its model reads around a text.
      for (const char* other : {kTokenizerJson, kTokenizerConfig, kSpecialTokensMap, kAddedTokens})
        made_.files.erase(other);
      return absl::OkStatus();
    }
    settings["tokenizer_class"] = absl::StrCat(class_->name, is_file_alone() ? "" : "Fast");
    made_.files[kTokenizerConfig] = settings.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
    return absl::OkStatus();
  }

  absl::Status ChooseClass() {
    for (const auto& [file, values] : {std::pair(kTokenizerConfig, &config_), std::pair(kConfig, &model_)}) {
      JsonFields fields(*values, Place(file));
      const std::string name = fields.Text("tokenizer_class", "");
      RETURN_IF_ERROR(fields.status());
      if (name.empty()) continue;
      for (const TokenizerClass& known : TokenizerClasses()) {
        if (absl::StripSuffix(name, "Fast") == known.name) {
          class_ = &known;
          return absl::OkStatus();
        }
      }
      return Refuse(file,
                    absl::StrCat("tokenizer_class: ", Quoted(name),
                                 " is not known to inlier: BertTokenizer, GemmaTokenizer, GPT2Tokenizer, "
                                 "GPTNeoXTokenizer, LlamaTokenizer, Qwen2Tokenizer, RobertaTokenizer, "
                                 "PreTrainedTokenizerFast and TokenizersBackend are"));
    }
    JsonFields fields(model_, Place(kConfig));
    const std::string type = fields.Text("model_type", "");
    for (const TokenizerClass& known : TokenizerClasses()) {
      if (!type.empty() && absl::StripPrefix(type, "inlier_") == known.model_type && class_ == nullptr)
        class_ = &known;
    }
    RETURN_IF_ERROR(fields.status());
    for (const char* file : {kTokenizerConfig, kTokenizerJson, kSpecialTokensMap, kAddedTokens}) {
      if (class_ != nullptr || !IsRegular(folder_ / file)) continue;
      return Refuse(file, absl::StrCat("no tokenizer_class in ", kTokenizerConfig,
                                       " names the class of transformers that reads it, and no ", kConfig,
                                       " with a model_type that inlier reads; add one"));
    }
    return absl::OkStatus();
  }

  absl::Status RefuseKeys() const {
    for (const char* key : {"auto_map", "fast_tokenizer_files", kExtraSpecial, "from_slow", "gguf_file",
                            "tokenizer_file", "init_inputs"}) {
      const auto found = config_.find(key);
      if (found == config_.end() || found->is_null() || found->empty() || *found == false) continue;
      if (is_file_alone() && key == kExtraSpecial && found->is_array()) continue;
      return Refuse(kTokenizerConfig,
                    absl::StrCat(key, ": is not known to inlier, and may change token ids"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadJson() {
    ASSIGN_OR_RETURN(const MappedFile file, OpenVocabularyFile(folder_ / kTokenizerJson, roots_));
    ASSIGN_OR_RETURN(made_, ParseTokenizerJson(file.bytes(), Place(kTokenizerJson)));
    return absl::OkStatus();
  }

  absl::Status ReadBare() {
    const bool word_piece = IsRegular(folder_ / "vocab.txt");
    const bool byte_pair = IsRegular(folder_ / "vocab.json") && IsRegular(folder_ / "merges.txt");
    const std::string name = has_settings() ? class_->name : word_piece ? "BertTokenizer" : "GPT2Tokenizer";
    if (word_piece && absl::EndsWith(name, "BertTokenizer")) {
      ASSIGN_OR_RETURN(const WordPieceVocabulary vocabulary,
                       WordPieceVocabulary::Load(folder_ / "vocab.txt", roots_));
      made_ = has_settings() ? PiecesDefinition(vocabulary) : WordPieceDefinition(vocabulary);
      made_.place = Place("vocab.txt");
      return absl::OkStatus();
    }
    if (byte_pair) return ReadMerges(name);
    const std::string folder = folder_.string();
    std::string remedy = "put the tokenizer's files there, as transformers' save_pretrained writes them";
    if (IsRegular(folder_ / "tokenizer.model"))  // Of SentencePiece.
      remedy = absl::StrCat("transformers makes one of tokenizer.model: AutoTokenizer.from_pretrained(",
                            Quoted(folder), ").save_pretrained(", Quoted(folder), ")");
    return absl::NotFoundError(absl::StrCat(folder, ": has no tokenizer.json, nor the vocabulary of a ", name,
                                            " (vocab.txt, or vocab.json and merges.txt); ", remedy));
  }

  absl::Status ReadMerges(const std::string& name) {
    ASSIGN_OR_RETURN(const BytePairVocabulary vocabulary,
                     BytePairVocabulary::Load(folder_ / "vocab.json", folder_ / "merges.txt", roots_));
    made_.place = Place("vocab.json");
    const bool own = IsOwnVocabulary(vocabulary) && config_.empty();
    // Without names, of tokens that are not GPT-2's.
    const bool opt = !config_.contains("bos_token") && !config_.contains("eos_token") &&
                     vocabulary.SpecialId("</s>").has_value() && vocabulary.SpecialId("<pad>").has_value();
    if (own || !has_settings()) {
      class_ = nullptr;  // transformers has no class for a vocabulary that was trained here.
      absl::StatusOr<TokenizerDefinition> bare = own ? OwnDefinition(vocabulary) : Gpt2Definition(vocabulary);
      if (!bare.ok()) return Refuse("vocab.json", std::string(bare.status().message()));
      made_ = *std::move(bare);
      made_.place = Place("vocab.json");
      return absl::OkStatus();
    }
    if (name != "GPT2Tokenizer")
      return Refuse(
          "merges.txt",
          absl::StrCat("without tokenizer.json it is read for GPT2Tokenizer alone, and this is ", name));
    ASSIGN_OR_RETURN(const MappedFile merges, OpenVocabularyFile(folder_ / "merges.txt", roots_));
    // transformers leaves out the first line, and what follows the last line's end.
    if (!merges.bytes().starts_with("#version") || !merges.bytes().ends_with("\n"))
      return Refuse(
          "merges.txt",
          "must begin with a line #version: 0.2 and end with a line's end, as transformers reads it");
    made_ = BytePairDefinition(vocabulary);
    made_.place = Place("vocab.json");
    if (opt) {
      config_["bos_token"] = config_["eos_token"] = config_["unk_token"] = "</s>";
      config_["pad_token"] = "<pad>";
    }
    return absl::OkStatus();
  }

  // A text, or an object of an added token. Nothing: null, or no such key.
  absl::StatusOr<std::optional<AddedToken>> TokenOf(const json& value, const std::string& place) const {
    if (value.is_null()) return std::nullopt;
    AddedToken token;
    if (value.is_string()) {
      token.content = value.get<std::string>();
    } else {
      JsonFields fields(value, place);
      fields.Skip("__type");
      token = ReadAddedToken(fields);
      RETURN_IF_ERROR(fields.Finish());
    }
    const auto known = known_.find(token.content);
    return known == known_.end() ? token : known->second;
  }

  absl::Status Add(const AddedToken& token, const char* file, const std::string& key,
                   std::optional<uint32_t> id) {
    const absl::StatusOr<uint32_t> given = made_.Add(token);
    if (!given.ok()) return Refuse(file, absl::StrCat(key, ": ", std::string(given.status().message())));
    if (id.has_value() && *given != *id) {
      return Refuse(
          file, absl::StrCat(key, ": is for the id ", *id, ", and transformers gives the token ", *given));
    }
    return absl::OkStatus();
  }

  // added_tokens_decoder of tokenizer_config.json; without it the two older files.
  absl::Status AddTokens() {
    if (!has_settings()) return absl::OkStatus();                    // A bare vocabulary has its own.
    std::map<uint32_t, std::pair<AddedToken, std::string>> decoder;  // With the key.
    const char* file = kTokenizerConfig;
    if (config_.contains("added_tokens_decoder")) {
      RETURN_IF_ERROR(ReadDecoder(&decoder));
    } else {
      RETURN_IF_ERROR(ReadOlderFiles(&decoder));
      file = kAddedTokens;
    }
    for (const auto& [id, token] : decoder) RETURN_IF_ERROR(Add(token.first, file, token.second, id));
    return AddSpecialTokens();
  }

  absl::Status ReadDecoder(std::map<uint32_t, std::pair<AddedToken, std::string>>* decoder) {
    const json& values = config_.at("added_tokens_decoder");
    if (!values.is_object())
      return Refuse(kTokenizerConfig, "added_tokens_decoder: is not an object of ids and tokens");
    for (const auto& [id, value] : values.items()) {
      const std::string key = absl::StrCat("added_tokens_decoder.", std::string(CutUtf8(id, 60)));
      uint32_t number = 0;
      if (!absl::SimpleAtoi(id, &number) || number >= kVocabularyTokensMax || !value.is_object())
        return Refuse(kTokenizerConfig, absl::StrCat(key, ": is not the id of an added token"));
      ASSIGN_OR_RETURN(const std::optional<AddedToken> token,
                       TokenOf(value, absl::StrCat(Place(kTokenizerConfig), ": ", key)));
      (*decoder)[number] = {*token, key};
      known_[token->content] = *token;
    }
    return absl::OkStatus();
  }

  absl::Status ReadOlderFiles(std::map<uint32_t, std::pair<AddedToken, std::string>>* decoder) {
    ASSIGN_OR_RETURN(const json special, ReadObject(kSpecialTokensMap));
    for (const auto& [key, value] : special.items()) {
      json& replaced = config_[key];
      replaced = value;
      if (replaced.is_object()) replaced["special"] = true;
    }
    std::set<std::string> names;
    for (const char* name : kNames) {
      ASSIGN_OR_RETURN(const std::optional<AddedToken> token, Named(name));
      if (token.has_value()) names.insert(token->content);
    }
    ASSIGN_OR_RETURN(const json added, ReadObject(kAddedTokens));
    for (const auto& [content, id] : added.items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= kVocabularyTokensMax)
        return Refuse(kAddedTokens, absl::StrCat(Quoted(content), ": is not the id of a token"));
      AddedToken token{.content = content};
      token.special = names.count(content) > 0;
      token.normalized = !token.special;
      (*decoder)[id.get<uint32_t>()] = {token, Quoted(content)};
    }
    for (const AddedToken& token : made_.added) {
      (*decoder)[token.id] = {token, Quoted(token.content)};
      known_[token.content] = token;
    }
    return absl::OkStatus();
  }

  // The token that has a name, by the files or the class.
  absl::StatusOr<std::optional<AddedToken>> Named(const char* name) const {
    const auto found = config_.find(name);
    const auto usual = class_->special.find(name);
    if (found == config_.end() && usual == class_->special.end()) return std::nullopt;
    return TokenOf(found == config_.end() ? json(usual->second) : *found,
                   absl::StrCat(Place(kTokenizerConfig), ": ", name));
  }

  absl::Status AddSpecialTokens() {
    for (const char* name : kNames) {
      ASSIGN_OR_RETURN(std::optional<AddedToken> token, Named(name));
      if (!token.has_value()) continue;
      made_.named[name] = token->content;
      bool is_text = !config_.contains(name) || config_[name].is_string();
      if (is_text && class_->effect == TokenizerClass::Effect::kRoberta &&
          std::string_view(name) == "mask_token" &&
          (!config_.contains(name) || known_.count(token->content) == 0)) {
        token = AddedToken{.content = token->content, .lstrip = true, .normalized = false};
        is_text = false;
      }
      RETURN_IF_ERROR(AddSpecial(*token, name, is_text));
    }
    const char* key = is_file_alone() && config_.contains(kExtraSpecial) ? kExtraSpecial : kMoreSpecial;
    const auto more = config_.find(key);
    if (more == config_.end() || more->empty()) return absl::OkStatus();
    if (!more->is_array()) return Refuse(kTokenizerConfig, absl::StrCat(key, ": is not a list"));
    for (const json& value : *more) {
      ASSIGN_OR_RETURN(const std::optional<AddedToken> token,
                       TokenOf(value, absl::StrCat(Place(kTokenizerConfig), ": ", key)));
      if (token.has_value()) RETURN_IF_ERROR(AddSpecial(*token, key, value.is_string()));
    }
    return absl::OkStatus();
  }
  // One that is added already is not changed by a text alone.
  absl::Status AddSpecial(AddedToken token, const char* key, bool is_text) {
    token.special = true;
    if (is_text && known_.count(token.content) == 0 && made_.IsAdded(token.content)) return absl::OkStatus();
    return Add(token, kTokenizerConfig, key, std::nullopt);
  }

  absl::Status FollowClass() {
    if (!has_settings() || is_file_alone()) return absl::OkStatus();
    JsonFields config(config_, Place(kTokenizerConfig));
    const bool has_prefix =
        made_.pre_tokenizer.is_object() && made_.pre_tokenizer.value("type", json()) == "ByteLevel";
    const json& prefix = config.At("add_prefix_space");
    if (class_->effect == TokenizerClass::Effect::kLlama) {
      if (!prefix.is_null())
        return Refuse(kTokenizerConfig,
                      "add_prefix_space: transformers makes the tokenizer of tokenizer.model with it, "
                      "which inlier does not read; leave it out");
      return FollowTemplate(config);
    }
    if (has_prefix && !prefix.is_null())
      made_.pre_tokenizer["add_prefix_space"] = config.Flag("add_prefix_space", false);
    if (has_prefix && !config_.contains("add_prefix_space")) made_.pre_tokenizer["add_prefix_space"] = false;
    if (class_->effect == TokenizerClass::Effect::kTemplate) return FollowTemplate(config);
    if (class_->effect == TokenizerClass::Effect::kBert) RETURN_IF_ERROR(FollowBert(config));
    if (!IsRegular(folder_ / kTokenizerJson) && std::holds_alternative<BytePairSettings>(made_.model) &&
        config.Flag("add_bos_token", false)) {
      made_.around.emplace();
      ASSIGN_OR_RETURN(made_.around->before, TokenToAdd("add_bos_token", "bos_token"));
    }
    return config.status();
  }

  absl::Status FollowTemplate(JsonFields& config) {
    made_.around.emplace();
    if (config.Flag("add_bos_token", class_->adds_bos)) {
      ASSIGN_OR_RETURN(made_.around->before, TokenToAdd("add_bos_token", "bos_token"));
    }
    if (config.Flag("add_eos_token", false)) {
      ASSIGN_OR_RETURN(made_.around->after, TokenToAdd("add_eos_token", "eos_token"));
    }
    return config.status();
  }

  absl::StatusOr<std::vector<uint32_t>> TokenToAdd(const char* flag, const char* name) const {
    const std::optional<uint32_t> id = made_.IdOfNamed(name);
    if (id.has_value()) return std::vector<uint32_t>{*id};
    return Refuse(kTokenizerConfig, absl::StrCat(flag, ": is true, and there is no ", name));
  }

  absl::Status FollowBert(JsonFields& config) {
    if (!made_.normalizer.is_object() || made_.normalizer.value("type", json()) != "BertNormalizer") {
      if (made_.normalizer.is_object()) return absl::OkStatus();  // Which the three keys do not change.
      return Refuse(kTokenizerJson, "normalizer: a BertTokenizer of transformers must have one");
    }
    if (!IsRegular(folder_ / kTokenizerJson)) {
      if (!config.Flag("do_basic_tokenize", true))
        return Refuse(kTokenizerConfig,
                      "do_basic_tokenize: false is not known to inlier without tokenizer.json");
      const std::optional<uint32_t> cls = made_.IdOfNamed("cls_token"), sep = made_.IdOfNamed("sep_token");
      if (!cls.has_value() || !sep.has_value() || made_.named.count("unk_token") == 0)
        return Refuse(kTokenizerConfig, "cls_token, sep_token and unk_token: a BertTokenizer must have them");
      made_.around = {.before = {*cls}, .after = {*sep}};
      std::get<WordPieceSettings>(made_.model).unknown = made_.named["unk_token"];
    }
    if (IsRegular(folder_ / kTokenizerJson)) made_.token_normalizer = made_.normalizer;
    made_.normalizer["lowercase"] = config.Flag("do_lower_case", true);
    made_.normalizer["handle_chinese_chars"] = config.Flag("tokenize_chinese_chars", true);
    made_.normalizer["strip_accents"] = nullptr;
    if (!config.At("strip_accents").is_null())
      made_.normalizer["strip_accents"] = config.Flag("strip_accents", true);
    return config.status();
  }

  const fs::path folder_;
  const DataRoots roots_;
  json config_, model_;
  const TokenizerClass* class_ = nullptr;  // Null: a bare vocabulary.
  // By content: a name means one of these. Tokens of added_tokens.json are not among them.
  std::map<std::string, AddedToken> known_;
  TokenizerDefinition made_;
};

}  // namespace

std::vector<fs::path> TokenizerFilesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const char* name : {kTokenizerJson, kTokenizerConfig, kSpecialTokensMap, kAddedTokens, "vocab.txt",
                           "vocab.json", "merges.txt"}) {
    if (IsRegular(folder / name)) files.push_back(folder / name);
  }
  // It names the class, where tokenizer_config.json does not.
  if (!files.empty() && IsRegular(folder / kConfig)) files.push_back(folder / kConfig);
  return files;
}

bool HasTokenizerSettings(const fs::path& folder) {
  for (const char* name : {kTokenizerJson, kTokenizerConfig, kSpecialTokensMap, kAddedTokens, kConfig}) {
    if (IsRegular(folder / name)) return true;
  }
  return false;
}

absl::StatusOr<TokenizerDefinition> ReadTokenizerFolder(const fs::path& folder, const DataRoots& roots) {
  return FolderReader(folder, roots).Read();
}

absl::Status CheckSameTokenizer(const fs::path& folder, const Tokenizer& tokenizer, const DataRoots& roots) {
  if (TokenizerFilesIn(folder).empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(TokenizerDefinition definition, ReadTokenizerFolder(folder, roots));
  const std::string place = definition.place;
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> own, MakeTokenizer(std::move(definition)));
  if (own->Digest() == tokenizer.Digest()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      place,
      ": gives texts other ids than the trial's tokenizer, for which the model was not trained; set "
      "the tokenizer to {",
      own->masked_tokens().has_value() && !own->causal_tokens().has_value() ? "wordpiece" : "gpt2",
      ": {vocab: ", folder.string(), "}}"));
}

}  // namespace inlier
