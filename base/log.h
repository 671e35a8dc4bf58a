// Logs: one event, one line, `event key=value …`, on stderr. INFO for state changes, with ids first.
#ifndef INLIER_BASE_LOG_H_
#define INLIER_BASE_LOG_H_

#include <string>
#include <string_view>

#include "spdlog/spdlog.h"

namespace inlier {

// Call once at the start of main. `program` stands in every line; `level` is trace, debug, info, warn, error
// or off.
void InitLog(const std::string& program, std::string_view level = "info");

}  // namespace inlier

#endif  // INLIER_BASE_LOG_H_
