#include "spec/trial/checks/decoder_checks.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "spec/schema/number_text.h"
#include "spec/trial/architecture.h"
#include "spec/trial/checks/attention_checks.h"

namespace inlier {
namespace {

constexpr char kLlama[] = "model.llama.";

void CheckHeads(const v1::TrialSpec& spec, Problems* problems) {
  const v1::LlamaSpec& llama = spec.model().llama();
  if (llama.heads() == 0) return;
  const bool usual = !llama.has_head_size() || llama.head_size() * llama.heads() == llama.hidden_size();
  if (!usual && HasGate(spec.attention().gate())) {
    problems->Add(std::string(kLlama) + "head_size", std::to_string(llama.head_size()) +
                                                         " is not hidden_size / heads, and a gate reads each "
                                                         "head's part of the input: leave one of them out");
  }
  if (llama.position() != v1::ROTARY) {
    if (llama.rotary_share() != 1)
      problems->Add(std::string(kLlama) + "rotary_share",
                    "has no effect without ROTARY positions: leave it out");
    if (llama.has_rotary_scaling() && !llama.rotary_scaling().has_none() &&
        llama.rotary_scaling().kind_case() != v1::RotaryScalingSpec::KIND_NOT_SET)
      problems->Add(std::string(kLlama) + "rotary_scaling",
                    "has no effect without ROTARY positions: leave it out");
    return;
  }
  const std::uint32_t head = llama.has_head_size() ? llama.head_size() : llama.hidden_size() / llama.heads();
  const auto rotated = static_cast<std::uint32_t>(head * llama.rotary_share());
  if (rotated >= 2 && rotated % 2 == 0) return;
  if (llama.rotary_share() == 1 && !llama.has_head_size()) return;  // CheckShape of the validator.
  problems->Add(std::string(kLlama) + (llama.rotary_share() == 1 ? "head_size" : "rotary_share"),
                "ROTARY turns pairs of features, and " + std::to_string(rotated) + " of a head's " +
                    std::to_string(head) + " are rotated: choose an even number of at least 2");
}

void CheckWindow(const v1::TrialSpec& spec, Problems* problems) {
  const v1::LlamaSpec& llama = spec.model().llama();
  const std::string path = std::string(kLlama) + "window";
  if (!llama.has_window()) {
    for (const auto& [given, name] : {std::pair(llama.window_from() > 0, "window_from"),
                                      std::pair(llama.has_window_period(), "window_period")}) {
      if (given)
        problems->Add(std::string(kLlama) + name, "has no effect without model.llama.window: leave it out");
    }
    return;
  }
  if (llama.layers() > 0 && llama.window_from() >= llama.layers())
    problems->Add(std::string(kLlama) + "window_from",
                  std::to_string(llama.window_from()) +
                      " is behind the last layer, so that none has the window: leave the window out");
  CheckOtherMask(spec, path, problems);
}

void CheckScaling(const v1::LlamaSpec& llama, Problems* problems) {
  const std::string path = std::string(kLlama) + "rotary_scaling.";
  const auto in_order = [&](double less, double more, const char* what, const char* other) {
    if (less < more) return;
    problems->Add(path + what, FormatNumber(more) + " is not more than " + other + " " + FormatNumber(less) +
                                   ": give a larger one");
  };
  const v1::RotaryScalingSpec& scaling = llama.rotary_scaling();
  if (scaling.has_llama3())
    in_order(scaling.llama3().low_factor(), scaling.llama3().high_factor(), "llama3.high_factor",
             "low_factor");
  if (scaling.has_yarn())
    in_order(scaling.yarn().beta_slow(), scaling.yarn().beta_fast(), "yarn.beta_fast", "beta_slow");
}

}  // namespace

void CheckDecoder(const v1::TrialSpec& resolved, Problems* problems) {
  if (!resolved.model().has_llama()) return;
  const v1::LlamaSpec& llama = resolved.model().llama();
  CheckHeads(resolved, problems);
  CheckWindow(resolved, problems);
  CheckScaling(llama, problems);
  if (llama.parallel() && llama.norm_placement() != v1::PRE)
    problems->Add(std::string(kLlama) + "parallel",
                  "both halves read the layer's input through their norms: use norm_placement PRE");
}

std::string_view UnfusedDecoderPart(const v1::LlamaSpec& llama) {
  if (llama.has_head_size() && llama.head_size() * llama.heads() != llama.hidden_size())
    return "model.llama.head_size";
  if (llama.has_window()) return "model.llama.window";
  if (llama.rotary_share() != 1) return "model.llama.rotary_share";
  if (llama.parallel()) return "model.llama.parallel";
  if (llama.has_score_cap()) return "model.llama.score_cap";
  return llama.has_logit_cap() ? "model.llama.logit_cap" : "";
}

}  // namespace inlier
