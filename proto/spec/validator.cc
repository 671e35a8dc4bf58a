#include "proto/spec/validator.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "proto/spec/architecture.h"
#include "proto/spec/number_text.h"
#include "proto/spec/param_range.h"
#include "proto/spec/quantization_checks.h"
#include "proto/spec/resolver.h"
#include "proto/spec/utf8.h"
#include "proto/spec/vocabularies.h"

namespace inlier {
namespace {

std::string Text(std::uint32_t value) { return std::to_string(value); }

// Whether it can be the name of a file or folder that is looked for in the worker's data folder.
bool IsName(const std::string& text) {
  constexpr char kNameCharacters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !text.empty() && text[0] != '.' && text.find_first_not_of(kNameCharacters) == std::string::npos;
}

// Sizes of one of the architectures' messages against each other.
template <typename Model>
void CheckShape(const std::string& path, const Model& model, Problems* problems) {
  if (model.has_heads() && model.heads() > 0 && model.hidden_size() % model.heads() != 0) {
    problems->Add(path + ".heads", Text(model.heads()) + " does not divide hidden_size " +
                                       Text(model.hidden_size()) +
                                       ": choose heads so that hidden_size / heads is whole");
  } else if (model.has_heads() && model.heads() > 0) {
    if constexpr (requires { model.position(); }) {
      const std::uint32_t head_size = model.hidden_size() / model.heads();
      if (model.position() == v1::ROTARY && head_size % 2 != 0) {
        problems->Add(path + ".position", "ROTARY turns pairs of features, and hidden_size / heads is " +
                                              Text(head_size) +
                                              ", an odd number: choose heads so that it is even");
      }
    }
  }
  if constexpr (requires { model.kv_heads(); }) {
    if (model.has_kv_heads() && model.kv_heads() > 0 && model.heads() % model.kv_heads() != 0) {
      problems->Add(path + ".kv_heads", Text(model.kv_heads()) + " does not divide heads " +
                                            Text(model.heads()) +
                                            ": every key head serves the same number of queries");
    }
  }
  if constexpr (requires { model.patch_size(); }) {
    if (model.has_patch_size() && model.patch_size() > 0 && model.image_size() % model.patch_size() != 0) {
      problems->Add(path + ".patch_size", Text(model.patch_size()) + " does not divide image_size " +
                                              Text(model.image_size()) +
                                              ": an image is cut into whole patches");
    }
  }
}

// Positions that an architecture has no code for.
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

// What a model of text needs of its data.
template <typename Model>
void CheckTextSizes(const std::string& path, const Model& model, const v1::TrialSpec& spec,
                    Problems* problems) {
  if (!spec.data().has_text()) return;
  if constexpr (requires { model.vocab_size(); }) {
    const auto check_length = [&](const char* field, std::uint32_t length) {
      if (!model.has_max_positions() || length <= model.max_positions()) return;
      problems->Add(field, Text(length) + " is longer than " + path + ".max_positions " +
                               Text(model.max_positions()) + ": shorten the sequence, or give " + path +
                               ".max_positions at least " + Text(length));
    };
    check_length("data.text.sequence_length", spec.data().text().sequence_length());
    if (spec.evaluation().has_sequence_length()) {
      check_length("evaluation.sequence_length", spec.evaluation().sequence_length());
    }
    const v1::TokenizerSpec& tokenizer = spec.data().text().tokenizer();
    const std::string field = "data.text.tokenizer." + VocabularyField(tokenizer);
    const std::optional<std::uint32_t> vocab = VocabularySize(tokenizer);
    if (!vocab.has_value() && !model.has_vocab_size()) {
      problems->Add(field, "its number of tokens is known to the worker only: give " + path + ".vocab_size");
    }
    if (vocab.has_value() && model.has_vocab_size() && model.vocab_size() < *vocab) {
      problems->Add(path + ".vocab_size", Text(model.vocab_size()) + " is less than the tokenizer's " +
                                              Text(*vocab) + " tokens (" + field +
                                              "): leave it out, or give at least " + Text(*vocab));
    }
  } else {
    problems->Add("data.text", path + " reads images, and this is text: choose a model that reads text");
  }
}

void CheckModel(const v1::TrialSpec& spec, Problems* problems) {
  const v1::ModelSpec& model = spec.model();
  VisitArchitecture(model, [&](std::string_view name, const auto& architecture) {
    const std::string path = "model." + std::string(name);
    CheckShape(path, architecture, problems);
    CheckPosition(path, architecture, problems);
    CheckTextSizes(path, architecture, spec, problems);
  });
  const v1::TokenizerSpec& tokenizer = spec.data().text().tokenizer();
  if (model.has_opt() && tokenizer.has_gpt2() &&
      tokenizer.gpt2().vocab() == v1::Gpt2TokenizerSpec::default_instance().vocab()) {
    problems->Add(
        "data.text.tokenizer.gpt2",
        "its token 1 is a word, and model.opt pads with 1, a row that is never learned: use byte_pair, or "
        "model.gpt2");
  }
  const v1::TextDataSpec& text = spec.data().text();
  if (!spec.data().has_text() || !text.has_objective()) return;
  const std::string name(ArchitectureName(model));
  if (model.has_bert() && text.objective() != v1::MLM) {
    problems->Add("data.text.objective",
                  "CLM needs a causal model, and model.bert sees both sides: use MLM or model.opt");
  }
  if (IsCausal(model) && text.objective() != v1::CLM) {
    problems->Add("data.text.objective", "MLM needs a model that sees both sides, and model." + name +
                                             " is causal: use CLM or model.bert");
  }
}

// The special tokens that an objective needs, and where a published vocabulary lies.
void CheckTokenizer(const v1::TextDataSpec& text, Problems* problems) {
  const v1::TokenizerSpec& tokenizer = text.tokenizer();
  if (tokenizer.has_gpt2() && text.objective() == v1::MLM) {
    problems->Add("data.text.tokenizer",
                  "gpt2 has no [MASK], which MLM puts in the place of tokens: use wordpiece or byte_pair");
  }
  if (tokenizer.has_wordpiece() && text.objective() == v1::CLM) {
    problems->Add(
        "data.text.tokenizer",
        "wordpiece drops case and spaces and has no token that separates texts, which CLM needs: use "
        "gpt2 or byte_pair");
  }
  const auto check_vocab = [problems](const char* field, const std::string& vocab) {
    if (!vocab.empty() && (vocab[0] == '/' || IsName(vocab))) return;
    problems->Add(field,
                  Quoted(vocab) +
                      " is neither the name of a vocabulary in the worker's data folder nor an absolute "
                      "path: give one of them");
  };
  if (tokenizer.has_wordpiece()) {
    check_vocab("data.text.tokenizer.wordpiece.vocab", tokenizer.wordpiece().vocab());
  }
  if (tokenizer.has_gpt2()) check_vocab("data.text.tokenizer.gpt2.vocab", tokenizer.gpt2().vocab());
}

// A corpus is a name in the worker's data folder, a path a place on the worker: neither may depend on where
// someone stands.
void CheckData(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.data().has_text()) return;
  const v1::TextDataSpec& text = spec.data().text();
  if (text.has_corpus()) {
    if (!IsName(text.corpus())) {
      problems->Add(
          "data.text.corpus",
          Quoted(text.corpus()) +
              " is not a corpus' name: give one such as gcide or kjv, or use data.text.path for a file");
    }
  }
  CheckTokenizer(text, problems);
  if (text.field() != v1::TextDataSpec::default_instance().field() && !text.path().ends_with(".jsonl")) {
    problems->Add("data.text.field",
                  Quoted(text.field()) +
                      " has no effect, for only the lines of a .jsonl file have fields: leave "
                      "it out, or name one with data.text.path");
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

void CheckSoftmax(const v1::TrialSpec& spec, Problems* problems) {
  if (!spec.attention().softmax().has_ncs()) return;
  const v1::NcsSpec& ncs = spec.attention().softmax().ncs();
  if (ncs.beta() > ncs.zeta()) {
    problems->Add("attention.softmax.ncs.beta",
                  FormatNumber(ncs.beta()) + " is more than zeta " + FormatNumber(ncs.zeta()) +
                      ", which would lift every probability, those of masked keys too: give at most zeta "
                      "(equal to it, it is the vanilla softmax)");
  }
  if (ncs.length() == v1::NcsSpec::ROW && !IsCausal(spec.model())) {
    problems->Add("attention.softmax.ncs.length",
                  "ROW is the number of keys that a query of a causal model sees, and model." +
                      std::string(ArchitectureName(spec.model())) +
                      " sees both sides: use RUN, UNPADDED or CONFIGURED");
  }
  if (ncs.length() == v1::NcsSpec::CONFIGURED && !spec.data().has_text()) {
    problems->Add("attention.softmax.ncs.length",
                  "CONFIGURED is data.text.sequence_length, and there is no text: use RUN");
  }
}

void CheckAttention(const v1::TrialSpec& spec, Problems* problems) {
  CheckSoftmax(spec, problems);
  const v1::GateSpec& gate = spec.attention().gate();
  if (gate.has_none() && gate.output_factor() != v1::GateSpec::default_instance().output_factor()) {
    problems->Add(
        "attention.gate.output_factor",
        FormatNumber(gate.output_factor()) + " has no effect without a gate: leave it out, or choose a gate");
  }
  if (gate.has_initial_std() && (gate.has_none() || gate.has_unconditional())) {
    problems->Add("attention.gate.initial_std",
                  FormatNumber(gate.initial_std()) +
                      " has no effect without a gate that reads its input: leave it out");
  }
  if (gate.pooled() && (gate.has_none() || gate.has_unconditional())) {
    const std::string why =
        gate.has_none() ? "without a gate" : "with the unconditional gate, which is the same for all tokens";
    problems->Add("attention.gate.pooled",
                  "true has no effect " + why + ": leave it out, or choose another gate");
  }
}

// RESIDUAL rotates axes of hidden_size alone. What the other sides rotate is known once the model is made,
// and checked then.
void CheckHadamard(const v1::TrialSpec& spec, Problems* problems) {
  const v1::OrthoAdamSpec& ortho = spec.training().optimizer().ortho_adam();
  if (ortho.kind() != v1::OrthoAdamSpec::HADAMARD) return;
  const std::string path = "training.optimizer.ortho_adam";
  if (ortho.block() != 0 && !std::has_single_bit(ortho.block())) {
    problems->Add(path + ".block", Text(ortho.block()) + " is not a power of two, as HADAMARD needs: give " +
                                       Text(std::bit_floor(ortho.block())) + ", or use HAAR");
    return;
  }
  if (ortho.side() != v1::OrthoAdamSpec::RESIDUAL) return;
  VisitArchitecture(spec.model(), [&](std::string_view name, const auto& architecture) {
    const std::uint32_t width = architecture.hidden_size();
    const bool is_cut = ortho.block() != 0 && ortho.block() < width;
    const std::uint32_t rest =
        is_cut ? width % ortho.block() : width;  // Without a matrix of the block's size.
    if (width == 0 || rest == 0 || std::has_single_bit(rest) || (!is_cut && width > ortho.max_size())) return;
    const std::uint32_t even = width & -width;  // The largest power of two that divides it.
    problems->Add(path + ".kind",
                  "HADAMARD needs powers of two, and model." + std::string(name) + ".hidden_size " +
                      Text(width) + (is_cut ? " leaves a block of " + Text(rest) : " is none") +
                      ": use HAAR" + (even > 1 ? ", or " + path + ".block " + Text(even) : ""));
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

void CheckStartFrom(const v1::StartFromSpec& start, Problems* problems) {
  const auto check = [problems](const char* field, const std::string& path) {
    if (!path.empty() && path[0] == '/') return;
    problems->Add(std::string("training.start_from.") + field,
                  Quoted(path) + " is relative, and every worker stands elsewhere: give an absolute path");
  };
  if (start.has_hugging_face()) check("hugging_face", start.hugging_face());
  if (start.has_checkpoint()) check("checkpoint", start.checkpoint());
}

void CheckTraining(const v1::TrialSpec& spec, Problems* problems) {
  const v1::TrainingSpec& training = spec.training();
  if (training.has_start_from()) CheckStartFrom(training.start_from(), problems);
  if (training.has_steps() && training.schedule().warmup_steps() > training.steps()) {
    problems->Add("training.schedule.warmup_steps",
                  Text(training.schedule().warmup_steps()) + " is more than training.steps " +
                      Text(training.steps()) + ": shorten the warm-up, or train longer");
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
  CheckOptimizer(resolved, &problems);
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
