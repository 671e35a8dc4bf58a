// Fields of LlamaSpec that have to fit to each other and to the attention.
#ifndef INLIER_SPEC_TRIAL_CHECKS_DECODER_CHECKS_H_
#define INLIER_SPEC_TRIAL_CHECKS_DECODER_CHECKS_H_

#include <string_view>

#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

void CheckDecoder(const v1::TrialSpec& resolved, Problems* problems);

// The path of the field whose part the fused engine lacks; empty where it has all.
std::string_view UnfusedDecoderPart(const v1::LlamaSpec& llama);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_CHECKS_DECODER_CHECKS_H_
