// A sweep file of another tool as one of inlier, with what it cannot say.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_CONVERSION_H_
#define INLIER_CLI_CONVERT_CONVERSION_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/convert/foreign_sweep.h"

namespace inlier {

struct Conversion {
  std::string tool;             // "a sweep of Weights & Biases".
  ForeignValue sweep;           // As a sweep's file has it.
  ForeignValue program;         // A draft of the file inlier-program.yaml.
  std::vector<Remark> remarks;  // By place.
};

// "a sweep of Weights & Biases" or "a configuration of Hydra"; "" for any other text.
std::string ForeignTool(std::string_view text);

// `file` is the name in errors and, without its folder and suffix, of a sweep that has none. `program`: the name of the sweep's program; that of
// the file when empty. InvalidArgument with file, line and column.
absl::StatusOr<Conversion> ConvertSweep(std::string_view text, const std::string& file,
                                        const std::string& program);
// The part of it that no tool decides: names that programs may have, axes, sampling and pruning. `stem` names a sweep that has
// no name. Errors name line and column.
absl::StatusOr<Conversion> MakeSweep(ForeignSweep foreign, const std::string& stem,
                                     const std::string& program);

// "sweep.yaml:2:1: method: ...".
std::string RemarkText(const std::string& file, const Remark& remark);

// The sweep, and inlier-program.yaml: YAML with a line an axis, and what could not be said as comments. `file` is the converted one.
std::string SweepFileText(const Conversion& conversion, const std::string& file);
std::string ProgramFileText(const Conversion& conversion, const std::string& file);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_CONVERSION_H_
