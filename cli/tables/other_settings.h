// The settings in which the published figures of a table differ from the cells that they are next to.
//
// Thread safety: const after construction.
#ifndef INLIER_CLI_TABLES_OTHER_SETTINGS_H_
#define INLIER_CLI_TABLES_OTHER_SETTINGS_H_

#include <string>
#include <vector>

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// Each list of differences once, in the order of the cells: a, b, ...
class OtherSettings {
 public:
  explicit OtherSettings(const v1::Table& table);

  std::string Mark(const v1::TableCell& cell) const;

  // "[ ]^a published figure of another setting: model, data; ^b also gamma"; empty without any.
  std::string Note(bool brackets) const;

 private:
  std::vector<std::vector<std::string>> lists_;
};

}  // namespace inlier

#endif  // INLIER_CLI_TABLES_OTHER_SETTINGS_H_
