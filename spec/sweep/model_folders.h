// `model: {hugging_face: FOLDER}` in the file of a sweep: architecture, sizes and settings as the folder's config.json
// has them, so that they need not be copied. The reader of the file replaces it: a submitted sweep has the values themselves.
#ifndef INLIER_SPEC_SWEEP_MODEL_FOLDERS_H_
#define INLIER_SPEC_SWEEP_MODEL_FOLDERS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

// Rewrites a document (ReadYamlText): replaces every such model of a base or of a variant by paths such as model.gpt2.heads, and norm; attention's softmax,
// gate and other parts where the folder has them. Fields that the file sets stay as they are. The folder may be named
// as that of FindModel (hub_cache.h). Dropout is not taken: it is the training's. An error goes into the document.
// A `start_from: {hugging_face: NAME}` without a leading "/" becomes the path of its folder. Of a `base`, what one of `overrides` (below)
// replaces need not be on this machine.
std::function<void(YamlDocument*)> ModelFolderReplacer(const std::vector<std::string>& overrides);

// The same for `--set model.hugging_face=NAME`, which takes the place of the whole model of `base`, and for
// `--set training.start_from.hugging_face=NAME`. InvalidArgument names the --set.
absl::StatusOr<std::vector<std::string>> ReplaceModelFolders(const std::vector<std::string>& overrides,
                                                             v1::TrialSpec* base);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_MODEL_FOLDERS_H_
