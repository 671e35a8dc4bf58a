#include "spec/trial/checks/quantization_method_checks.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spec/trial/architecture.h"
#include "spec/trial/checks/norm_checks.h"
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
  if (part.has_group_size() && BlockSizeOf(part.format()) > 0) {
    problems->Add(path + ".group_size", "is not for " + name + ", whose blocks have " +
                                            std::to_string(BlockSizeOf(part.format())) +
                                            " entries: leave it out, or use INTEGER or FP8_E4M3");
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

// Groups and tiles need a scheme with scales of parts of rows.
void CheckGroups(const v1::QuantizationSpec& quantization, Problems* problems) {
  const v1::WeightQuantizationSpec& weights = quantization.weights();
  const v1::ActivationQuantizationSpec& activations = quantization.activations();
  const bool absmax = quantization.has_absmax(), zeropoint = quantization.has_zeropoint();
  const Absmax::Granularity granularity = quantization.absmax().granularity();
  const std::pair<const char*, bool> fields[] = {{"weights.group_size", weights.has_group_size()},
                                                 {"weights.group_rows", weights.has_group_rows()},
                                                 {"activations.group_size", activations.has_group_size()}};
  for (const auto& [field, given] : fields) {
    const std::string path = std::string("quantization.") + field;
    if (!given) continue;
    if (!absmax && !zeropoint) {
      problems->Add(path,
                    "is not for the scheme reference, which has one range a tensor or a channel: use "
                    "quantization.absmax or quantization.zeropoint, or leave it out");
    } else if (absmax && granularity != Absmax::FINE) {
      problems->Add(path, "has no effect, for " + Absmax::Granularity_Name(granularity) +
                              " has one scale a tensor: leave it out, or use granularity: FINE");
    }
  }
  if (weights.has_group_rows() && zeropoint) {
    problems->Add("quantization.weights.group_rows",
                  "is not for the scheme zeropoint, which has one range a row or group: use "
                  "quantization.absmax, or leave it out");
  } else if (weights.has_group_rows() && !weights.has_group_size()) {
    problems->Add("quantization.weights.group_rows",
                  "has no effect without group_size, the other side of a tile: give both, or leave it out");
  }
  const v1::ScaleAxis axis =
      absmax ? quantization.absmax().activation_axis() : quantization.zeropoint().activation_axis();
  const bool has_axis = zeropoint || (absmax && granularity == Absmax::FINE);
  if (!activations.has_group_size() || axis == v1::TOKEN || !has_axis) return;
  problems->Add("quantization.activations.group_size",
                "is a part of a token's features, and activation_axis is " + v1::ScaleAxis_Name(axis) +
                    ": use activation_axis: TOKEN, or leave it out");
}

void CheckClipRatio(const v1::QuantizationSpec& quantization, Problems* problems) {
  const v1::ActivationQuantizationSpec& activations = quantization.activations();
  const std::string path = "quantization.activations.clip_ratio";
  if (activations.clip_ratio() == 1) return;
  if (!quantization.has_absmax()) {
    problems->Add(
        path,
        "is for the scheme absmax, whose scales are of the largest magnitude: use quantization.absmax, "
        "or leave it out");
  } else if (BlockSizeOf(activations.format()) > 0) {
    problems->Add(path, "is not for " + v1::NumberFormat_Name(activations.format()) +
                            ", which has scales of its own: leave it out, or use INTEGER or FP8_E4M3");
  }
}

void CheckCalibrated(const v1::QuantizationSpec& quantization, Problems* problems) {
  const std::string path = "quantization.absmax.calibrated";
  if (!quantization.absmax().calibrated()) return;
  if (quantization.absmax().granularity() == Absmax::FINE) {
    problems->Add(path,
                  "true is not for FINE, whose scales follow each token or feature: use MODERATE or COARSE, "
                  "or leave it out");
  } else if (!quantization.has_activations()) {
    problems->Add(
        path,
        "true has no effect, for activations stay float: leave it out, or give quantization.activations");
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
  if (!IsCausal(model))
    return problems->Add(path, "is not for model." + std::string(ArchitectureName(model)) +
                                   ": use model.opt, model.gpt2 or model.llama, or leave it out");
  if (!IsCommonNorm(spec.norm())) {
    problems->Add(path, absl::StrCat("is not for norm: ", v1::NormKind_Name(spec.norm()),
                                     ", which treats each feature by itself, and a rotation mixes them: "
                                     "train with LAYER_NORM, RMS_NORM_M or RMS_NORM_S, or leave it out"));
  }
  if (model.has_opt() && model.opt().has_embedding_size() &&
      model.opt().embedding_size() != model.opt().hidden_size()) {
    problems->Add(
        path,
        "is not for a model.opt.embedding_size other than hidden_size, whose head reads a projection and no "
        "norm: leave it out");
  }
  if (spec.norm_gate() > 0) {
    problems->Add(path,
                  "is not for norm_gate, which scales each of the features that a rotation mixes: train "
                  "without it, or leave it out");
  }
  const v1::GateSpec& gate = spec.attention().gate();
  if (gate.has_projected() && gate.projected().place() == v1::ProjectedGateSpec::OUTPUT) {
    problems->Add(path,
                  "is not for attention.gate.projected.place: OUTPUT, which scales features of the residual "
                  "stream that a rotation mixes: train with CONTEXT, or leave it out");
  }
  if (const v1::NormPlacement placement = NormPlacementOf(model); placement != v1::PRE) {
    problems->Add(
        path, "is not for norm_placement: " + v1::NormPlacement_Name(placement) +
                  ", which has no norm before each half of a layer alone: train with PRE, or leave it out");
  }
  if (quantization.rotation().kv_cache() && !quantization.has_kv_cache()) {
    problems->Add(
        path + ".kv_cache",
        "has no effect, for keys and values are not rounded: give quantization.kv_cache, or leave it out");
  }
  if (!quantization.has_weights() && !quantization.has_activations() && !quantization.rotation().kv_cache()) {
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

// The layers before have no statistics when these methods need them.
void CheckLayerByLayer(const v1::QuantizationSpec& quantization, Problems* problems) {
  if (!quantization.gptq().layer_by_layer()) return;
  for (const auto& [given, other] :
       {std::pair(quantization.has_smoothing(), "smoothing"), std::pair(quantization.has_awq(), "awq"),
        std::pair(quantization.absmax().calibrated(), "absmax.calibrated")}) {
    if (given)
      problems->Add("quantization.gptq.layer_by_layer",
                    absl::StrCat("reads the inputs of one layer after another, and quantization.", other,
                                 " needs those of the float model: leave one of the two out"));
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
  CheckLayerByLayer(quantization, problems);
  if (!quantization.gptq().dynamic_groups()) return;
  const v1::WeightQuantizationSpec& weights = quantization.weights();
  const std::string groups = path + ".dynamic_groups";
  if (!weights.has_group_size() || weights.has_group_rows())
    problems->Add(
        groups,
        "is of groups of a row: give quantization.weights.group_size, without group_rows, or leave it out");
  if (quantization.gptq().by_size())
    problems->Add(
        groups,
        "is reached channel after channel, and by_size takes them in another order: give one of them");
  if (quantization.has_awq())
    problems->Add(groups, "makes ranges of its own, and so does quantization.awq: give one of them");
}

void CheckAwq(const v1::QuantizationSpec& quantization, Problems* problems) {
  if (!quantization.has_awq() || !IsOfLinears(quantization, "awq", problems)) return;
  const std::string path = "quantization.awq";
  if (!quantization.has_weights()) {
    problems->Add(path,
                  "scales weights before they are rounded, and they stay float: give quantization.weights, "
                  "or leave it out");
  }
  for (const auto& [given, method] :
       {std::pair(quantization.has_rotation(), "rotation"), {quantization.has_smoothing(), "smoothing"}}) {
    if (!given) continue;
    problems->Add(path, absl::StrCat("scales the features that quantization.", method,
                                     " changes too: give one of them"));
  }
  if (!quantization.awq().clip()) return;
  const v1::WeightQuantizationSpec& weights = quantization.weights();
  std::string shared;
  if (quantization.has_absmax() && quantization.absmax().granularity() != Absmax::FINE)
    shared = Absmax::Granularity_Name(quantization.absmax().granularity()) +
             " has one scale a tensor: use granularity: FINE";
  else if (weights.has_group_rows())
    shared = "the rows of a tile share one: leave quantization.weights.group_rows out";
  else if (weights.format() == v1::NVFP4)
    shared = "those of NVFP4 hang on one of the tensor: use another quantization.weights.format";
  if (shared.empty()) return;
  problems->Add(path + ".clip",
                "narrows the range of each row or group by itself, and " + shared + ", or clip: false");
}

void CheckKvCache(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.quantization().has_kv_cache()) return;
  if (!IsCausal(spec.model()))
    return problems->Add("quantization.kv_cache",
                         "is not for model." + std::string(ArchitectureName(spec.model())) +
                             ", which keeps no keys and values from token to token: use model.opt, "
                             "model.gpt2 or model.llama, or leave it out");
  if (!spec.quantization().kv_cache().has_kivi()) return;
  const v1::KiviSpec& kivi = spec.quantization().kv_cache().kivi();
  const std::string path = "quantization.kv_cache.kivi.";
  if (kivi.residual() % kivi.group_size() != 0) {
    problems->Add(path + "residual", std::to_string(kivi.residual()) + " is not a multiple of group_size " +
                                         std::to_string(kivi.group_size()) +
                                         ", and keys are rounded in whole groups: give a multiple");
  }
  VisitArchitecture(spec.model(), [&](std::string_view name, const auto& model) {
    const std::uint32_t width = model.heads() == 0 ? 0 : model.hidden_size() / model.heads();
    if (width % kivi.group_size() == 0) return;
    problems->Add(path + "group_size", std::to_string(kivi.group_size()) +
                                           " does not divide the width of a head of model." +
                                           std::string(name) + ", " + std::to_string(width) +
                                           ", and values are rounded in whole groups");
  });
}

}  // namespace

void CheckPartsAndMethods(const v1::QuantizationSpec& quantization, Problems* problems) {
  CheckFormats(quantization, problems);
  CheckGroups(quantization, problems);
  CheckClipRatio(quantization, problems);
  CheckCalibrated(quantization, problems);
  CheckSmoothing(quantization, problems);
  CheckGptq(quantization, problems);
  CheckAwq(quantization, problems);
}

void CheckQuantizationMethods(const v1::TrialSpec& spec, Problems* problems) {
  CheckPartsAndMethods(spec.quantization(), problems);
  CheckRotation(spec, problems);
  if (spec.quantization().has_smoothing() && NormPlacementOf(spec.model()) == v1::ENDS)
    problems->Add("quantization.smoothing",
                  "goes into the norms before linears, which norm_placement: ENDS has not: leave it out, or "
                  "train with PRE");
  CheckKvCache(spec, problems);
}

}  // namespace inlier
