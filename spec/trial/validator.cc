#include "spec/trial/validator.h"

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"
#include "spec/schema/param_range.h"
#include "spec/trial/architecture.h"
#include "spec/trial/best_checkpoint.h"
#include "spec/trial/checks/attention_checks.h"
#include "spec/trial/checks/data_checks.h"
#include "spec/trial/checks/decoder_checks.h"
#include "spec/trial/checks/intervention_checks.h"
#include "spec/trial/checks/low_precision_checks.h"
#include "spec/trial/checks/norm_checks.h"
#include "spec/trial/checks/quantization_checks.h"
#include "spec/trial/quantized_curve.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

// Checks sizes of one of the architectures' messages against each other.
template <typename Model>
void CheckShape(const std::string& path, const Model& model, Problems* problems) {
  bool own_head_size = false;
  if constexpr (requires { model.head_size(); }) own_head_size = model.has_head_size();
  if (own_head_size) {
    // CheckDecoder.
  } else if (model.has_heads() && model.heads() > 0 && model.hidden_size() % model.heads() != 0) {
    problems->Add(path + ".heads", std::to_string(model.heads()) + " does not divide hidden_size " +
                                       std::to_string(model.hidden_size()) +
                                       ": choose heads so that hidden_size / heads is whole");
  } else if (model.has_heads() && model.heads() > 0) {
    if constexpr (requires { model.position(); }) {
      const std::uint32_t head_size = model.hidden_size() / model.heads();
      if (model.position() == v1::ROTARY && head_size % 2 != 0) {
        problems->Add(path + ".position", "ROTARY turns pairs of features, and hidden_size / heads is " +
                                              std::to_string(head_size) +
                                              ", an odd number: choose heads so that it is even");
      }
    }
  }
  if constexpr (requires { model.kv_heads(); }) {
    if (model.has_kv_heads() && model.kv_heads() > 0 && model.heads() % model.kv_heads() != 0) {
      problems->Add(path + ".kv_heads", std::to_string(model.kv_heads()) + " does not divide heads " +
                                            std::to_string(model.heads()) +
                                            ": every key head serves the same number of queries");
    }
  }
  if constexpr (requires { model.patch_size(); }) {
    if (model.has_patch_size() && model.patch_size() > 0 && model.image_size() % model.patch_size() != 0) {
      problems->Add(path + ".patch_size",
                    std::to_string(model.patch_size()) + " does not divide image_size " +
                        std::to_string(model.image_size()) + ": an image is cut into whole patches");
    }
  }
}

// Refuses positions that an architecture has no code for.
template <typename Model>
void CheckPosition(const std::string& path, const Model& model, Problems* problems) {
  if constexpr (requires { model.position(); }) {
    if (path == "model.llama" && model.position() == v1::LEARNED) {
      problems->Add(path + ".position",
                    "LEARNED needs a table of positions, which Llama does not have: use "
                    "ROTARY or NONE, or model.gpt2");
    }
    if (path == "model.vit" && model.position() == v1::ROTARY) {
      problems->Add(path + ".position",
                    "ROTARY counts along a line, and patches lie in a plane: use LEARNED or NONE");
    }
    if constexpr (requires { model.rotary_theta(); }) {
      if (model.position() != v1::ROTARY &&
          model.rotary_theta() != Model::default_instance().rotary_theta()) {
        problems->Add(path + ".rotary_theta", FormatNumber(model.rotary_theta()) +
                                                  " has no effect without ROTARY positions: leave it out");
      }
    }
  }
}

void CheckModel(const v1::TrialSpec& spec, Problems* problems) {
  const v1::ModelSpec& model = spec.model();
  VisitArchitecture(model, [&](std::string_view name, const auto& architecture) {
    const std::string path = "model." + std::string(name);
    CheckShape(path, architecture, problems);
    CheckPosition(path, architecture, problems);
  });
}

void CheckRegularizer(const v1::TrainingSpec& training, Problems* problems) {
  const v1::RegularizerSpec& regularizer = training.regularizer();
  if (training.has_regularizer() && !regularizer.has_ffn_output() && !regularizer.has_kurtosis()) {
    problems->Add(
        "training.regularizer",
        "has nothing to penalise: give ffn_output or kurtosis, for example {kurtosis: {weight: 0.01}}, "
        "or leave it out");
  }
}

