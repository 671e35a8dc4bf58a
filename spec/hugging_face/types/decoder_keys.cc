#include "spec/hugging_face/types/decoder_keys.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inlier/v1/param_options.pb.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

using nlohmann::json;

// Members of rope_parameters; which of them a type reads is transformers' modeling_rope_utils.
constexpr std::string_view kMembers[] = {"rope_type",        "type",
                                         "rope_theta",       "partial_rotary_factor",
                                         "factor",           "low_freq_factor",
                                         "high_freq_factor", "beta_fast",
                                         "beta_slow",        "attention_factor",
                                         "mscale",           "mscale_all_dim",
                                         "truncate",         "original_max_position_embeddings"};

class RotaryReader {
 public:
  RotaryReader(const char* key, const json& rope, ConfigReader& config, v1::LlamaSpec* llama)
      : key_(key), rope_(rope), config_(config), llama_(llama) {}

  absl::Status Read() {
    if (!rope_.is_object()) return RefuseKey(key_, "is not an object of rotary positions");
    for (const auto& [name, value] : rope_.items()) {
      if (std::find(std::begin(kMembers), std::end(kMembers), name) == std::end(kMembers))
        return RefuseKey(key_, absl::StrCat("its member ", std::string(Quoted(name)), " is not known"));
    }
    const double theta = Number("rope_theta", llama_->rotary_theta());
    const double share = Number("partial_rotary_factor", llama_->rotary_share());
    RETURN_IF_ERROR(status_);
    if (!(theta >= 1)) return RefuseKey(Path("rope_theta"), "is less than 1");
    if (!(share > 0 && share <= 1)) return RefuseKey(Path("partial_rotary_factor"), "is not from 0 to 1");
    llama_->set_rotary_theta(theta);
    if (share != llama_->rotary_share()) llama_->set_rotary_share(share);
    ReadScaling();
    return status_;
  }

 private:
  std::string Path(const char* name) const { return absl::StrCat(key_, ".", name); }

  void Refuse(const char* name, const std::string& what) {
    if (status_.ok()) status_ = RefuseKey(Path(name), what);
  }

  const json* Find(const char* name) const {
    const auto found = rope_.find(name);
    return found == rope_.end() || found->is_null() ? nullptr : &*found;
  }

  double Number(const char* name, std::optional<double> otherwise) {
    const json* value = Find(name);
    if (value == nullptr) {
      if (!otherwise) Refuse(name, "is missing, and this type of positions needs it");
      return otherwise.value_or(1);
    }
    if (!value->is_number()) Refuse(name, "is not a number");
    return value->is_number() ? value->get<double>() : 1;
  }

  std::uint32_t OriginalPositions() {
    const json* whole = config_.FindValue("original_max_position_embeddings");
    const json* value = whole != nullptr ? whole : Find("original_max_position_embeddings");
    if (value == nullptr) return llama_->max_positions();
    const bool good = value->is_number_integer() && *value >= 1 && *value <= UINT32_MAX;
    if (!good) Refuse("original_max_position_embeddings", "is not a size");
    return good ? value->get<std::uint32_t>() : 1;
  }

  double Factor() {
    const double factor = Number("factor", std::nullopt);
    if (!(factor >= 1)) Refuse("factor", "is less than 1");
    return factor;
  }

  void ReadScaling() {
    const json* named = Find("rope_type");
    if (named == nullptr) named = Find("type");
    const json type = named == nullptr ? json("default") : *named;
    v1::RotaryScalingSpec* scaling = llama_->mutable_rotary_scaling();
    if (type == json("default")) {
      llama_->clear_rotary_scaling();
    } else if (type == json("linear")) {
      scaling->mutable_linear()->set_factor(Factor());
    } else if (type == json("dynamic")) {
      scaling->mutable_dynamic()->set_factor(Factor());
      scaling->mutable_dynamic()->set_original_positions(llama_->max_positions());
      const double longest = llama_->max_positions() * scaling->dynamic().factor();
      llama_->set_max_positions(static_cast<std::uint32_t>(std::min<double>(longest, 1 << 20)));
    } else if (type == json("llama3")) {
      v1::Llama3RotarySpec* llama3 = scaling->mutable_llama3();
      llama3->set_factor(Factor());
      llama3->set_low_factor(Number("low_freq_factor", std::nullopt));
      llama3->set_high_factor(Number("high_freq_factor", std::nullopt));
      llama3->set_original_positions(OriginalPositions());
      if (!(llama3->high_factor() > llama3->low_factor()))
        Refuse("high_freq_factor", "is not more than low_freq_factor");
    } else if (type == json("yarn")) {
      ReadYarn(scaling->mutable_yarn());
    } else {
      Refuse("rope_type", "is not known: default, linear, dynamic, llama3 and yarn are");
    }
  }

