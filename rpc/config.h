// Configuration of a daemon: a message read from YAML, overridden by --set, checked, with defaults filled in.
#ifndef INLIER_RPC_CONFIG_H_
#define INLIER_RPC_CONFIG_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace inlier {

// Reads `file` (empty: none) into `config`, then applies `overrides` ("path=value") in their order, then
// checks required fields and ranges, then writes declared defaults into the fields that are not set. Errors
// name file:line:column or the override, and the remedy.
absl::Status LoadConfig(const std::string& file, const std::vector<std::string>& overrides,
                        google::protobuf::Message& config);

// One line of JSON: what a daemon logs once when it starts.
std::string DescribeConfig(const google::protobuf::Message& config);

}  // namespace inlier

#endif  // INLIER_RPC_CONFIG_H_
