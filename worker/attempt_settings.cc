#include "worker/attempt_settings.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"

namespace inlier {

void AttemptSettings::SetDataRoots(v1::AttemptSpec& spec) const {
  constexpr std::size_t kBytesMax = 16 << 20;
  spec.mutable_data_roots()->Assign(data_roots.begin(), data_roots.end());
  if (data_roots_file.empty()) return;
  const absl::StatusOr<std::string> text = ReadSmallFile(data_roots_file, kBytesMax);
  if (!text.ok()) return;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!line.empty() && line[0] == '/') spec.add_data_roots(std::string(line));
  }
}

}  // namespace inlier
