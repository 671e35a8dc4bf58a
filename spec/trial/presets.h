// The sizes that papers and examples name: one table.
#ifndef INLIER_SPEC_TRIAL_PRESETS_H_
#define INLIER_SPEC_TRIAL_PRESETS_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace inlier {

// Fields that it does not list keep their defaults, or come from the data.
struct Preset {
  std::string_view architecture;  // Member of ModelSpec: "bert", "opt", …
  std::string_view name;
  std::vector<std::pair<std::string_view, std::uint32_t>> fields;  // A bool is 0 or 1.
  std::string_view source;                                         // Paper or configuration.
  // Of the model with the paper's norm (RMS_NORM_S for Kaul et al.), tied ones once; 0: depends on the data.
  std::int64_t parameters = 0;
};

// Small to large for each architecture.
const std::vector<Preset>& Presets();

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_PRESETS_H_
