// InitialiseWeights of make_model.h: which distribution a parameter starts from follows from its name.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/models/make_model.h"

namespace inlier {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A stream of its own for every (seed, name): FNV-1a of the name, mixed with the seed as in splitmix64.
std::uint64_t StreamSeed(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * (hash | 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// The bias (or bare logit) a gate starts at; nothing where the reference leaves the library's default.
std::optional<double> GateLogit(const v1::GateSpec& gate) {
  const auto logit = [](double p) { return std::log(p / (1 - p)); };
  switch (gate.kind_case()) {
    case v1::GateSpec::kLinear:
      return logit(gate.linear().pi_init());
    case v1::GateSpec::kUnconditional:
      return logit(gate.unconditional().pi_init());
    case v1::GateSpec::kAllHeadsLinear:
      if (gate.all_heads_linear().has_pi_init()) return logit(gate.all_heads_linear().pi_init());
      return std::nullopt;
    case v1::GateSpec::kMlp:
    case v1::GateSpec::kNone:
    case v1::GateSpec::KIND_NOT_SET:
      return std::nullopt;
  }
  return std::nullopt;
}

// Linears that the reference's code makes fresh after the library has initialised the model.
bool IsFreshInReference(std::string_view name) {
  for (const std::string_view part :
       {".attention.self.query.", ".attention.self.key.", ".attention.self.value.", ".self_attn.q_proj.",
        ".self_attn.k_proj.", ".self_attn.v_proj.", ".self_attn.out_proj."}) {
    if (Contains(name, part)) return true;
  }
  return false;
}

bool IsGate(std::string_view name) {
  return Contains(name, ".attention.self.gate") || Contains(name, ".self_attn.gate");
}

// Inputs of the linear that the parameter `name` belongs to.
std::int64_t FanIn(const torch::OrderedDict<std::string, at::Tensor>& parameters, const std::string& name) {
  const std::string weight = name.substr(0, name.rfind('.')) + ".weight";
  INLIER_CHECK(parameters.contains(weight));
  return parameters[weight].size(1);
}

}  // namespace

void InitialiseWeights(LanguageModel& model, const v1::TrialSpec& resolved, std::uint64_t seed) {
  const bool is_bert = resolved.model().has_bert();
  const v1::Initialisation how =
      is_bert ? resolved.model().bert().initialisation() : resolved.model().opt().initialisation();
  const double initial_std =
      is_bert ? resolved.model().bert().initial_std() : resolved.model().opt().initial_std();
  const std::optional<double> gate_logit = GateLogit(resolved.attention().gate());

  const at::NoGradGuard no_grad;
  const auto parameters = model.named_parameters();
  for (const auto& item : parameters) {
    const std::string& name = item.key();
    at::Tensor parameter = item.value();
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(StreamSeed(seed, name));
    at::Tensor start = at::zeros(parameter.sizes(), at::kFloat);
    const auto default_uniform = [&] {
      const double limit = 1 / std::sqrt(static_cast<double>(FanIn(parameters, name)));
      start.uniform_(-limit, limit, generator);
    };
    if (IsGate(name)) {
      if (gate_logit && !EndsWith(name, ".weight")) {
        start.fill_(*gate_logit);
      } else {
        default_uniform();
      }
    } else if (Contains(name, "LayerNorm.") || Contains(name, "layer_norm.")) {
      start.fill_(EndsWith(name, ".weight") ? 1 : 0);
    } else if (how == v1::REFERENCE && IsFreshInReference(name)) {
      default_uniform();
    } else if (!EndsWith(name, "bias")) {
      start.normal_(0, initial_std, generator);
      if (EndsWith(name, ".word_embeddings.weight") || EndsWith(name, ".embed_tokens.weight"))
        start[model.pad_id()].zero_();
    }
    parameter.copy_(start);
  }
}

}  // namespace inlier