// RESIDUAL rotates axes of hidden_size alone. Other sides are checked once the model is made.
void CheckHadamard(const v1::TrialSpec& spec, Problems* problems) {
  const v1::OrthoAdamSpec& ortho = spec.training().optimizer().ortho_adam();
  if (ortho.kind() != v1::OrthoAdamSpec::HADAMARD) return;
  const std::string path = "training.optimizer.ortho_adam";
  if (ortho.block() != 0 && !std::has_single_bit(ortho.block()))
    return problems->Add(path + ".block",
                         std::to_string(ortho.block()) + " is not a power of two, as HADAMARD needs: give " +
                             std::to_string(std::bit_floor(ortho.block())) + ", or use HAAR");
  if (ortho.side() != v1::OrthoAdamSpec::RESIDUAL) return;
  VisitArchitecture(spec.model(), [&](std::string_view name, const auto& architecture) {
    const std::uint32_t width = architecture.hidden_size();
    const bool is_cut = ortho.block() != 0 && ortho.block() < width;
    const std::uint32_t rest =
        is_cut ? width % ortho.block() : width;  // Not in a matrix of the block's size.
    if (width == 0 || rest == 0 || std::has_single_bit(rest) || (!is_cut && width > ortho.max_size())) return;
    const std::uint32_t even = width & -width;  // The largest power of two that divides it.
    problems->Add(path + ".kind",
                  "HADAMARD needs powers of two, and model." + std::string(name) + ".hidden_size " +
                      std::to_string(width) +
                      (is_cut ? " leaves a block of " + std::to_string(rest) : " is not one") + ": use HAAR" +
                      (even > 1 ? ", or " + path + ".block " + std::to_string(even) : ""));
  });
}

void CheckOptimizer(const v1::TrialSpec& spec, Problems* problems) {
  const v1::OptimizerSpec& optimizer = spec.training().optimizer();
  if (optimizer.sgd().nesterov() && optimizer.sgd().momentum() == 0) {
    problems->Add(
        "training.optimizer.sgd.nesterov",
        "true has no effect without momentum: leave it out, or give training.optimizer.sgd.momentum");
  }
  if (optimizer.has_ortho_adam()) CheckHadamard(spec, problems);
}

// "t-17".
bool IsTrialId(const std::string& text) {
  constexpr std::size_t kDigitsMax = 18;
  if (!text.starts_with("t-") || text.size() < 3 || text.size() > 2 + kDigitsMax || text[2] == '0')
    return false;
  return text.find_first_not_of("0123456789", 2) == std::string::npos;
}

void CheckStartFrom(const v1::StartFromSpec& start, Problems* problems) {
  if (start.has_hugging_face())
    CheckAbsolutePath("training.start_from.hugging_face", start.hugging_face(), problems);
  if (start.has_checkpoint())
    CheckAbsolutePath("training.start_from.checkpoint", start.checkpoint(), problems);
  if (start.has_trial() && !IsTrialId(start.trial())) {
    problems->Add("training.start_from.trial",
                  Quoted(start.trial()) +
                      " is not the id of a trial: give one such as t-17, as inlier status shows it");
  }
  if (start.has_training() && !IsSha256Hex(start.training())) {
    problems->Add("training.start_from.training",
                  Quoted(start.training()) +
                      " is not the fingerprint of a training: give 64 digits of "
                      "lower-case hexadecimal, or name the trial");
  }
}

constexpr double kRounding = 1e-9;  // Of sums of fractions such as 0.7 and 0.3.

void CheckWarmup(const v1::TrainingSpec& training, Problems* problems) {
  const v1::ScheduleSpec& schedule = training.schedule();
  if (training.has_steps() && schedule.warmup_steps() > training.steps()) {
    problems->Add("training.schedule.warmup_steps",
                  std::to_string(schedule.warmup_steps()) + " is more than training.steps " +
                      std::to_string(training.steps()) + ": shorten the warm-up, or train longer");
  }
  if (schedule.has_warmup_fraction() && schedule.warmup_steps() > 0) {
    problems->Add("training.schedule.warmup_fraction",
                  FormatNumber(schedule.warmup_fraction()) + " and warmup_steps " +
                      std::to_string(schedule.warmup_steps()) + " exclude each other: give one of them");
  }
}

