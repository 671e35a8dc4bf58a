#include "spec/trial/checks/low_precision_checks.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spec/trial/architecture.h"
#include "spec/trial/data_kind.h"
#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

const std::string kPath = "training.low_precision";

struct GivenPart {
  std::string path;
  const v1::LowPrecisionPartSpec& part;
};

std::vector<GivenPart> PartsOf(const v1::LowPrecisionSpec& spec) {
  std::vector<GivenPart> parts;
  if (spec.has_weights()) parts.push_back({kPath + ".weights", spec.weights()});
  if (spec.has_activations()) parts.push_back({kPath + ".activations", spec.activations()});
  if (spec.has_gradients()) parts.push_back({kPath + ".gradients", spec.gradients()});
  return parts;
}

// A format's own bits and blocks.
void CheckPartFormat(const GivenPart& given, Problems* problems) {
  const auto& [path, part] = given;
  if (part.format() == v1::INTEGER) return;
  const std::string name = v1::NumberFormat_Name(part.format());
  if (part.has_bits() && part.bits() != BitsOf(part.format())) {
    problems->Add(path + ".bits", std::to_string(part.bits()) + " is not for " + name + ", which has " +
                                      std::to_string(BitsOf(part.format())) +
                                      " bits: leave it out, or use INTEGER");
  }
  if (part.has_group_size() && BlockSizeOf(part.format()) > 0) {
    problems->Add(path + ".group_size", "is not for " + name + ", whose blocks have " +
                                            std::to_string(BlockSizeOf(part.format())) +
                                            " entries: leave it out, or use INTEGER or FP8_E4M3");
  }
}

// What one scale covers.
void CheckScales(const GivenPart& given, Problems* problems) {
  const auto& [path, part] = given;
  const bool blocks = BlockSizeOf(part.format()) > 0;
  if (part.has_group_rows() && !part.has_group_size() && !blocks) {
    problems->Add(path + ".group_rows",
                  "has no effect without group_size, the other side of a tile: give both, or leave it out");
  }
  if (part.scale_axis() == v1::FEATURE) {
    problems->Add(path + ".scale_axis",
                  "FEATURE is a scale for each number that a product adds up, and only a scale of the whole "
                  "sum can be taken out of it: use TENSOR, TOKEN or group_size");
  } else if (part.scale_axis() == v1::TOKEN && (blocks || part.has_group_size())) {
    problems->Add(path + ".scale_axis",
                  "TOKEN has no effect, for " +
                      (blocks ? v1::NumberFormat_Name(part.format()) + " has a scale for each block"
                              : std::string("group_size gives each group of a row a scale")) +
                      ": leave it out");
  }
}

// Tokens that the layers of a model see of an example; 0 where it is not known.
std::uint32_t TokensOfExample(const v1::TrialSpec& spec) {
  const std::uint32_t tokens = SequenceLength(spec);
  return tokens == 0 ? 0 : tokens + spec.model().vit().registers();
}

void CheckTokenRotation(const v1::TrialSpec& spec, Problems* problems) {
  const v1::LowPrecisionSpec& low = spec.training().low_precision();
  const std::uint32_t size = low.hadamard_size();
  if (size == 0) return;
  const std::string path = kPath + ".hadamard_size", value = std::to_string(size);
  if (!low.has_activations() && !low.has_gradients())
    return problems->Add(path, value +
                                   " has no effect, for it rotates activations and gradients before they are "
                                   "rounded, and both stay float: give one of them, or leave it out");
  if (size == 1 || !std::has_single_bit(size))
    return problems->Add(path, value + " is not a power of two from 2 on, as a Hadamard matrix needs: give " +
                                   std::to_string(size == 1 ? 16 : std::bit_floor(size)) +
                                   ", or leave it out");
  const std::uint64_t tokens = std::uint64_t{spec.training().batch_size()} * TokensOfExample(spec);
  if (tokens % size == 0) return;
  problems->Add(path, value + " does not divide the " + std::to_string(tokens) +
                          " tokens of a micro-batch, training.batch_size " +
                          std::to_string(spec.training().batch_size()) + " times " +
                          std::to_string(TokensOfExample(spec)) +
                          ": choose another batch size or length, or a smaller power of two");
}

void CheckFloatLayers(const v1::TrialSpec& spec, Problems* problems) {
  const v1::LowPrecisionSpec& low = spec.training().low_precision();
  const std::uint64_t in_float = std::uint64_t{low.float_first_layers()} + low.float_last_layers();
  VisitArchitecture(spec.model(), [&](std::string_view name, const auto& model) {
    if (in_float == 0 || model.layers() == 0 || in_float < model.layers()) return;
    problems->Add(kPath + (low.float_first_layers() > 0 ? ".float_first_layers" : ".float_last_layers"),
                  "the first and last layers that stay float, " + std::to_string(in_float) +
                      " in all, leave none of the " + std::to_string(model.layers()) + " of model." +
                      std::string(name) + " to round: give fewer");
  });
}

// A learned scale is one of a whole tensor of integers, and the loss knows no gradient of a gradient's range.
void CheckLearnedScales(const v1::LowPrecisionSpec& low, Problems* problems) {
  if (!low.learned_scales()) return;
  const std::string path = kPath + ".learned_scales";
  if (!low.has_weights() && !low.has_activations()) {
    problems->Add(
        path,
        "true has no effect, for it learns the scales of weights and activations, which stay float: "
        "give one of them, or leave it out");
  }
  if (low.has_gradients()) {
    problems->Add(path, "true is not with gradients, for which no loss gives a scale: leave out one of them");
  }
  if (low.hadamard_size() > 0) {
    problems->Add(path,
                  "true is not with hadamard_size, after which other scales would be needed: leave out one "
                  "of them");
  }
  for (const auto& [part_path, part] : PartsOf(low)) {
    const std::string remedy =
        ": use format: INTEGER with scale_axis: TENSOR and no groups, or leave out learned_scales";
    if (part.format() != v1::INTEGER) {
      problems->Add(part_path + ".format", v1::NumberFormat_Name(part.format()) +
                                               " has its own scales, and learned_scales learns them" +
                                               remedy);
    } else if (part.scale_axis() != v1::TENSOR || part.has_group_size()) {
      problems->Add(part_path + (part.has_group_size() ? ".group_size" : ".scale_axis"),
                    "gives a tensor several scales, and learned_scales learns one" + remedy);
    }
    if (part.stochastic_rounding()) {
      problems->Add(part_path + ".stochastic_rounding",
                    "true is not with learned_scales, whose gradient is that of rounding to the nearest: "
                    "leave out one of them");
    }
  }
}

}  // namespace

void CheckLowPrecision(const v1::TrialSpec& resolved, Problems* problems) {
  if (!resolved.training().has_low_precision()) return;
  const v1::LowPrecisionSpec& low = resolved.training().low_precision();
  const std::vector<GivenPart> parts = PartsOf(low);
  if (parts.empty())
    return problems->Add(
        kPath,
        "has nothing to round; give weights, activations or gradients, for example {weights: "
        "{bits: 8}, activations: {bits: 8, scale_axis: TOKEN}}, or leave it out");
  for (const GivenPart& part : parts) {
    CheckPartFormat(part, problems);
    CheckScales(part, problems);
  }
  CheckTokenRotation(resolved, problems);
  CheckFloatLayers(resolved, problems);
  CheckLearnedScales(low, problems);
}

}  // namespace inlier
