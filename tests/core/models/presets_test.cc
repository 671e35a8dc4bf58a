// The parameter counts of the presets, printed next to the papers' names.
#include "spec/trial/presets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "core/models/make_model.h"
#include "spec/trial/architecture.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

// Counted on one and on two layers, because every layer has the same number: a model of a billion numbers
// need not be made.
std::int64_t CountOf(v1::TrialSpec spec) {
  std::int64_t layers = 0, counts[2] = {};
  VisitArchitecture(spec.mutable_model(), [&](std::string_view, auto* model) {
    layers = model->layers();
    for (const int made : {1, 2}) {
      model->set_layers(made);
      const auto small = MakeModel(spec).value();
      counts[made - 1] = CountParameters(*small);
    }
  });
  return counts[0] + (layers - 1) * (counts[1] - counts[0]);
}

TEST(PresetsTest, EveryPresetHasItsPublishedParameters) {
  for (const Preset& preset : Presets()) {
    v1::TrialSpec spec;
    if (preset.source.find("Kaul") != std::string_view::npos) spec.set_norm(v1::RMS_NORM_S);
    const std::string name(preset.name);
    v1::ModelSpec* model = spec.mutable_model();
    if (preset.architecture == "bert") model->mutable_bert()->set_preset(name);
    if (preset.architecture == "opt") model->mutable_opt()->set_preset(name);
    if (preset.architecture == "gpt2") model->mutable_gpt2()->set_preset(name);
    if (preset.architecture == "llama") model->mutable_llama()->set_preset(name);
    if (preset.architecture == "vit") model->mutable_vit()->set_preset(name);
    const auto resolved = Resolve(spec).value();
    bool sized_by_data = true;
    VisitArchitecture(resolved.model(), [&](std::string_view, const auto& sizes) {
      if constexpr (requires { sizes.vocab_size(); }) {
        sized_by_data = !sizes.has_vocab_size();
      } else {
        sized_by_data = !sizes.has_classes();
      }
    });
    if (sized_by_data) {
      EXPECT_EQ(preset.parameters, 0) << preset.architecture << " " << preset.name;
      continue;
    }
    const std::int64_t count = CountOf(resolved);
    std::printf("%-6s %-12s %14lld  %s\n", std::string(preset.architecture).c_str(), name.c_str(),
                static_cast<long long>(count), std::string(preset.source).c_str());
    EXPECT_EQ(count, preset.parameters) << preset.architecture << " " << preset.name;
  }
}

}  // namespace
}  // namespace inlier
