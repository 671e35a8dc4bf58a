// An arithmetic expression of numbers and named ones, such as 4 * model.bert.hidden_size: + - * / ^, parentheses, and min,
// max, round, floor, ceil, sqrt, log and exp. It has the same value on every machine.
//
// muParser reads it; all operations are ours (portable_math.h). Thread safety: const after Parse.
#ifndef INLIER_SPEC_VALUES_EXPRESSION_H_
#define INLIER_SPEC_VALUES_EXPRESSION_H_

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mu {
class Parser;
}  // namespace mu

namespace inlier {

class Expression {
 public:
  // InvalidArgument with the problem and its remedy.
  static absl::StatusOr<std::unique_ptr<const Expression>> Parse(const std::string& text);
  ~Expression();

  const std::string& text() const { return text_; }
  // Sorted, each once.
  const std::vector<std::string>& names() const { return names_; }
  // With a value for each of the names; may be infinite or NaN.
  double Value(const std::vector<double>& values) const;

 private:
  explicit Expression(const std::string& text);
  void Compile();

  const std::string text_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;              // Of the parser, which keeps its stack.
  mutable std::deque<double> variables_;  // That it reads; by names_.
  std::unique_ptr<mu::Parser> parser_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_VALUES_EXPRESSION_H_
