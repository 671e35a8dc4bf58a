// The files of a conversion: YAML with a line an axis, and what could not be said as comments.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_CONVERT_SWEEP_FILE_TEXT_H_
#define INLIER_CLI_CONVERT_SWEEP_FILE_TEXT_H_

#include <string>

#include "cli/convert/conversion.h"

namespace inlier {

// `file` is the converted one.
std::string SweepFileText(const Conversion& conversion, const std::string& file);
// inlier-program.yaml.
std::string ProgramFileText(const Conversion& conversion, const std::string& file);

}  // namespace inlier

#endif  // INLIER_CLI_CONVERT_SWEEP_FILE_TEXT_H_
