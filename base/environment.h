// Reads variables of the process' environment.
#ifndef INLIER_BASE_ENVIRONMENT_H_
#define INLIER_BASE_ENVIRONMENT_H_

#include <cstdlib>
#include <optional>
#include <string>

namespace inlier {

// nullopt where it is not set.
inline std::optional<std::string> EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

inline std::string EnvironmentVariableOr(const char* name, const std::string& otherwise) {
  return EnvironmentVariable(name).value_or(otherwise);
}

}  // namespace inlier

#endif  // INLIER_BASE_ENVIRONMENT_H_
