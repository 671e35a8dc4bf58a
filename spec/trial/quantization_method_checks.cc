#include "spec/trial/quantization_method_checks.h"

#include <string>

#include "spec/trial/architecture.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

using Absmax = v1::AbsmaxSchemeSpec;

// Checks the format of one part; `path` is its field.
template <typename Part>
void CheckFormat(const std::string& path, const Part& part, const v1::QuantizationSpec& quantization,
                 Problems* problems) {
  if (part.format() == v1::INTEGER) return;
  const std::string name = v1::NumberFormat_Name(part.format());
  if (!quantization.has_absmax())
    return problems->Add(path + ".format",
                         name + " is for the scheme absmax, and not for " +
                             (quantization.has_zeropoint() ? "zeropoint" : "reference") +
                             ", which rounds to integers: use quantization.absmax, or INTEGER");
  const std::string bits = std::to_string(BitsOf(part.format()));
  if (part.has_bits() && part.bits() != BitsOf(part.format())) {
    problems->Add(path + ".bits", std::to_string(part.bits()) + " is not for " + name + ", which has " +
                                      bits + " bits: leave it out, or use INTEGER");
  }
  if constexpr (requires { part.group_size(); }) {
    if (part.has_group_size()) {
      problems->Add(path + ".group_size",
                    "is not for " + name + ", " +
                        (BlockSizeOf(part.format()) > 0
                             ? "whose blocks have " + std::to_string(BlockSizeOf(part.format())) + " entries"
                             : std::string("which has one scale a row or tensor")) +
                        ": leave it out, or use INTEGER");
    }
  }
  if (BlockSizeOf(part.format()) > 0 && quantization.absmax().granularity() != Absmax::FINE) {
    problems->Add(path + ".format", name + " has a scale for each block of a row, and " +
                                        Absmax::Granularity_Name(quantization.absmax().granularity()) +
                                        " has one a tensor: use granularity: FINE, or FP8_E4M3");
  }
}

void CheckFormats(const v1::QuantizationSpec& quantization, Problems* problems) {
  CheckFormat("quantization.weights", quantization.weights(), quantization, problems);
  const v1::ActivationQuantizationSpec& activations = quantization.activations();
  CheckFormat("quantization.activations", activations, quantization, problems);
  const Absmax& absmax = quantization.absmax();
  if (quantization.has_absmax() && BlockSizeOf(activations.format()) > 0 &&
      absmax.granularity() == Absmax::FINE && absmax.activation_axis() != v1::TOKEN) {
    problems->Add("quantization.absmax.activation_axis",
                  v1::ScaleAxis_Name(absmax.activation_axis()) + " is not for " +
                      v1::NumberFormat_Name(activations.format()) +
                      ", which has a scale for each block of a token's features: leave it out, or use "
                      "another quantization.activations.format");
  }
}

// Methods that change linears need a scheme of linears.
bool IsOfLinears(const v1::QuantizationSpec& quantization, const char* method, Problems* problems) {
  if (quantization.has_absmax() || quantization.has_zeropoint()) return true;
  problems->Add(std::string("quantization.") + method,
                "is not for the scheme reference, which rounds tensors between the linears too: use "
                "quantization.absmax or quantization.zeropoint, or leave it out");
  return false;
}

// A rotation needs norms that it commutes with, in front of the linears.
void CheckRotation(const v1::TrialSpec& spec, Problems* problems) {
  const v1::QuantizationSpec& quantization = spec.quantization();
  if (!quantization.has_rotation() || !IsOfLinears(quantization, "rotation", problems)) return;
  const std::string path = "quantization.rotation";
  const v1::ModelSpec& model = spec.model();
  if (!model.has_gpt2() && !model.has_llama())
    return problems->Add(path, "is not for model." + std::string(ArchitectureName(model)) +
                                   ": use model.gpt2 or model.llama with RMSNorm, or leave it out");
  if (spec.norm() == v1::LAYER_NORM) {
    problems->Add(path,
                  "is not for norm: LAYER_NORM, which takes a mean of features that a rotation mixes: train "
                  "with norm: RMS_NORM_M or RMS_NORM_S, or leave it out");
  }
  const v1::GateSpec& gate = spec.attention().gate();
  if (gate.has_projected() && gate.projected().place() == v1::ProjectedGateSpec::OUTPUT) {
    problems->Add(path,
                  "is not for attention.gate.projected.place: OUTPUT, which scales features of the residual "
                  "stream that a rotation mixes: train with CONTEXT, or leave it out");
  }
  const bool post = model.has_gpt2() ? model.gpt2().norm_placement() == v1::POST
                                     : model.llama().norm_placement() == v1::POST;
  if (post) {
    problems->Add(path,
                  "is not for norm_placement: POST, whose gains scale the residual stream itself: train with "
                  "PRE, or leave it out");
  }
  if (!quantization.has_weights() && !quantization.has_activations()) {
    problems->Add(path,
                  "has no effect, for the linears stay float: give quantization.weights and/or "
                  "quantization.activations, or leave it out");
  }
}

void CheckSmoothing(const v1::QuantizationSpec& quantization, Problems* problems) {
  if (!quantization.has_smoothing() || !IsOfLinears(quantization, "smoothing", problems)) return;
  const std::string path = "quantization.smoothing";
  if (!quantization.has_weights() || !quantization.has_activations()) {
    problems->Add(path,
                  std::string("moves the size of activations into weights before both are rounded, and ") +
                      (quantization.has_weights() ? "activations" : "weights") +
                      " stay float: give quantization." +
                      (quantization.has_weights() ? "activations" : "weights") + ", or leave it out");
  }
  if (quantization.has_rotation()) {
    problems->Add(path,
                  "is undone by quantization.rotation, which divides a norm's output by its gain and so by "
                  "the factors: give one of them");
  }
}

void CheckGptq(const v1::QuantizationSpec& quantization, Problems* problems) {
  if (!quantization.has_gptq() || !IsOfLinears(quantization, "gptq", problems)) return;
  const std::string path = "quantization.gptq";
  if (!quantization.has_weights()) {
    problems->Add(path, "rounds weights, which stay float: give quantization.weights, or leave it out");
  }
  if (quantization.has_absmax() && quantization.absmax().granularity() != Absmax::FINE) {
    problems->Add(path, "needs a scale for each row or group, and " +
                            Absmax::Granularity_Name(quantization.absmax().granularity()) +
                            " has one a tensor: use granularity: FINE, or leave it out");
  }
}

void CheckKvCache(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.quantization().has_kv_cache() || IsCausal(spec.model())) return;
  problems->Add("quantization.kv_cache", "is not for model." + std::string(ArchitectureName(spec.model())) +
                                             ", which keeps no keys and values from token to token: use "
                                             "model.opt, model.gpt2 or model.llama, or leave it out");
}

}  // namespace

void CheckQuantizationMethods(const v1::TrialSpec& spec, Problems* problems) {
  CheckFormats(spec.quantization(), problems);
  CheckRotation(spec, problems);
  CheckSmoothing(spec.quantization(), problems);
  CheckGptq(spec.quantization(), problems);
  CheckKvCache(spec, problems);
}

}  // namespace inlier
