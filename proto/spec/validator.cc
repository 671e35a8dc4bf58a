#include "proto/spec/validator.h"

#include <cstdint>
#include <string>

#include "base/status.h"
#include "proto/spec/number_text.h"
#include "proto/spec/param_range.h"
#include "proto/spec/resolver.h"
#include "proto/spec/utf8.h"

namespace inlier {
namespace {

std::string Text(std::uint32_t value) { return std::to_string(value); }

// Between the sizes of BertSpec or OptSpec, and what the data need of them.
template <typename SizeSpec>
void CheckSizes(const std::string& path, const SizeSpec& model, const v1::DataSpec& data,
                Problems* problems) {
  if (model.has_heads() && model.heads() > 0 && model.hidden_size() % model.heads() != 0) {
    problems->Add(path + ".heads", Text(model.heads()) + " does not divide hidden_size " +
                                       Text(model.hidden_size()) +
                                       ": choose heads so that hidden_size / heads is whole");
  }
  if (!data.has_text()) return;
  const std::uint32_t length = data.text().sequence_length();
  if (model.has_max_positions() && length > model.max_positions()) {
    problems->Add("data.text.sequence_length",
                  Text(length) + " is longer than " + path + ".max_positions " + Text(model.max_positions()) +
                      ": shorten the sequence, or give " + path + ".max_positions at least " + Text(length));
  }
  const std::uint32_t vocab = data.text().tokenizer().byte_pair().vocab_size();
  if (model.has_vocab_size() && model.vocab_size() < vocab) {
    problems->Add(path + ".vocab_size",
                  Text(model.vocab_size()) + " is less than the tokenizer's " + Text(vocab) +
                      " tokens (data.text.tokenizer.byte_pair.vocab_size): leave it out, or give at least " +
                      Text(vocab));
  }
}

void CheckModel(const v1::TrialSpec& spec, Problems* problems) {
  const v1::ModelSpec& model = spec.model();
  const v1::TextDataSpec& text = spec.data().text();
  const bool has_objective = spec.data().has_text() && text.has_objective();
  if (model.has_bert()) {
    CheckSizes("model.bert", model.bert(), spec.data(), problems);
    if (has_objective && text.objective() != v1::MLM) {
      problems->Add("data.text.objective",
                    "CLM needs a causal model, and model.bert sees both sides: use MLM or model.opt");
    }
  }
  if (model.has_opt()) {
    CheckSizes("model.opt", model.opt(), spec.data(), problems);
    if (has_objective && text.objective() != v1::CLM) {
      problems->Add("data.text.objective",
                    "MLM needs a model that sees both sides, and model.opt is causal: use CLM or model.bert");
    }
  }
}

// A corpus is a name in the worker's data folder, a path a place on the worker: neither may depend on where
// someone stands.
void CheckData(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.data().has_text()) return;
  const v1::TextDataSpec& text = spec.data().text();
  if (text.has_corpus()) {
    const std::string& corpus = text.corpus();
    constexpr char kNameCharacters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    if (corpus.empty() || corpus[0] == '.' ||
        corpus.find_first_not_of(kNameCharacters) != std::string::npos) {
      problems->Add(
          "data.text.corpus",
          Quoted(corpus) +
              " is not a corpus' name: give one such as gcide or kjv, or use data.text.path for a file");
    }
  }
  if (text.has_path() && (text.path().empty() || text.path()[0] != '/')) {
    problems->Add(
        "data.text.path",
        Quoted(text.path()) + " is relative, and every worker stands elsewhere: give an absolute path");
  }
  if (text.objective() != v1::CLM) return;
  if (text.mask_probability() != v1::TextDataSpec::default_instance().mask_probability()) {
    problems->Add(
        "data.text.mask_probability",
        FormatNumber(text.mask_probability()) + " has no effect with CLM, which masks nothing: leave it out");
  }
  if (spec.evaluation().mask_seed() != v1::EvaluationSpec::default_instance().mask_seed()) {
    problems->Add("evaluation.mask_seed", Text(spec.evaluation().mask_seed()) +
                                              " has no effect with CLM, which masks nothing: leave it out");
  }
}

void CheckAttention(const v1::TrialSpec& spec, Problems* problems) {
  const v1::GateSpec& gate = spec.attention().gate();
  if (gate.has_none() && gate.output_factor() != v1::GateSpec::default_instance().output_factor()) {
    problems->Add(
        "attention.gate.output_factor",
        FormatNumber(gate.output_factor()) + " has no effect without a gate: leave it out, or choose a gate");
  }
  if (gate.pooled() && (gate.has_none() || gate.has_unconditional())) {
    const std::string why =
        gate.has_none() ? "without a gate" : "with the unconditional gate, which is the same for all tokens";
    problems->Add("attention.gate.pooled",
                  "true has no effect " + why + ": leave it out, or choose another gate");
  }
}

void CheckTraining(const v1::TrialSpec& spec, Problems* problems) {
  const v1::TrainingSpec& training = spec.training();
  if (training.has_steps() && training.schedule().warmup_steps() > training.steps()) {
    problems->Add("training.schedule.warmup_steps",
                  Text(training.schedule().warmup_steps()) + " is more than training.steps " +
                      Text(training.steps()) + ": shorten the warm-up, or train longer");
  }
}

void CheckQuantization(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.has_quantization()) return;
  const v1::QuantizationSpec& quantization = spec.quantization();
  if (!quantization.has_weights() && !quantization.has_activations()) {
    problems->Add("quantization",
                  "says nothing to quantize: give weights and/or activations, or leave it out");
  }
  if (quantization.has_calibration() && !quantization.has_activations()) {
    problems->Add("quantization.calibration",
                  "has no effect, for only the ranges of activations are calibrated: give "
                  "quantization.activations, or leave it out");
  }
  if (spec.model().has_bert() && quantization.reference().setup() != v1::ReferenceSchemeSpec::FP32_HEAD) {
    problems->Add("quantization.reference.setup",
                  v1::ReferenceSchemeSpec::Setup_Name(quantization.reference().setup()) +
                      " is for model.opt; the head of BERT is never quantized: leave it out");
  }
}

}  // namespace

Problems FindProblems(const v1::TrialSpec& resolved) {
  Problems problems;
  CheckDeclarations(resolved, "", &problems);
  CheckModel(resolved, &problems);
  CheckData(resolved, &problems);
  CheckAttention(resolved, &problems);
  CheckTraining(resolved, &problems);
  CheckQuantization(resolved, &problems);
  return problems;
}

absl::Status Validate(const v1::TrialSpec& resolved) { return FindProblems(resolved).ToStatus(); }

absl::StatusOr<v1::TrialSpec> ResolveAndValidate(const v1::TrialSpec& spec) {
  ASSIGN_OR_RETURN(v1::TrialSpec resolved, Resolve(spec));
  RETURN_IF_ERROR(Validate(resolved));
  return resolved;
}

}  // namespace inlier
