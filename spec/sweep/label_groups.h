// Groups by combination of labels, for rows of tables and series of figures.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SWEEP_LABEL_GROUPS_H_
#define INLIER_SPEC_SWEEP_LABEL_GROUPS_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/sweep/sweep_grid.h"

namespace inlier {

// Items with the same labels.
template <typename Item>
struct LabelGroup {
  std::vector<std::string> labels;  // One for each name.
  std::vector<Item> items;          // In their order.
};

// The combinations of `label_of(item, i)`, the label of name i, sorted by each name's `orders` (null for a column or an
// axis with a range); labels without a place in it follow by first appearance.
template <typename Item, typename LabelOf>
std::vector<LabelGroup<Item>> GroupByLabels(const std::vector<Item>& items,
                                            const std::vector<const std::vector<std::string>*>& orders,
                                            const LabelOf& label_of) {
  std::vector<std::map<std::string, std::size_t>> ranks(orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (orders[i] == nullptr) continue;
    for (const std::string& label : *orders[i]) ranks[i].emplace(label, ranks[i].size());
  }
  std::map<std::vector<std::size_t>, LabelGroup<Item>> groups;
  for (const Item& item : items) {
    std::vector<std::string> labels;
    std::vector<std::size_t> key;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      labels.push_back(label_of(item, i));
      key.push_back(ranks[i].emplace(labels.back(), ranks[i].size()).first->second);
    }
    LabelGroup<Item>& group = groups[key];
    group.labels = std::move(labels);
    group.items.push_back(item);
  }
  std::vector<LabelGroup<Item>> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  return sorted;
}

// The labels that are not empty, with `between` between them.
template <typename Labels>
std::string JoinLabels(const Labels& labels, const std::string& between) {
  std::string text;
  for (const std::string& label : labels) text += text.empty() || label.empty() ? label : between + label;
  return text;
}

// True for an axis that repeats a training or its calibration, which is averaged where nothing names it.
inline bool OnlyRepeats(const AxisInfo& axis) {
  return axis.field == "seed" || axis.name == "seed" || axis.field == "quantization.calibration.seed";
}

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_LABEL_GROUPS_H_
