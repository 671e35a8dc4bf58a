#include "spec/trial/checks/attention_checks.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "spec/schema/number_text.h"
#include "spec/trial/architecture.h"
#include "spec/trial/data_kind.h"

namespace inlier {
namespace {

void CheckSoftmax(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.attention().softmax().has_ncs()) return;
  const v1::NcsSpec& ncs = spec.attention().softmax().ncs();
  if (ncs.beta() > ncs.zeta()) {
    problems->Add("attention.softmax.ncs.beta",
                  FormatNumber(ncs.beta()) + " is more than zeta " + FormatNumber(ncs.zeta()) +
                      ", which would lift every probability, those of masked keys too: give at most zeta "
                      "(equal to it, it is the vanilla softmax)");
  }
  if (ncs.length() == v1::NcsSpec::ROW && !IsCausal(spec.model())) {
    problems->Add("attention.softmax.ncs.length",
                  "ROW is the number of keys that a query of a causal model sees, and model." +
                      std::string(ArchitectureName(spec.model())) +
                      " sees both sides: use RUN, UNPADDED or CONFIGURED");
  }
}

void CheckGate(const v1::GateSpec& gate, Problems* problems) {
  if (gate.has_none() && gate.output_factor() != v1::GateSpec::default_instance().output_factor()) {
    problems->Add(
        "attention.gate.output_factor",
        FormatNumber(gate.output_factor()) + " has no effect without a gate: leave it out, or choose a gate");
  }
  if (gate.has_initial_std() && gate.has_script()) {
    problems->Add("attention.gate.initial_std",
                  FormatNumber(gate.initial_std()) +
                      " has no effect on a script, whose file has the initial parameters: leave it out");
  }
  if (gate.has_initial_std() && (gate.has_none() || gate.has_unconditional())) {
    problems->Add("attention.gate.initial_std",
                  FormatNumber(gate.initial_std()) +
                      " has no effect without a gate that reads its input: leave it out");
  }
  if (gate.pooled() && (gate.has_none() || gate.has_unconditional())) {
    const std::string why =
        gate.has_none() ? "without a gate" : "with the unconditional gate, which is the same for all tokens";
    problems->Add("attention.gate.pooled",
                  "true has no effect " + why + ": leave it out, or choose another gate");
  }
  if (gate.pooled() && (gate.has_projected() || gate.has_script())) {
    const std::string why = gate.has_projected() ? "the projected gate, whose factors are those of a token"
                                                 : "a script, which gives the gates themselves";
    problems->Add("attention.gate.pooled", "true is not defined for " + why +
                                               ": leave it out, or choose linear, mlp or all_heads_linear");
  }
}

// A norm of queries and keys cancels a factor of a whole head.
void CheckProjectedGate(const v1::AttentionSpec& attention, Problems* problems) {
  using Projected = v1::ProjectedGateSpec;
  if (!attention.gate().has_projected() || attention.query_key_norm() == v1::NO_NORM) return;
  const Projected& gate = attention.gate().projected();
  if (gate.place() != Projected::KEY && gate.place() != Projected::QUERY) return;
  const std::string place = Projected::Place_Name(gate.place());
  if (gate.granularity() == Projected::HEADWISE) {
    problems->Add(
        "attention.gate.projected.granularity",
        "HEADWISE at " + place +
            " scales a whole head, and attention.query_key_norm divides by a head's size again: use "
            "ELEMENTWISE, another place, or NO_NORM");
  }
  if (attention.gate().output_factor() != v1::GateSpec::default_instance().output_factor()) {
    problems->Add("attention.gate.output_factor",
                  FormatNumber(attention.gate().output_factor()) + " has no effect at " + place +
                      ", behind which attention.query_key_norm divides by a head's size: leave it out");
  }
}

void CheckQueryKeyNorm(const v1::TrialSpec& spec, Problems* problems) {
  const v1::QueryKeyNorm norm = spec.attention().query_key_norm();
  if (norm == v1::NO_NORM) return;
  VisitArchitecture(spec.model(), [&](std::string_view name, const auto& model) {
    if (model.heads() == 0 || model.hidden_size() != model.heads()) return;
    if constexpr (requires { model.head_size(); }) {
      if (model.head_size() > 1) return;
    }
    problems->Add("attention.query_key_norm",
                  v1::QueryKeyNorm_Name(norm) + " is over the features of a head, and model." +
                      std::string(name) + " has one feature a head: give fewer model." + std::string(name) +
                      ".heads, or NO_NORM");
  });
}

void CheckPrefix(const v1::TrialSpec& spec, Problems* problems) {
  const std::uint32_t prefix = spec.attention().prefix_tokens();
  if (prefix == 0) return;
  if (!IsCausal(spec.model()))
    return problems->Add("attention.prefix_tokens",
                         std::to_string(prefix) + " relaxes the mask of a causal model, and model." +
                             std::string(ArchitectureName(spec.model())) + " sees both sides: leave it out");
  std::uint32_t tokens = SequenceLength(spec);
  if (spec.evaluation().has_sequence_length()) tokens = std::min(tokens, spec.evaluation().sequence_length());
  if (tokens == 0 || prefix < tokens) return;
  problems->Add("attention.prefix_tokens",
                std::to_string(prefix) + " leaves nothing to predict of sequences of " +
                    std::to_string(tokens) + " tokens: give at most " + std::to_string(tokens - 1));
}

// attention.window and document_mask.
void CheckMask(const v1::TrialSpec& spec, Problems* problems) {
  const v1::AttentionSpec& attention = spec.attention();
  for (const auto& [given, path] : {std::pair(attention.has_window(), "attention.window"),
                                    std::pair(attention.document_mask(), "attention.document_mask")}) {
    if (!given) continue;
    if (!IsCausal(spec.model()))
      problems->Add(path, "is for causal models, and model." + std::string(ArchitectureName(spec.model())) +
                              " sees both sides: leave it out");
    CheckOtherMask(spec, path, problems);
  }
  if (attention.has_window() && spec.model().llama().has_window())
    problems->Add("attention.window", "is given once more as model.llama.window: leave one of the two out");
  if (attention.document_mask() && !spec.data().has_text())
    problems->Add(
        "attention.document_mask",
        "is for data.text, whose sequences join texts: leave it out where each is an example of its own");
}

}  // namespace

void CheckOtherMask(const v1::TrialSpec& spec, const std::string& path, Problems* problems) {
  if (spec.attention().prefix_tokens() > 0)
    problems->Add(path,
                  "is not defined with attention.prefix_tokens, which lets the first tokens see each other: "
                  "leave one of them out");
  const v1::SoftmaxSpec& softmax = spec.attention().softmax();
  const bool counts =
      softmax.has_sigmoid() || (softmax.has_ncs() && (softmax.ncs().length() == v1::NcsSpec::ROW ||
                                                      softmax.ncs().length() == v1::NcsSpec::UNPADDED));
  if (counts)
    problems->Add(path,
                  "changes the number of keys that a query sees, which this attention.softmax counts without "
                  "it: leave it out, or use another softmax");
}

void CheckAttention(const v1::TrialSpec& resolved, Problems* problems) {
  CheckSoftmax(resolved, problems);
  CheckGate(resolved.attention().gate(), problems);
  CheckProjectedGate(resolved.attention(), problems);
  CheckQueryKeyNorm(resolved, problems);
  CheckPrefix(resolved, problems);
  CheckMask(resolved, problems);
}

}  // namespace inlier
