// `model: {hugging_face: FOLDER}` in the file of a sweep: architecture, sizes and settings of the folder's config.json.
// The reader of the file replaces it: a submitted sweep has the values themselves.
#ifndef INLIER_SPEC_SWEEP_MODEL_FOLDERS_H_
#define INLIER_SPEC_SWEEP_MODEL_FOLDERS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/yaml_document.h"

namespace inlier {

// Rewrites a document (ReadYamlText): replaces every such model of a base or a variant, named as for FindModel
// (hub_cache.h), by paths such as model.gpt2.heads, with norm and the parts of attention that the folder has. Fields
// that the file sets stay. Dropout is the training's and stays out. An error goes into the document. A
// `start_from: {hugging_face: NAME}` without a leading "/" becomes the path of its folder. Folders of a `base` that
// one of `overrides` (below) replaces need not exist here.
std::function<void(YamlDocument*)> ModelFolderReplacer(const std::vector<std::string>& overrides);

// The same for `--set model.hugging_face=NAME`, which replaces the whole model of `base`, and for
// `--set training.start_from.hugging_face=NAME`. InvalidArgument names the --set.
absl::StatusOr<std::vector<std::string>> ReplaceModelFolders(const std::vector<std::string>& overrides,
                                                             v1::TrialSpec* base);

}  // namespace inlier

#endif  // INLIER_SPEC_SWEEP_MODEL_FOLDERS_H_
