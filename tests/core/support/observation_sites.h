// Which sites a model only shows (kind O of core/models/sites.h): quantization returns them unchanged.
#ifndef INLIER_TESTS_CORE_SUPPORT_OBSERVATION_SITES_H_
#define INLIER_TESTS_CORE_SUPPORT_OBSERVATION_SITES_H_

#include <string_view>

namespace inlier {

inline bool IsObservationSite(std::string_view site) {
  if (site.substr(0, 7) == "hidden.") return true;
  const std::string_view last = site.substr(site.rfind('.') + 1);
  if (last == "probs" || last == "gate" || last == "context" || last == "input") return true;
  // "model.decoder.layers.3" is a whole layer; "bert.encoder.layer.0.intermediate.0" is a linear.
  for (const std::string_view layers : {".layers.", ".h.", ".layer."}) {
    const std::size_t at = site.rfind(layers);
    if (at != std::string_view::npos && site.find('.', at + layers.size()) == std::string_view::npos)
      return true;
  }
  return last == "residual" || last == "act";
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_SUPPORT_OBSERVATION_SITES_H_
