// The parts of a model that transformers' own classes lack: softmax, gate, norms (of queries and keys too), key and value
// bias, registers, and the scales of a quantization. An export with any of them has two Python files, and those of scripts, which
// from_pretrained loads with trust_remote_code, and their settings in config.json under `inlier`.
#ifndef INLIER_SPEC_HUGGING_FACE_OWN_PARTS_H_
#define INLIER_SPEC_HUGGING_FACE_OWN_PARTS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "inlier/v1/trial_spec.pb.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

inline constexpr char kQuantizationFile[] = "inlier_quantization.json";

// The scripts of `spec`: the name of each in an exported folder, and its path.
std::map<std::string, std::string> ScriptFiles(const v1::TrialSpec& spec);
inline constexpr char kSoftmaxScript[] = "inlier_softmax.pt", kGateScript[] = "inlier_gate.pt";

// True when transformers' own class of the architecture differs from the model of `resolved`.
bool HasOwnParts(const v1::TrialSpec& resolved);

// Makes transformers' own `config` that of the Python files; `quantized` where the folder has kQuantizationFile.
void AddOwnParts(const v1::TrialSpec& resolved, bool quantized, nlohmann::json* config);

// Puts the settings under `inlier` into `spec`. InvalidArgument begins with the key.
absl::Status ReadOwnParts(const nlohmann::json& config, v1::TrialSpec* spec);

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_OWN_PARTS_H_
