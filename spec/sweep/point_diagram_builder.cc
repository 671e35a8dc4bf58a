// PointDiagram::Build: from the first axis to the last, one node for each set of rules that are still open.
#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "spec/sweep/point_diagram.h"

namespace inlier {
namespace {

using Digits = PointDiagram::Digits;

// A rule is a list of terms, one an axis, ascending: no point where all match. Rules that end alike share their end.
struct Term {
  int axis = 0;
  std::uint32_t set = 0;   // Into the sets.
  std::uint32_t next = 0;  // Term behind it; 0: the rule has matched whole.
};

// Digits that match, or all but these.
struct TermSet {
  Digits digits;
  bool except = false;
  friend bool operator<(const TermSet& a, const TermSet& b) {
    return std::tie(a.except, a.digits) < std::tie(b.except, b.digits);
  }
};

// Terms of rules that have begun and not ended; ascending.
using OpenTerms = std::vector<std::uint32_t>;

struct OpenTermsHash {
  std::size_t operator()(const OpenTerms& terms) const {
    std::uint64_t hash = 1469598103934665603u;
    for (const std::uint32_t term : terms) hash = (hash ^ term) * 1099511628211u;
    return hash ^ (hash >> 29);
  }
};

Digits Both(const Digits& a, const Digits& b) {
  Digits both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

}  // namespace

class PointDiagramBuilder {
 public:
  PointDiagramBuilder(const std::vector<PointDiagram::Axis>& axes,
                      const std::vector<PointDiagram::Exclusion>& exclusions)
      : axes_(axes), exclusions_(exclusions), begins_(axes.size()) {}

  absl::StatusOr<PointDiagram> Build() {
    for (const PointDiagram::Axis& axis : axes_) {
      diagram_.lengths_.push_back(axis.length);
      diagram_.conditional_.push_back(!axis.when.empty());
      if (!axis.when.empty()) diagram_.complete_ = false;
    }
    if (!exclusions_.empty()) diagram_.complete_ = false;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) AddConditions(axis);
    for (const PointDiagram::Exclusion& exclusion : exclusions_) AddMatchingRule(exclusion, std::nullopt);
    for (OpenTerms& begins : begins_) MakeUnique(begins);
    diagram_.nodes_.resize(3);  // None, end, root.
    open_.resize(3);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) RETURN_IF_ERROR(BuildAxis(axis));
    diagram_.first_node_.push_back(axes_.empty() ? PointDiagram::kRoot
                                                 : static_cast<PointDiagram::NodeId>(diagram_.nodes_.size()));
    diagram_.CountPoints();
    return std::move(diagram_);
  }

 private:
  using Node = PointDiagram::Node;
  using NodeId = PointDiagram::NodeId;

  std::uint32_t inactive(int axis) const { return axes_[static_cast<std::size_t>(axis)].length; }

  static void MakeUnique(OpenTerms& terms) {
    std::sort(terms.begin(), terms.end());
    terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  }

  // With the digit "does not apply" where that is meant.
  Digits DigitsOf(const PointDiagram::DigitSet& set) const {
    Digits digits = set.digits;
    if (set.where_inactive && diagram_.conditional_[static_cast<std::size_t>(set.axis)])
      digits.push_back(inactive(set.axis));
    return digits;
  }

  // Where the conditions match the axis applies, where one does not it does not.
  void AddConditions(std::size_t axis) {
    const auto number = static_cast<int>(axis);
    if (axes_[axis].when.empty()) return;
    AddMatchingRule(axes_[axis].when, number);
    for (const PointDiagram::DigitSet& set : axes_[axis].when) {
      AddRule({{set.axis, {.digits = DigitsOf(set), .except = true}},
               {number, {.digits = {inactive(number)}, .except = true}}});
    }
  }

  // No point where all `sets` match, and `never_inactive` does not apply.
  void AddMatchingRule(const std::vector<PointDiagram::DigitSet>& sets, std::optional<int> never_inactive) {
    std::map<int, Digits> by_axis;  // A rule may name an axis twice, by its name and by its field.
    for (const PointDiagram::DigitSet& set : sets) {
      const auto [at, is_new] = by_axis.try_emplace(set.axis, DigitsOf(set));
      if (!is_new) at->second = Both(at->second, DigitsOf(set));
    }
    if (never_inactive) by_axis[*never_inactive] = {inactive(*never_inactive)};
    std::vector<std::pair<int, TermSet>> terms;
    for (auto& [axis, digits] : by_axis) {
      if (digits.empty()) return;  // Matches nowhere.
      terms.emplace_back(axis, TermSet{.digits = std::move(digits)});
    }
    AddRule(std::move(terms));
  }

  void AddRule(std::vector<std::pair<int, TermSet>> terms) {
    std::uint32_t next = 0;
    for (auto at = terms.rbegin(); at != terms.rend(); ++at) {
      steps_max_ += 4 * at->second.digits.size();
      const auto [set, new_set] =
          set_ids_.try_emplace(std::move(at->second), static_cast<std::uint32_t>(sets_.size()));
      if (new_set) sets_.push_back(&set->first);
      const auto [term, new_term] =
          term_ids_.try_emplace({at->first, set->second, next}, static_cast<std::uint32_t>(terms_.size()));
      if (new_term) terms_.push_back({.axis = at->first, .set = set->second, .next = next});
      next = term->second;
    }
    begins_[static_cast<std::size_t>(terms.front().first)].push_back(next);
  }

