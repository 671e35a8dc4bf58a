// A value in Hydra's override grammar: "1e-3,1e-2", "choice(a, b)", "range(1, 9, step=2)", "tag(log, interval(1e-5, 1e-1))",
// "shuffle(range(10))", "int(interval(1, 8))". https://hydra.cc/docs/advanced/override_grammar/basic
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_HYDRA_VALUE_H_
#define INLIER_CLI_CONVERT_HYDRA_VALUE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/convert/foreign_sweep.h"

namespace inlier {

struct HydraValue {
  enum Kind { kSingle, kChoice, kRange, kInterval };
  Kind kind = kSingle;
  std::vector<ForeignValue> values;      // kSingle: one; kChoice: any number.
  double start = 0, stop = 0, step = 1;  // kRange, kInterval.
  bool whole = false;                    // kRange, kInterval: of whole numbers.
  bool shuffled = false;
  std::vector<std::string> tags;

  // The values of a range in order, up to `stop`, itself left out; at most `count_max` and one more.
  std::vector<ForeignValue> Listed(std::size_t count_max) const;
};

// InvalidArgument with the problem and its remedy, without a place.
absl::StatusOr<HydraValue> ParseHydraValue(std::string_view text);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_HYDRA_VALUE_H_
