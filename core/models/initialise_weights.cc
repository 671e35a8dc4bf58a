// InitialiseWeights of make_model.h: a parameter's name decides its initial distribution.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "core/models/embedding_projection.h"
#include "core/models/make_model.h"
#include "core/models/norms.h"
#include "core/models/parameter_names.h"
#include "spec/trial/architecture.h"

namespace inlier {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A random stream for every (seed, name): FNV-1a of the name, mixed with the seed as in splitmix64.
std::uint64_t StreamSeed(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::uint64_t z = seed + 0x9e3779b97f4a7c15U * (hash | 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// The initial bias (or bare logit) of a gate; nothing where the reference leaves the library's default.
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
    case v1::GateSpec::kProjected:
    case v1::GateSpec::kScript:
    case v1::GateSpec::kNone:
    case v1::GateSpec::KIND_NOT_SET:
      return std::nullopt;
  }
  return std::nullopt;
}

// Linears that the reference's code creates after the library has initialised the model; for architectures
// that it does not have, the same ones.
bool IsFreshInReference(std::string_view name) {
  for (const std::string_view part :
       {".attention.self.query.", ".attention.self.key.", ".attention.self.value.", ".self_attn.q_proj.",
        ".self_attn.k_proj.", ".self_attn.v_proj.", ".self_attn.out_proj.", ".attn.c_attn.",
        ".attention.attention.query.", ".attention.attention.key.", ".attention.attention.value."}) {
    if (Contains(name, part)) return true;
  }
  return false;
}

// Inputs of the linear that the parameter `name` belongs to.
std::int64_t FanIn(const torch::OrderedDict<std::string, at::Tensor>& parameters, const std::string& name) {
  const std::string weight = name.substr(0, name.rfind('.')) + ".weight";
  INLIER_CHECK(parameters.contains(weight));
  const at::Tensor& values = parameters[weight];
  // A convolution has 4 dimensions.
  return IsStoredInOut(weight) ? values.size(0) : values.numel() / values.size(0);
}

// Q of the QR decomposition of normal numbers, with R's diagonal positive: uniform among orthogonal matrices.
at::Tensor Orthogonal(const at::Tensor& normal) {
  const auto [q, r] = at::linalg_qr(normal.to(at::kDouble));
  return (q * r.diagonal().sign()).to(normal.scalar_type());
}

// Initial distribution of an architecture's ordinary weights.
struct Start {
  v1::Initialisation how = v1::LIBRARY;
  double std = 0;
  double residual_std = 0;  // Of GPT-2's linears that write the residual stream.
};

Start StartOf(const v1::ModelSpec& model) {
  Start start;
  VisitArchitecture(model, [&start](std::string_view, const auto& spec) {
    start.how = spec.initialisation();
    start.std = spec.initial_std();
    start.residual_std = spec.initial_std() / std::sqrt(2.0 * spec.layers());
  });
  return start;
}

// Of a norm's parameter other than its gain: 0 for offsets.
double StartOfScalar(const NormOptions& norm, std::string_view name) {
  for (const NormScalar& scalar : norm.scalars) {
    if (name.ends_with("." + scalar.name)) return scalar.start;
  }
  return 0;
}

}  // namespace

void InitialiseWeights(Model& model, const v1::TrialSpec& resolved, std::uint64_t seed) {
  const Start from = StartOf(resolved.model());
  const std::optional<double> gate_logit = GateLogit(resolved.attention().gate());
  const NormOptions norm = NormFromSpec(resolved, /*epsilon=*/0);
  const std::int64_t pad_id = model.pad_id();
  const bool uniform_patches = resolved.model().vit().patch_initialisation() == v1::CONVOLUTION;

  const at::NoGradGuard no_grad;
  const auto parameters = model.named_parameters();
  for (const auto& item : parameters) {
    const std::string& name = item.key();
    if (IsGateParameter(name) && resolved.attention().gate().has_script()) continue;
    at::Tensor parameter = item.value();
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(StreamSeed(seed, name));
    at::Tensor start = at::zeros(parameter.sizes(), at::kFloat);
    const auto default_uniform = [&] {
      const double limit = 1 / std::sqrt(static_cast<double>(FanIn(parameters, name)));
      start.uniform_(-limit, limit, generator);
    };
    if (IsGateParameter(name)) {
      const v1::GateSpec& gate = resolved.attention().gate();
      if (gate_logit && !name.ends_with(".weight")) {
        start.fill_(*gate_logit);
      } else if (gate.has_initial_std() && name.ends_with(".weight")) {
        start.normal_(0, gate.initial_std(), generator);
      } else if (gate.has_projected()) {
        start.normal_(0, from.std, generator);
      } else {
        default_uniform();
      }
    } else if (name.ends_with(".sinks")) {
      start.normal_(0, resolved.attention().softmax().sink().initial_std(), generator);
    } else if (name.starts_with(kEmbeddingProjection) || name.starts_with(kHeadProjection)) {
      start = Orthogonal(start.normal_(0, 1, generator));
    } else if (IsNormParameter(name)) {
      start.fill_(name.ends_with(".weight") ? 1 : StartOfScalar(norm, name));
    } else if ((from.how == v1::REFERENCE && IsFreshInReference(name)) ||
               (uniform_patches && Contains(name, ".patch_embeddings.projection."))) {
      default_uniform();
    } else if (!name.ends_with("bias")) {
      start.normal_(0, name.ends_with(".c_proj.weight") ? from.residual_std : from.std, generator);
      if (pad_id >= 0 &&
          (name.ends_with(".word_embeddings.weight") || name.ends_with(".embed_tokens.weight")))
        start[pad_id].zero_();
    }
    parameter.copy_(start);
  }
}

}  // namespace inlier
