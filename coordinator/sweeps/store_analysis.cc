#include "coordinator/sweeps/store_analysis.h"

#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace inlier {

absl::StatusOr<v1::StoreAnalysisResponse> StoreAnalysis(Context& context,
                                                        const v1::StoreAnalysisRequest& request,
                                                        const Caller& caller) {
  if (request.model().empty()) return absl::InvalidArgumentError("model: is missing; name the model");
  if (request.numbers().empty())
    return absl::InvalidArgumentError("numbers: are missing; an analysis has measured something");
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (const v1::AnalysisNumber& number : request.numbers()) {
    if (number.setting().empty() || number.name().empty())
      return absl::InvalidArgumentError("numbers: one has no setting or no name; give both");
    if (!known.emplace(number.setting(), number.name(), number.site()).second) {
      return absl::InvalidArgumentError(absl::StrCat("numbers: ", number.setting(), " has ", number.name(),
                                                     number.site().empty() ? "" : " of ", number.site(),
                                                     " twice; give it once"));
    }
  }
  AnalysisRow row{.id = AnalysisId(context.state.next_analysis++),
                  .model = request.model(),
                  .model_sha256 = request.model_sha256(),
                  .spec_json = request.spec_json(),
                  .owner = caller.name,
                  .at = context.now.wall,
                  .numbers = {request.numbers().begin(), request.numbers().end()}};
  v1::StoreAnalysisResponse response;
  response.set_analysis_id(row.id.ToString());
  context.out.changes.Add(std::move(row));
  return response;
}

}  // namespace inlier
