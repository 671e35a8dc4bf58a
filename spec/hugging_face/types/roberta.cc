#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/types/types.h"

namespace inlier {
namespace {

constexpr FixedKey kRobertaFixed[] = {
    {"position_embedding_type", "\"absolute\""},
    {"hidden_act", "\"gelu\""},  // That of the head, whatever the layers have.
    {"is_decoder", "false"},
    {"tie_word_embeddings", "true", true}};

// Positions begin behind that of padding, and there is one type of tokens, or two.
absl::Status FinishRoberta(ConfigReader& config, v1::TrialSpec* spec) {
  v1::BertSpec* bert = spec->mutable_model()->mutable_bert();
  const nlohmann::json* types = config.FindValue("type_vocab_size");
  if (types != nullptr && *types != nlohmann::json(1) && *types != nlohmann::json(2))
    return RefuseKey("type_vocab_size", "is neither 1 nor 2");
  const nlohmann::json* pad = config.Find("pad_token_id");
  const nlohmann::json id = pad == nullptr ? nlohmann::json(1) : *pad;
  if (!id.is_number_integer() || id < 0 || id.get<std::int64_t>() + 1 >= bert->max_positions())
    return RefuseKey("pad_token_id", "is not a number below max_position_embeddings, as positions need");
  bert->set_max_positions(bert->max_positions() - id.get<std::uint32_t>() - 1);
  return absl::OkStatus();
}

}  // namespace

// Liu et al. 2019. The keys are BERT's.
const ModelType kRobertaType = {"roberta", "bert", kBertType.fields, kRobertaFixed, FinishRoberta};

}  // namespace inlier
