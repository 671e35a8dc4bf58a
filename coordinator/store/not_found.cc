#include "coordinator/store/not_found.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "spec/schema/did_you_mean.h"

namespace inlier {

absl::Status NoSuchSweep(const std::string& id_or_name, std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string hint = names.empty() ? "; none has been submitted yet" : DidYouMean(id_or_name, names);
  if (hint.empty()) hint = "; `inlier status --all` shows all";
  return absl::NotFoundError(absl::StrCat("there is no sweep \"", id_or_name, "\"", hint));
}

absl::Status WasRemoved(const std::string& what, const std::string& sweep, bool freed) {
  return absl::NotFoundError(absl::StrCat(
      what == sweep ? "sweep " + what : absl::StrCat(what, " is of sweep ", sweep, ", which"), " was removed",
      freed ? absl::StrCat(", and `inlier gc` has freed it for good; submit it again")
            : absl::StrCat("; `inlier restore ", sweep, "` brings it back")));
}

absl::Status NoSuchTrial(const std::string& id) {
  return absl::NotFoundError(
      absl::StrCat("there is no trial \"", id,
                   "\"; trials are named like t-17, and `inlier status SWEEP` shows those of a sweep"));
}

}  // namespace inlier
