#include "core/trial/export/processor_files.h"

#include <vector>

#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

Json AddedTokenJson(const std::string& token, std::int64_t id) {
  return {{"id", id},        {"content", token},    {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// BERT's own classes make the rest from vocab.txt.
void AddWordPiece(Json* config, Json* special) {
  (*config)["tokenizer_class"] = "BertTokenizer";
  (*config)["do_lower_case"] = true;
  *special = {{"unk_token", "[UNK]"},
              {"sep_token", "[SEP]"},
              {"pad_token", "[PAD]"},
              {"cls_token", "[CLS]"},
              {"mask_token", "[MASK]"}};
}

// `begin` and perhaps `end` around each text.
Json Template(const std::string& begin, std::int64_t begin_id, const std::string& end, std::int64_t end_id) {
  const auto token = [](const std::string& name, int type) {
    return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  Json single = {token(begin, 0), text("A", 0)};
  Json pair = single;
  const auto known = [](const std::string& name, std::int64_t id) {
    return Json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  Json tokens = {{begin, known(begin, begin_id)}};
  if (end.empty()) {
    pair.push_back(token(begin, 0));
    pair.push_back(text("B", 0));
  } else {
    single.push_back(token(end, 0));
    pair = single;
    pair.push_back(text("B", 1));
    pair.push_back(token(end, 1));
    tokens[end] = known(end, end_id);
  }
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

// tokenizer.json of a byte-level BPE; `around`: its post-processor.
std::string BytePairJson(const Json& vocabulary, const std::string& merges_txt, const Json& added,
                         const Json& around) {
  Json merges = Json::array();
  for (const auto line : absl::StrSplit(merges_txt, '\n', absl::SkipEmpty())) {
    if (line.substr(0, 9) != "#version:") merges.push_back(std::string(line));
  }
  const Json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return Json{{"version", "1.0"},
              {"truncation", nullptr},
              {"padding", nullptr},
              {"added_tokens", added},
              {"normalizer", nullptr},
              {"pre_tokenizer", bytes},
              {"post_processor", around.is_null() ? bytes : around},
              {"decoder", bytes},
              {"model",
               {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", ""},
                {"end_of_word_suffix", ""},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"vocab", vocabulary},
                {"merges", merges}}}}
      .dump();
}

}  // namespace

FileContents TokenizerFiles(const Tokenizer& tokenizer, bool causal, std::int64_t max_positions) {
  FileContents files = tokenizer.Files();
  if (files.count("tokenizer_config.json") != 0) return files;  // Of the folder that it was read from.
  Json config = {{"model_max_length", max_positions}, {"clean_up_tokenization_spaces", false}};
  Json special = Json::object();
  if (files.count("vocab.txt") != 0) {
    AddWordPiece(&config, &special);
  } else {
    const Json vocabulary = Json::parse(files["vocab.json"]);
    const bool ours = tokenizer.masked_tokens().has_value();
    std::map<std::int64_t, std::string> by_id;
    for (const auto& [token, id] : vocabulary.items()) by_id[id.get<std::int64_t>()] = token;
    const SpecialTokens tokens = causal ? *tokenizer.causal_tokens() : *tokenizer.masked_tokens();
    Json added = Json::array();
    const auto add = [&added, &by_id](std::int64_t id) { added.push_back(AddedTokenJson(by_id[id], id)); };
    if (ours) {
      for (std::size_t id = 0; id < kOwnSpecialTokens.size(); ++id) add(static_cast<std::int64_t>(id));
    } else {
      add(tokens.begin);
      if (tokens.pad != tokens.begin) add(tokens.pad);
    }
    const std::string begin = by_id[tokens.begin], end = tokens.end ? by_id[*tokens.end] : "";
    const bool plain = !ours && tokens.pad == tokens.begin;  // GPT-2's.
    files["tokenizer.json"] =
        BytePairJson(vocabulary, files["merges.txt"], added,
                     plain ? Json() : Template(begin, tokens.begin, end, tokens.end.value_or(0)));
    config["tokenizer_class"] = "PreTrainedTokenizerFast";
    config["split_special_tokens"] = ours;  // Spelt in a text, they are text.
    special = {{"pad_token", by_id[tokens.pad]}};
    if (causal) {
      special["bos_token"] = special["eos_token"] = begin;
    } else {
      special["cls_token"] = begin;
      special["sep_token"] = end;
      special["mask_token"] = by_id[*tokens.mask];
    }
  }
  config.update(special);
  files["tokenizer_config.json"] = config.dump(2) + "\n";
  files["special_tokens_map.json"] = special.dump(2) + "\n";
  return files;
}

FileContents ImageProcessorFiles(const v1::TrialSpec& resolved) {
  const v1::VitSpec& vit = resolved.model().vit();
  const bool one = vit.channels() == 1;
  std::vector<double> mean = {0.5, 0.5, 0.5}, deviation = mean;
  if (resolved.data().images().pixel_scale() == v1::IMAGENET) {
    mean = one ? std::vector{0.449} : std::vector{0.485, 0.456, 0.406};
    deviation = one ? std::vector{0.226} : std::vector{0.229, 0.224, 0.225};
  }
  mean.resize(vit.channels());
  deviation.resize(vit.channels());
  const Json config = {{"image_processor_type", "ViTImageProcessor"},
                       {"do_resize", true},
                       {"size", {{"height", vit.image_size()}, {"width", vit.image_size()}}},
                       {"resample", 2},
                       {"do_rescale", true},
                       {"rescale_factor", 1.0 / 255},
                       {"do_normalize", true},
                       {"image_mean", mean},
                       {"image_std", deviation}};
  return {{"preprocessor_config.json", config.dump(2) + "\n"}};
}

}  // namespace inlier
