// A sweep as one HTML file that opens without a server: the page's own modules, and the data in it.
#ifndef INLIER_CLI_SAVED_PAGE_H_
#define INLIER_CLI_SAVED_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/connection/session.h"

namespace inlier {

// The parts of a large sweep that are in the file.
struct SavedPageLimits {
  std::uint32_t trials = 2000;     // With their specifications; all are in the matrix.
  std::size_t curves = 48;         // Trials with curves.
  std::size_t points = 300;        // Of a curve.
  std::size_t values = 2'000'000;  // Of final measurements together.
};

// Reads the sweep (id or name) by calls and makes the file. Errors are those of the calls.
absl::StatusOr<std::string> SavedPage(Session& session, const std::string& sweep,
                                      const SavedPageLimits& limits = {});

// The file around `data`, a JSON value. No text in it can end the element that it is in.
std::string PageAround(const std::string& title, const std::string& data);

}  // namespace inlier

#endif  // INLIER_CLI_SAVED_PAGE_H_
