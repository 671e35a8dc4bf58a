// Names as sweeps and programs of inlier may have them, made of those of other tools.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_PROGRAM_NAMES_H_
#define INLIER_CLI_CONVERT_PROGRAM_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace inlier {

// "compare lrs (2)" -> "compare-lrs-2"; an id such as s-3 gets "sweep-" before it. "" where nothing is left.
std::string SweepNameOf(std::string_view text);
// "src/my-train.py" -> "my-train"; "" where nothing is left.
std::string ProgramNameOf(std::string_view path);
// Letters, digits and "_", a letter first: "val/acc" -> "val_acc".
std::string WordOf(std::string_view text);

// Names of the parameters of one program, by the number of the wish: each once, and none that is a group of others too.
std::vector<std::string> ParameterNames(const std::vector<std::string>& wished);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_PROGRAM_NAMES_H_
