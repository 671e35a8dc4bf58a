// Keys that the decoders with rotary positions share and that no table expresses.
#ifndef INLIER_SPEC_HUGGING_FACE_TYPES_DECODER_KEYS_H_
#define INLIER_SPEC_HUGGING_FACE_TYPES_DECODER_KEYS_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "inlier/v1/model_spec.pb.h"
#include "nlohmann/json_fwd.hpp"
#include "spec/hugging_face/config_reader.h"

namespace inlier {

// rope_scaling, or rope_parameters of transformers 5: base, share and scaling of the angles. REQUIRES: the table is read.
absl::Status ReadRotary(ConfigReader& config, v1::LlamaSpec* llama);

// The rope_scaling of a model; null where nothing is scaled.
nlohmann::json RotaryScalingKeys(const v1::LlamaSpec& llama);

// What the tables of decoders with RMSNorm leave: usual sizes, rotary positions, and which layers have the window: layer_types, where
// the file has them, in place of `is_windowed`; without any, the window is cleared. Refuses an order that window_from and
// window_period do not express, more layers than model.llama.layers may have, and a share of rotated features, which only GPT-NeoX has.
absl::Status FinishRmsDecoder(ConfigReader& config, const std::function<bool(std::size_t layer)>& is_windowed,
                              v1::TrialSpec* spec);

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_TYPES_DECODER_KEYS_H_
