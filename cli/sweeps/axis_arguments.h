// Names and labels in arguments: "method,seed" and "method=vanilla,bits=8". A name that is known may have commas and
// equal signs of its own: the longest one that fits is taken.
//
// Pure functions.
#ifndef INLIER_CLI_SWEEPS_AXIS_ARGUMENTS_H_
#define INLIER_CLI_SWEEPS_AXIS_ARGUMENTS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace inlier {

std::vector<std::string> SplitNames(const std::vector<std::string>& arguments,
                                    const std::vector<std::string>& known);

// Name and label; nothing without "=", or without a name before it.
std::optional<std::pair<std::string, std::string>> SplitCondition(const std::string& text,
                                                                  const std::vector<std::string>& known);

// The conditions of each argument, a text each. A comma that no name and "=" follow is of the label before it.
std::vector<std::string> SplitConditions(const std::vector<std::string>& arguments,
                                         const std::vector<std::string>& known);

}  // namespace inlier

#endif  // INLIER_CLI_SWEEPS_AXIS_ARGUMENTS_H_
