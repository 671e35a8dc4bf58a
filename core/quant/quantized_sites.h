// Which sites of a model carry a quantizer: one table for each architecture, in the order of execution.
#ifndef INLIER_CORE_QUANT_QUANTIZED_SITES_H_
#define INLIER_CORE_QUANT_QUANTIZED_SITES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "inlier/v1/model_spec.pb.h"

namespace inlier {

// Groups of sites that a setup of the reference scheme may treat differently.
enum class SitePart { kBody, kNorm, kFinalNorm, kHead };

struct QuantizedSite {
  std::string_view path;  // "*" stands for the number of the layer.
  bool weight;            // Has a weight quantizer.
  bool activation;        // Has an activation quantizer.
  SitePart part;
};

// True when the architecture has a table: the reference code has BERT and OPT, the paper's text ViT
// (docs/decisions/0006-reference-quantizers.md).
bool HasQuantizedSites(v1::ModelSpec::ArchitectureCase architecture);

// REQUIRES: HasQuantizedSites(architecture).
const std::vector<QuantizedSite>& QuantizedSites(v1::ModelSpec::ArchitectureCase architecture);

// The entry of `site` (core/models/sites.h) for any layer number; null where the site has no quantizer.
const QuantizedSite* FindQuantizedSite(const std::vector<QuantizedSite>& table, std::string_view site);

// The layer's number in `site`, where `path` has "*"; empty for a path without one. Nothing where `site` is not of the path.
std::optional<std::string_view> LayerNumber(std::string_view path, std::string_view site);

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_QUANTIZED_SITES_H_
