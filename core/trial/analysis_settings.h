// The quantizations that `inlier analyze` measures, and their names.
#ifndef INLIER_CORE_TRIAL_ANALYSIS_SETTINGS_H_
#define INLIER_CORE_TRIAL_ANALYSIS_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The settings that the papers report for the architecture.
std::vector<v1::QuantizationSpec> UsualSettings(const v1::ModelSpec& model);

// Every method of post-training quantization, with 8 and with 4 bits for weights and activations: the schemes, their
// granularities and ways to find ranges, and what is done before rounding. ResolveAndValidate refuses those that a
// model does not support.
std::vector<v1::QuantizationSpec> MethodSettings();

// InvalidArgument where the setting names no scheme and the default one is not for the model: `--bits` alone.
absl::Status CheckScheme(const v1::QuantizationSpec& setting, const v1::ModelSpec& model);

// "W8A8", "W8A8 absmax FINE", "W4 zeropoint", "W4A4KV4 absmax FINE rotation gptq". `setting` may be resolved.
std::string SettingName(const v1::QuantizationSpec& setting);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_ANALYSIS_SETTINGS_H_
