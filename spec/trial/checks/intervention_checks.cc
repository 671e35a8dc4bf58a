#include "spec/trial/checks/intervention_checks.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "spec/trial/architecture.h"
#include "spec/trial/head_list.h"

namespace inlier {
namespace {

constexpr char kInterventionPath[] = "evaluation.intervention";

void CheckHeadsOff(const v1::TrialSpec& spec, Problems* problems) {
  const std::string path = absl::StrCat(kInterventionPath, ".heads_off");
  const auto heads = ParseHeads(spec.evaluation().intervention().heads_off());
  if (!heads.ok()) return problems->Add(path, std::string(heads.status().message()));
  VisitArchitecture(spec.model(), [&](std::string_view name, const auto& model) {
    if (model.layers() == 0 || model.heads() == 0) return;  // From a folder that is read later.
    for (const auto& [layer, head] : *heads) {
      if (layer < model.layers() && head < model.heads()) continue;
      problems->Add(path, absl::StrCat(layer, ".", head, " is no head of model.", std::string(name),
                                       ", which has ", model.layers(), " layers of ", model.heads(),
                                       " heads, from 0.0 to ", model.layers() - 1, ".", model.heads() - 1));
    }
  });
}

}  // namespace

void CheckIntervention(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.evaluation().has_intervention()) return;
  const v1::InterventionSpec& intervention = spec.evaluation().intervention();
  const bool massive = intervention.massive_activations() != v1::InterventionSpec::KEPT;
  if (!massive && (intervention.massive_threshold() != 100 || intervention.massive_ratio() != 1000)) {
    problems->Add(
        absl::StrCat(kInterventionPath, ".massive_activations"),
        "KEPT leaves massive activations as they are, and their limits without effect: use ZERO or MEAN, or "
        "leave massive_threshold and massive_ratio out");
  } else if (!massive && intervention.first_key() == v1::InterventionSpec::SEEN &&
             intervention.value_scale() == 1 && intervention.heads_off().empty()) {
    problems->Add(
        kInterventionPath,
        "changes nothing: give massive_activations, first_key, value_scale or heads_off, or leave it out");
  }
  if (spec.evaluation().has_sensitivity_batches()) {
    problems->Add("evaluation.sensitivity_batches",
                  "is of the model as it was trained: measure it without evaluation.intervention");
  }
  CheckHeadsOff(spec, problems);
}

}  // namespace inlier