void CheckDecay(const v1::TrainingSpec& training, Problems* problems) {
  const v1::ScheduleSpec& schedule = training.schedule();
  const v1::WsdScheduleSpec& wsd = schedule.wsd();
  const std::string path = "training.schedule.wsd.";
  if (wsd.has_decay_steps() &&
      wsd.decay_fraction() != v1::WsdScheduleSpec::default_instance().decay_fraction()) {
    return problems->Add(path + "decay_fraction", FormatNumber(wsd.decay_fraction()) + " and decay_steps " +
                                                      std::to_string(wsd.decay_steps()) +
                                                      " exclude each other: give one of them");
  }
  if (wsd.has_decay_steps() && !training.has_steps()) {
    return problems->Add(
        path + "decay_steps",
        std::to_string(wsd.decay_steps()) +
            " updates may be more than training.epochs has, which is known once the data are "
            "read: give decay_fraction, or training.steps");
  }
  const double steps = training.has_steps() ? training.steps() : 1;
  const double warmup = schedule.has_warmup_fraction() ? schedule.warmup_fraction() * steps
                        : training.has_steps()         ? schedule.warmup_steps()
                                                       : 0;
  const double decay = wsd.has_decay_steps() ? wsd.decay_steps() : wsd.decay_fraction() * steps;
  if (warmup + decay <= steps * (1 + kRounding)) return;
  const std::string length = training.has_steps() ? "training.steps " + std::to_string(training.steps())
                                                  : std::string("the training");
  problems->Add(
      path + (wsd.has_decay_steps() ? "decay_steps" : "decay_fraction"),
      (wsd.has_decay_steps() ? std::to_string(wsd.decay_steps()) : FormatNumber(wsd.decay_fraction())) +
          (warmup > 0 ? " and the warm-up are together longer than " : " is longer than ") + length +
          ": shorten the decay" + (warmup > 0 ? " or the warm-up" : "") + ", or train longer");
}

void CheckSchedule(const v1::TrainingSpec& training, Problems* problems) {
  CheckWarmup(training, problems);
  if (training.schedule().has_wsd()) CheckDecay(training, problems);
}

void CheckTraining(const v1::TrialSpec& spec, Problems* problems) {
  const v1::TrainingSpec& training = spec.training();
  if (training.has_start_from()) CheckStartFrom(training.start_from(), problems);
  CheckRegularizer(training, problems);
  CheckBestCheckpoint(training, problems);
  CheckSchedule(training, problems);
}

void CheckBetweenFields(const v1::TrialSpec& resolved, Problems* problems) {
  CheckModel(resolved, problems);
  CheckNorms(resolved, problems);
  CheckData(resolved, problems);
  CheckAttention(resolved, problems);
  CheckDecoder(resolved, problems);
  CheckTraining(resolved, problems);
  CheckOptimizer(resolved, problems);
  CheckLowPrecision(resolved, problems);
  CheckQuantization(resolved, problems);
  CheckQuantizedCurve(resolved, problems);
  CheckIntervention(resolved, problems);
}

}  // namespace

Problems FindProblems(const v1::TrialSpec& resolved) {
  Problems problems;
  CheckDeclarations(resolved, "", &problems);
  CheckBetweenFields(resolved, &problems);
  return problems;
}

SeriesValidator::SeriesValidator() {
  const auto* type = v1::TrialSpec::descriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    if (IsGroup(type->field(i))) groups_.push_back({type->field(i), {}});
  }
}

bool SeriesValidator::DeclarationsHold(const v1::TrialSpec& resolved) {
  Problems problems;
  CheckDeclarations(resolved, "", &problems, /*with_groups=*/false);
  for (Group& group : groups_) {
    if (!resolved.GetReflection()->HasField(resolved, group.field)) continue;
    const auto& message = resolved.GetReflection()->GetMessage(resolved, group.field);
    std::string bytes = message.SerializeAsString();
    if (bytes == group.valid) continue;
    CheckDeclarations(message, "", &problems);
    if (!problems.empty()) return false;
    group.valid = std::move(bytes);
  }
  return problems.empty();
}

Problems SeriesValidator::Find(const v1::TrialSpec& resolved) {
  if (!DeclarationsHold(resolved)) return FindProblems(resolved);
  Problems problems;
  CheckBetweenFields(resolved, &problems);
  return problems;
}

absl::Status Validate(const v1::TrialSpec& resolved) { return FindProblems(resolved).ToStatus(); }

absl::StatusOr<v1::TrialSpec> ResolveAndValidate(const v1::TrialSpec& spec) {
  ASSIGN_OR_RETURN(v1::TrialSpec resolved, Resolve(spec));
  RETURN_IF_ERROR(Validate(resolved));
  return resolved;
}

}  // namespace inlier
