// Which points of a grid exist: conditions and exclusions, compiled into a decision diagram.
//
// A node at axis i is a set of combinations of the axes before i that leave the same rules open; its edges lead, by
// the digit of axis i, to nodes at axis i + 1 or to "no point". An axis with `when` has one more digit, its length,
// for "does not apply". So counting the points, finding the next one and testing one cost the axes, and building
// costs what the rules weigh, not the product of the axes: after kStepsMax steps, and four more for each digit that a
// rule names, it is given up with an error.
//
//   ASSIGN_OR_RETURN(PointDiagram diagram, PointDiagram::Build(axes, exclusions));
//   diagram.count();
//   diagram.Next({0, 0, 0});
//
// Thread safety: const after Build.
#ifndef INLIER_SPEC_SWEEP_POINT_DIAGRAM_H_
#define INLIER_SPEC_SWEEP_POINT_DIAGRAM_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

class PointDiagram {
 public:
  using Digits = std::vector<std::uint32_t>;
  static constexpr std::uint64_t kCountMax = 0x7fffffffffffffffu;  // Of any larger count.
  static constexpr std::uint64_t kStepsMax = 200'000;              // Some 50 ms.

  // Digits of one axis that a condition or an exclusion names.
  struct DigitSet {
    int axis = 0;
    Digits digits;                // Ascending, each once.
    bool where_inactive = false;  // Also where the axis does not apply.
  };
  struct Axis {
    std::uint32_t length = 1;
    std::vector<DigitSet> when;  // It applies where all match; axes before it only.
  };
  using Exclusion = std::vector<DigitSet>;  // No point where all match. REQUIRES: not empty.

  // ResourceExhausted when the rules need more steps than that; the message has the axis that was reached.
  static absl::StatusOr<PointDiagram> Build(const std::vector<Axis>& axes,
                                            const std::vector<Exclusion>& exclusions);

  // Number of points, at most kCountMax.
  std::uint64_t count() const { return nodes_[kRoot].count; }
  // Every combination is a point.
  bool complete() const { return complete_; }

  // True for a point. `active`: whether each axis applies. The digit of an axis that does not apply is not looked at
  // with `any_inactive_digit`; else it must be 0.
  bool Contains(const Digits& digits, std::vector<bool>* active, bool any_inactive_digit = false) const;

  // The first point that is not before `from`, in the order of the digits.
  std::optional<Digits> Next(const Digits& from) const;

  // The first point at which `axis` applies and has `digit`. Takes `*budget` steps at most, and subtracts them; nullopt
  // also when it is used up (0).
  std::optional<Digits> FirstWith(int axis, std::uint32_t digit, std::uint64_t* budget) const;

  // Digits of two axes, a before b, that some point has together, one from each list (ascending). Takes `*budget`
  // steps at most, and subtracts them; nullopt also when it is used up (0).
  std::optional<std::pair<std::uint32_t, std::uint32_t>> Together(int a, const Digits& a_digits, int b,
                                                                  const Digits& b_digits,
                                                                  std::uint64_t* budget) const;

  // Number of points of both diagrams. `digit_of[axis][digit]`: the digit in `other`, or `gone`; axes have the same
  // order. A point is in both where the same axes apply. nullopt after kStepsMax steps.
  std::optional<std::uint64_t> CountCommon(const PointDiagram& other, const std::vector<Digits>& digit_of,
                                           std::uint32_t gone) const;

 private:
  friend class PointDiagramBuilder;
  using NodeId = std::uint32_t;
  static constexpr NodeId kNone = 0;  // No point.
  static constexpr NodeId kEnd = 1;   // Behind the last axis.
  static constexpr NodeId kRoot = 2;

  struct Edge {
    std::uint32_t digit = 0;
    NodeId to = kNone;
  };
  struct Node {
    std::uint32_t first_edge = 0, edges = 0;  // Ascending by digit.
    NodeId otherwise = kNone;                 // Of digits without an edge.
    NodeId before = kNone;  // The first digits that lead here: those of `before`, then `digit`.
    std::uint32_t digit = 0;
    std::uint32_t smallest = 0;  // Where there are points and the axis applies: the first digit with one.
    std::uint64_t count = 0;     // Points from here on.
  };

  PointDiagram() = default;
  std::size_t axes() const { return lengths_.size(); }
  const Edge* Begin(NodeId node) const { return edges_.data() + nodes_[node].first_edge; }
  const Edge* End(NodeId node) const { return Begin(node) + nodes_[node].edges; }
  // kNone unless there is a point behind it.
  NodeId Child(NodeId node, std::uint32_t digit) const;
  NodeId Alive(NodeId node) const { return nodes_[node].count > 0 ? node : kNone; }
  // The axis of the node does not apply: the node behind it, else kNone.
  NodeId Inactive(std::size_t axis, NodeId node) const {
    return conditional_[axis] ? Child(node, lengths_[axis]) : kNone;
  }
  // The smallest digit >= from with a point behind it, with its node.
  std::optional<std::pair<std::uint32_t, NodeId>> Smallest(std::size_t axis, NodeId node,
                                                           std::uint64_t from) const;
  // Fills digits from `axis` on with the first point behind `node`.
  void FillFrom(std::size_t axis, NodeId node, Digits& digits) const;
  // One of `digits` (ascending) with a point behind it.
  std::optional<std::uint32_t> AnyAlive(NodeId node, const Digits& digits, std::uint64_t* budget) const;
  void CountPoints();

  std::vector<std::uint32_t> lengths_;
  std::vector<bool> conditional_;   // By axis: it has `when`, and the digit "does not apply".
  std::vector<NodeId> first_node_;  // By axis; one more for the end. Nodes of an axis follow each other.
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  bool complete_ = true;
};

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_POINT_DIAGRAM_H_