  void ReadYarn(v1::YarnRotarySpec* yarn) {
    yarn->set_original_positions(OriginalPositions());
    yarn->set_factor(Find("factor") != nullptr || !rope_.contains("factor")
                         ? Factor()
                         : static_cast<double>(llama_->max_positions()) / yarn->original_positions());
    yarn->set_beta_fast(Number("beta_fast", yarn->beta_fast()));
    yarn->set_beta_slow(Number("beta_slow", yarn->beta_slow()));
    if (!(yarn->beta_slow() > 0 && yarn->beta_fast() > yarn->beta_slow()))
      Refuse("beta_fast", "is not more than beta_slow");
    const json* truncate = Find("truncate");
    if (truncate != nullptr && !truncate->is_boolean()) Refuse("truncate", "is neither true nor false");
    if (truncate != nullptr && truncate->is_boolean()) yarn->set_truncate(truncate->get<bool>());
    const double scale = Number("mscale", 0), all = Number("mscale_all_dim", 0);
    const auto amplitude = [yarn](double by) {
      return yarn->factor() <= 1 ? 1 : 0.1 * by * std::log(yarn->factor()) + 1;
    };
    if (Find("attention_factor") != nullptr) {
      yarn->set_attention_factor(Number("attention_factor", 1));
    } else if (scale != 0 && all != 0) {
      yarn->set_attention_factor(amplitude(scale) / amplitude(all));
    }
  }

  const std::string key_;
  const json& rope_;
  ConfigReader& config_;
  v1::LlamaSpec* llama_;
  absl::Status status_;
};

bool IsExpressed(const std::vector<bool>& windowed, std::uint32_t from, std::uint32_t period) {
  for (std::uint32_t i = 0; i < windowed.size(); ++i) {
    if (windowed[i] != (i >= from && (period == 0 || (i + 1) % period != 0))) return false;
  }
  return true;
}

absl::Status ReadWindows(ConfigReader& config, const std::function<bool(std::size_t layer)>& is_windowed,
                         v1::LlamaSpec* llama) {
  const double most = v1::LlamaSpec::descriptor()
                          ->FindFieldByNumber(v1::LlamaSpec::kLayersFieldNumber)
                          ->options()
                          .GetExtension(v1::param)
                          .max();
  if (llama->layers() > most) return RefuseKey("num_hidden_layers", absl::StrCat("is more than ", most));
  std::vector<bool> windowed(llama->layers());
  for (std::size_t i = 0; i < windowed.size(); ++i) windowed[i] = is_windowed(i);
  if (const json* types = config.FindValue("layer_types"); types != nullptr) {
    if (!types->is_array() || types->size() != llama->layers())
      return RefuseKey("layer_types", "is not a list with a type for each layer");
    for (std::size_t i = 0; i < types->size(); ++i) {
      windowed[i] = (*types)[i] == json("sliding_attention");
      if (!windowed[i] && (*types)[i] != json("full_attention"))
        return RefuseKey("layer_types", "is not known: only full_attention and sliding_attention are");
      if (windowed[i] && !llama->has_window())
        return RefuseKey("layer_types", "has sliding_attention, and there is no sliding_window");
    }
  }
  const auto first = std::find(windowed.begin(), windowed.end(), true);
  if (first == windowed.end() || !llama->has_window()) {
    llama->clear_window();
    return absl::OkStatus();
  }
  const auto at = static_cast<std::uint32_t>(first - windowed.begin());
  for (std::uint32_t period = 0; period <= windowed.size(); ++period) {
    for (const std::uint32_t from : {0u, at}) {
      if (period == 1 || !IsExpressed(windowed, from, period)) continue;
      if (from > 0) llama->set_window_from(from);
      if (period > 0) llama->set_window_period(period);
      return absl::OkStatus();
    }
  }
  return RefuseKey(
      "layer_types",
      "is in no order that is known: full_attention in every so manieth layer, or in the first ones");
}

