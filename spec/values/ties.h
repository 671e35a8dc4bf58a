// SweepSpec.tied: parameters of a point that follow from others of the same point by an expression.
//
// A tie is followed where the point has its group: it never chooses a member of a choice. It reads the values that the point
// has, also those of other ties, and defaults where a field is unset; what a preset or the data decides is not there yet and
// is refused. Results are rounded to 15 significant digits, so that 3 * 0.1 is 0.3.
//
// Thread safety: const after the constructor.
#ifndef INLIER_SPEC_VALUES_TIES_H_
#define INLIER_SPEC_VALUES_TIES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "google/protobuf/map.h"
#include "google/protobuf/message.h"
#include "spec/schema/field_path.h"
#include "spec/schema/problems.h"
#include "spec/values/expression.h"

namespace inlier {

class Ties {
 public:
  // `tied` has paths below `root` and their expressions. Problems go to `problems`, each below "tied"; a cycle is one.
  Ties(const google::protobuf::Map<std::string, std::string>& tied, const google::protobuf::Descriptor* root,
       Problems* problems);

  bool Has(const std::string& path) const;
  // The path of a tie that `part`, a base or a patch of points, also sets, itself or another member of its choice; else "".
  std::string SetBy(const google::protobuf::Message& part) const;
  // Adds a problem for each tie whose group none of `parts`, of which the points are made, has.
  void CheckUse(const std::vector<std::unique_ptr<google::protobuf::Message>>& parts,
                Problems* problems) const;

  // Sets the tied fields of a point. The first problem, below "tied", ends it.
  std::optional<Problem> Apply(google::protobuf::Message* point) const;

 private:
  struct Tie {
    FieldPath field;
    std::shared_ptr<const Expression> expression;
    std::vector<FieldPath> sources;  // Of the names of the expression.
  };

  void Add(const std::string& path, const std::string& text, const google::protobuf::Descriptor* root,
           Problems* problems);
  // So that each comes after those that it uses.
  void Sort(Problems* problems);

  std::vector<Tie> ties_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_VALUES_TIES_H_
