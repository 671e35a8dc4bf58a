// The sites that each linear of a model reads and writes: for methods that change a linear's input and its weight together.
#ifndef INLIER_CORE_QUANT_LINEAR_LINEAR_SITES_H_
#define INLIER_CORE_QUANT_LINEAR_LINEAR_SITES_H_

#include <optional>
#include <string>
#include <string_view>

#include "inlier/v1/model_spec.pb.h"

namespace inlier {

// The tensor that a linear reads.
enum class LinearSource {
  kNorm,       // The output of a norm of its layer (post-norm: of the norm before).
  kFinalNorm,  // The output of the last norm: the head of OPT, GPT-2 and Llama.
  kContext,    // The merged heads of the attention; the linear writes the residual stream.
  kFfn,        // The inside of the feed-forward network; the linear writes the residual stream.
};

struct LinearPlace {
  LinearSource source;
  // A name of the tensor that it reads, the same for all linears that read it. With kNorm and kFinalNorm of OPT, GPT-2
  // and Llama, pre-norm, the path of the norm.
  std::string reads;

  bool reads_norm() const { return source == LinearSource::kNorm || source == LinearSource::kFinalNorm; }
  bool writes_residual() const { return source == LinearSource::kContext || source == LinearSource::kFfn; }
};

// The place of the linear at `site` (core/models/sites.h); nothing for one outside the layers, but the heads above.
std::optional<LinearPlace> FindLinearPlace(v1::ModelSpec::ArchitectureCase architecture,
                                           std::string_view site);

// True when the linear at `site` makes queries or keys; with values too, as GPT-2's does.
bool MakesQueriesOrKeys(std::string_view site);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_LINEAR_LINEAR_SITES_H_