absl::Status CheckWholeHeads(const v1::LlamaSpec& llama) {
  if (llama.rotary_share() == 1) return absl::OkStatus();
  return RefuseKey("rope_parameters.partial_rotary_factor",
                   "is not 1, and only gpt_neox rotates a part of a head");
}

void ClearUsualSizes(v1::LlamaSpec* llama) {
  if (llama->has_head_size() && llama->hidden_size() == llama->head_size() * llama->heads())
    llama->clear_head_size();
  const double head = llama->has_head_size() ? llama->head_size() : llama->hidden_size() / llama->heads();
  if (llama->has_score_size() && llama->score_size() == head) llama->clear_score_size();
}

}  // namespace

absl::Status ReadRotary(ConfigReader& config, v1::LlamaSpec* llama) {
  const json* old = config.FindValue("rope_scaling");
  const json* rope = config.FindValue("rope_parameters");
  if (old != nullptr && rope != nullptr && *old != *rope)
    return RefuseKey("rope_scaling", "differs from rope_parameters; leave one of them");
  if (old == nullptr && rope == nullptr) return absl::OkStatus();
  return RotaryReader(old != nullptr ? "rope_scaling" : "rope_parameters", old != nullptr ? *old : *rope,
                      config, llama)
      .Read();
}

json RotaryScalingKeys(const v1::LlamaSpec& llama) {
  const v1::RotaryScalingSpec& scaling = llama.rotary_scaling();
  switch (scaling.kind_case()) {
    case v1::RotaryScalingSpec::kNone:
    case v1::RotaryScalingSpec::KIND_NOT_SET:
      break;
    case v1::RotaryScalingSpec::kLinear:
      return {{"rope_type", "linear"}, {"factor", scaling.linear().factor()}};
    case v1::RotaryScalingSpec::kDynamic:
      return {{"rope_type", "dynamic"}, {"factor", scaling.dynamic().factor()}};
    case v1::RotaryScalingSpec::kLlama3:
      return {{"rope_type", "llama3"},
              {"factor", scaling.llama3().factor()},
              {"low_freq_factor", scaling.llama3().low_factor()},
              {"high_freq_factor", scaling.llama3().high_factor()},
              {"original_max_position_embeddings", scaling.llama3().original_positions()}};
    case v1::RotaryScalingSpec::kYarn: {
      const v1::YarnRotarySpec& yarn = scaling.yarn();
      json keys = {
          {"rope_type", "yarn"},           {"factor", yarn.factor()},
          {"beta_fast", yarn.beta_fast()}, {"beta_slow", yarn.beta_slow()},
          {"truncate", yarn.truncate()},   {"original_max_position_embeddings", yarn.original_positions()}};
      if (yarn.has_attention_factor()) keys["attention_factor"] = yarn.attention_factor();
      return keys;
    }
  }
  return {};
}

absl::Status FinishRmsDecoder(ConfigReader& config, const std::function<bool(std::size_t layer)>& is_windowed,
                              v1::TrialSpec* spec) {
  v1::LlamaSpec* llama = spec->mutable_model()->mutable_llama();
  ClearUsualSizes(llama);
  spec->set_norm(v1::RMS_NORM_M);
  RETURN_IF_ERROR(ReadWindows(config, is_windowed, llama));
  RETURN_IF_ERROR(ReadRotary(config, llama));
  return CheckWholeHeads(*llama);
}

}  // namespace inlier
