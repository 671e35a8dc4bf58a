#include "cli/programs/model_of_trial.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/query_rows.h"
#include "s3/bucket_note.h"

namespace inlier {

bool IsTrialId(const std::string& text) {
  return text.size() > 2 && text.compare(0, 2, "t-") == 0 &&
         std::all_of(text.begin() + 2, text.end(), [](unsigned char c) { return std::isdigit(c); });
}

absl::StatusOr<std::filesystem::path> ModelOfTrial(Session& session, const std::string& trial) {
  ASSIGN_OR_RETURN(
      const v1::QueryResponse response,
      QueryRows(session, absl::StrCat("SELECT stage.checkpoint, (SELECT 1 FROM import WHERE import.sweep "
                                      "= trial.sweep) FROM trial JOIN stage ON stage.id = trial.train_stage "
                                      "WHERE trial.id = ",
                                      trial.substr(2))));
  if (response.rows().empty())
    return absl::NotFoundError(absl::StrCat(trial, ": there is no such trial; `inlier status` lists sweeps"));
  if (response.rows(0).values(1).has_integer())
    return absl::FailedPreconditionError(
        absl::StrCat(trial, ": was imported, and its model is not here; name the model's own folder"));
  const std::string& digest = response.rows(0).values(0).text();
  if (digest.empty())
    return absl::FailedPreconditionError(
        absl::StrCat(trial, ": has no trained model yet; `inlier watch` waits for it"));
  const std::filesystem::path file = session.dir / "artifacts" / (digest + ".safetensors");
  if (std::filesystem::exists(file)) return file;
  if (const std::string bucket = BucketOf(session.dir); !bucket.empty())
    return absl::NotFoundError(absl::StrCat("the model of ", trial, " is in ", bucket, ", as ", digest,
                                            ".safetensors; copy it to ", file.string(),
                                            " with a client of S3"));
  return absl::NotFoundError(absl::StrCat(
      file.string(), ": the model of ", trial,
      " is not in this folder; name the state folder with --dir, or run this on the worker that trained it"));
}

}  // namespace inlier
