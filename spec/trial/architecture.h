// The list of the members of ModelSpec, for code that treats them alike.
#ifndef INLIER_SPEC_TRIAL_ARCHITECTURE_H_
#define INLIER_SPEC_TRIAL_ARCHITECTURE_H_

#include <string_view>

#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// Calls use(name, spec) with the architecture of `model`, if any, for example ("bert", model.bert()). `use` takes any of
// the architectures' messages; `if constexpr (requires { spec.vocab_size(); })` finds those with a field.
template <typename Use>
void VisitArchitecture(const v1::ModelSpec& model, Use&& use) {
  switch (model.architecture_case()) {
    case v1::ModelSpec::kBert:
      return use("bert", model.bert());
    case v1::ModelSpec::kOpt:
      return use("opt", model.opt());
    case v1::ModelSpec::kGpt2:
      return use("gpt2", model.gpt2());
    case v1::ModelSpec::kLlama:
      return use("llama", model.llama());
    case v1::ModelSpec::kVit:
      return use("vit", model.vit());
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      return;
  }
}

// The same for a message that `use` may change.
template <typename Use>
void VisitArchitecture(v1::ModelSpec* model, Use&& use) {
  switch (model->architecture_case()) {
    case v1::ModelSpec::kBert:
      return use("bert", model->mutable_bert());
    case v1::ModelSpec::kOpt:
      return use("opt", model->mutable_opt());
    case v1::ModelSpec::kGpt2:
      return use("gpt2", model->mutable_gpt2());
    case v1::ModelSpec::kLlama:
      return use("llama", model->mutable_llama());
    case v1::ModelSpec::kVit:
      return use("vit", model->mutable_vit());
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      return;
  }
}

// True when a position sees only those before it.
inline bool IsCausal(const v1::ModelSpec& model) {
  return model.has_opt() || model.has_gpt2() || model.has_llama();
}

inline bool HasGate(const v1::GateSpec& gate) {
  return gate.kind_case() != v1::GateSpec::KIND_NOT_SET && !gate.has_none();
}

// "bert", "opt", …; empty when there is none.
inline std::string_view ArchitectureName(const v1::ModelSpec& model) {
  std::string_view name;
  VisitArchitecture(model, [&name](std::string_view member, const auto&) { name = member; });
  return name;
}

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_ARCHITECTURE_H_