  absl::Status BuildAxis(std::size_t axis) {
    const NodeId first = axis == 0 ? PointDiagram::kRoot : first_of_next_;
    const auto end = static_cast<NodeId>(diagram_.nodes_.size());
    diagram_.first_node_.push_back(first);
    first_of_next_ = end;
    found_.clear();
    for (NodeId node = first; node < end; ++node) {
      ExpandNode(axis, node);
      if (steps_ > steps_max_) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "the exclusions and conditions are too entangled: up to axis ", axis + 1, " of ", axes_.size(),
            " they leave ", found_.size(), " and more combinations to be told apart, and ", steps_max_,
            " steps are not enough for the rest; name fewer axes in one exclusion, put axes that are named "
            "together next to "
            "each other, or split the sweep"));
      }
      open_[node] = OpenTerms();  // Not needed again.
    }
    return absl::OkStatus();
  }

  // The edges of a node, and the nodes behind it that are new.
  void ExpandNode(std::size_t axis, NodeId node) {
    OpenTerms here, later;
    for (const std::uint32_t term : open_[node])
      (terms_[term].axis == static_cast<int>(axis) ? here : later).push_back(term);
    here.insert(here.end(), begins_[axis].begin(), begins_[axis].end());
    // Which terms list which digits.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> listed;
    OpenTerms excepting;
    for (const std::uint32_t term : here) {
      const TermSet& set = *sets_[terms_[term].set];
      for (const std::uint32_t digit : set.digits) listed.emplace_back(digit, term);
      if (set.except) excepting.push_back(term);
    }
    std::sort(listed.begin(), listed.end());
    steps_ += 1 + listed.size();
    const std::uint32_t digits = axes_[axis].length + (diagram_.conditional_[axis] ? 1 : 0);
    std::map<OpenTerms, NodeId> behind;  // By the terms that list a digit.
    const auto to = [&](std::uint32_t digit, OpenTerms listing) {
      const auto [at, is_new] = behind.try_emplace(std::move(listing), PointDiagram::kNone);
      if (!is_new) return at->second;
      OpenTerms matching;
      for (const std::uint32_t term : at->first) {
        if (!sets_[terms_[term].set]->except) matching.push_back(term);
      }
      for (const std::uint32_t term : excepting) {
        if (!std::binary_search(at->first.begin(), at->first.end(), term)) matching.push_back(term);
      }
      steps_ += 1 + at->first.size() + excepting.size() + later.size();
      return at->second = NodeBehind(axis, node, digit, matching, later);
    };
    std::vector<PointDiagram::Edge> edges;
    std::optional<NodeId> otherwise;
    std::uint32_t unlisted = 0;  // The first digit that is not known to be listed.
    for (std::size_t i = 0; i < listed.size();) {
      const std::uint32_t digit = listed[i].first;
      if (digit > unlisted && !otherwise) otherwise = to(unlisted, {});
      unlisted = std::max(unlisted, digit + 1);
      OpenTerms listing;
      for (; i < listed.size() && listed[i].first == digit; ++i) listing.push_back(listed[i].second);
      edges.push_back({digit, to(digit, std::move(listing))});
    }
    if (!otherwise && unlisted < digits) otherwise = to(unlisted, {});
    Node& made = diagram_.nodes_[node];
    made.otherwise = otherwise.value_or(PointDiagram::kNone);
    made.first_edge = static_cast<std::uint32_t>(diagram_.edges_.size());
    for (const PointDiagram::Edge& edge : edges) {
      if (!otherwise || edge.to != *otherwise) diagram_.edges_.push_back(edge);
    }
    made.edges = static_cast<std::uint32_t>(diagram_.edges_.size()) - made.first_edge;
  }

  // The node behind `node` by `digit`, where the terms `matching` match.
  NodeId NodeBehind(std::size_t axis, NodeId node, std::uint32_t digit, const OpenTerms& matching,
                    const OpenTerms& later) {
    OpenTerms open = later;
    for (const std::uint32_t term : matching) {
      if (terms_[term].next == 0) return PointDiagram::kNone;
      open.push_back(terms_[term].next);
    }
    if (axis + 1 == axes_.size()) return PointDiagram::kEnd;
    MakeUnique(open);
    const auto [at, is_new] =
        found_.try_emplace(std::move(open), static_cast<NodeId>(diagram_.nodes_.size()));
    if (is_new) {
      diagram_.nodes_.emplace_back();
      diagram_.nodes_.back().before = node;
      diagram_.nodes_.back().digit = digit;
      open_.push_back(at->first);
    }
    return at->second;
  }

  const std::vector<PointDiagram::Axis>& axes_;
  const std::vector<PointDiagram::Exclusion>& exclusions_;
  std::map<TermSet, std::uint32_t> set_ids_;
  std::vector<const TermSet*> sets_;
  std::map<std::tuple<int, std::uint32_t, std::uint32_t>, std::uint32_t> term_ids_;
  std::vector<Term> terms_{Term()};                             // The first is none.
  std::vector<OpenTerms> begins_;                               // By axis: rules that begin there.
  std::vector<OpenTerms> open_;                                 // By node.
  std::unordered_map<OpenTerms, NodeId, OpenTermsHash> found_;  // Nodes of the next axis.
  NodeId first_of_next_ = 0;
  std::uint64_t steps_ = 0, steps_max_ = PointDiagram::kStepsMax;
  PointDiagram diagram_;
};

absl::StatusOr<PointDiagram> PointDiagram::Build(const std::vector<Axis>& axes,
                                                 const std::vector<Exclusion>& exclusions) {
  return PointDiagramBuilder(axes, exclusions).Build();
}

}  // namespace inlier
