// Groups by combination of labels, as rows of tables and series of figures have them, and which axes only repeat.
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

// The combinations that items have, sorted by the order of each name's labels; a label that is not in its order (of a
// column, of an axis with a range, which have none) follows those before it by first appearance.
// `orders`: one for each name, nullptr for none. `label_of(item, i)`: the item's label of name i.
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

// The axis repeats a training or its calibration, and is averaged where nothing names it.
inline bool OnlyRepeats(const AxisInfo& axis) {
  return axis.field == "seed" || axis.name == "seed" || axis.field == "quantization.calibration.seed";
}

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_LABEL_GROUPS_H_
