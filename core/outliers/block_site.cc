#include "core/outliers/block_site.h"

#include <string_view>

#include "absl/strings/numbers.h"

namespace inlier {

std::optional<int> BlockOfSite(v1::ModelSpec::ArchitectureCase architecture, const std::string& site) {
  const bool is_opt = architecture == v1::ModelSpec::kOpt;
  const std::string_view scope = is_opt ? "model.decoder.layers." : "hidden.";
  int number = 0;
  if (std::string_view(site).substr(0, scope.size()) != scope) return std::nullopt;
  if (!absl::SimpleAtoi(site.substr(scope.size()), &number)) return std::nullopt;
  if (!is_opt && number == 0) return std::nullopt;  // The embeddings.
  return number;
}

}  // namespace inlier
