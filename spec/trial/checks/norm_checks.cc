#include "spec/trial/checks/norm_checks.h"

#include <string>
#include <string_view>

#include "spec/schema/number_text.h"
#include "spec/trial/architecture.h"

namespace inlier {
namespace {

// Multiplied into table and head, its two matrices give different ones.
void CheckEmbeddingProjection(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.embedding_projection()) return;
  const v1::ModelSpec& model = spec.model();
  const std::string path = "embedding_projection";
  if (!model.has_gpt2() && !model.has_llama())
    return problems->Add(path, "true is not for model." + std::string(ArchitectureName(model)) +
                                   ": use model.gpt2 or model.llama, or leave it out");
  if (!(model.has_gpt2() ? model.gpt2().tied_head() : model.llama().tied_head())) return;
  const std::string name(ArchitectureName(model));
  problems->Add(path, "true gives embedding and head a matrix each, and model." + name +
                          ".tied_head: true makes them one: give model." + name + ".tied_head: false");
}

}  // namespace

bool IsCommonNorm(v1::NormKind norm) {
  return norm == v1::LAYER_NORM || norm == v1::RMS_NORM_M || norm == v1::RMS_NORM_S;
}

v1::NormPlacement NormPlacementOf(const v1::ModelSpec& model) {
  v1::NormPlacement placement = v1::POST;
  VisitArchitecture(model, [&](std::string_view, const auto& spec) { placement = spec.norm_placement(); });
  return placement;
}

void CheckNorms(const v1::TrialSpec& resolved, Problems* problems) {
  if (resolved.norm() != v1::DYT && resolved.norm() != v1::DERF &&
      resolved.dyt_alpha() != v1::TrialSpec::default_instance().dyt_alpha()) {
    problems->Add("dyt_alpha", FormatNumber(resolved.dyt_alpha()) +
                                   " has no effect with norm: " + v1::NormKind_Name(resolved.norm()) +
                                   ": leave it out, or use norm: DYT or DERF");
  }
  VisitArchitecture(resolved.model(), [&](std::string_view name, const auto& model) {
    if (model.hidden_size() == 0 || resolved.norm_gate() < model.hidden_size()) return;
    problems->Add("norm_gate", std::to_string(resolved.norm_gate()) + " is the rank of a gate of model." +
                                   std::string(name) + ".hidden_size " + std::to_string(model.hidden_size()) +
                                   ": give less, 16 as a rule");
  });
  if (resolved.model().has_bert() && resolved.model().bert().norm_placement() == v1::ENDS)
    problems->Add(
        "model.bert.norm_placement",
        "ENDS has no norms in the layers, whose outputs are what inlier measures of a BERT: use PRE, POST or "
        "PERI, or another architecture");
  CheckEmbeddingProjection(resolved, problems);
}

}  // namespace inlier
