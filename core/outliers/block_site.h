// The block of a model whose output a site is.
#ifndef INLIER_CORE_OUTLIERS_BLOCK_SITE_H_
#define INLIER_CORE_OUTLIERS_BLOCK_SITE_H_

#include <optional>
#include <string>

#include "inlier/v1/model_spec.pb.h"

namespace inlier {

// The number of the block, growing from the first, whose output after its last residual sum and before the final
// norm, (B, T, d), has this site: "model.decoder.layers.<i>" of OPT, "hidden.<i>" with i >= 1 of the other
// architectures (core/models/sites.h). Nothing for any other site.
std::optional<int> BlockOfSite(v1::ModelSpec::ArchitectureCase architecture, const std::string& site);

}  // namespace inlier

#endif  // INLIER_CORE_OUTLIERS_BLOCK_SITE_H_
