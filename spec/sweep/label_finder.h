// Finds labels of an axis by what a user writes for them: the same text first, then the same number.
//
// Thread safety: immutable.
#ifndef INLIER_SPEC_SWEEP_LABEL_FINDER_H_
#define INLIER_SPEC_SWEEP_LABEL_FINDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "google/protobuf/struct.pb.h"

namespace inlier {

class LabelFinder {
 public:
  explicit LabelFinder(std::vector<std::string> labels);
  LabelFinder(LabelFinder&&) = default;
  LabelFinder& operator=(LabelFinder&&) = delete;

  // The index of the label `text`, else of the only label that is the same number ("1e-3" for "0.001").
  std::optional<std::uint32_t> Find(const std::string& text) const;
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  std::vector<std::string> labels_;
  std::unordered_map<std::string_view, std::uint32_t> by_text_;
  std::unordered_map<std::string, std::optional<std::uint32_t>> by_number_;  // nullopt for several labels.
};

// `wanted` (one value, or a list) with its texts replaced by labels; texts without a label stay. `finder` is null for a
// column or an axis with a range: then texts that are numbers become numbers.
google::protobuf::Value WithLabels(google::protobuf::Value wanted, const LabelFinder* finder);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_LABEL_FINDER_H_
