// Models in the local cache of Hugging Face's hub, as `hf download` and transformers leave them.
#ifndef INLIER_SPEC_HUGGING_FACE_HUB_CACHE_H_
#define INLIER_SPEC_HUGGING_FACE_HUB_CACHE_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "spec/schema/path_text.h"

namespace inlier {

// $HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub.
std::filesystem::path HubCache(const Environment& environment);

// A model's folder, by its path or, where there is none, by its name in the hub ("org/name", "name"): the snapshot of the
// branch main in `cache`. NotFound names the command that downloads it.
absl::StatusOr<std::filesystem::path> FindModel(const std::string& name, const std::filesystem::path& cache);

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_HUB_CACHE_H_
