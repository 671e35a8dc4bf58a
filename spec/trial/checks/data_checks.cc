#include "spec/trial/checks/data_checks.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/data/record_form.h"
#include "base/files/file.h"
#include "base/utf8.h"
#include "spec/schema/number_text.h"
#include "spec/trial/architecture.h"
#include "spec/trial/data_kind.h"

namespace inlier {
namespace {

void CheckName(const std::string& field, const std::string& name, const std::string& what,
               Problems* problems) {
  if (IsFileName(name)) return;
  const std::string group = field.substr(0, field.rfind('.'));
  problems->Add(field,
                Quoted(name) + " is not the name of a " + what + ", or use " + group + ".path for a file");
}

// The field of a text of records; `path` is that of `text`, which has both.
template <typename Text>
void CheckField(const std::string& path, const Text& text, Problems* problems) {
  if (text.field() == Text::default_instance().field() || RecordFormOf(text.path())) return;
  problems->Add(path + ".field",
                Quoted(text.field()) +
                    " has no effect, for only records (.jsonl, .json, .csv, .tsv) have fields: "
                    "leave it out, or name such a file with " +
                    path + ".path");
}

// The text that a vocabulary is trained on in place of the data's.
void CheckVocabularyText(const v1::BytePairSpec& byte_pair, const std::string& path, Problems* problems) {
  if (byte_pair.has_corpus() && byte_pair.has_path())
    problems->Add(path + ".path", "and corpus are both given, and both name the text: give one of them");
  if (byte_pair.has_corpus() && !IsFileName(byte_pair.corpus())) {
    problems->Add(path + ".corpus",
                  Quoted(byte_pair.corpus()) +
                      " is not a corpus' name: give one such as gcide or kjv, or name a text "
                      "of your own with byte_pair.path");
  }
  if (byte_pair.has_path()) CheckAbsolutePath(path + ".path", byte_pair.path(), problems);
  if (byte_pair.has_corpus_validation() && !byte_pair.has_corpus() && !byte_pair.has_path())
    problems->Add(path + ".corpus_validation",
                  "has no effect without byte_pair.corpus or byte_pair.path: leave it out");
  CheckField(path, byte_pair, problems);
}

void CheckTokenizer(const TokenizedData& data, const v1::ModelSpec& model, Problems* problems) {
  const v1::TokenizerSpec& tokenizer = *data.tokenizer;
  const std::string path = data.path + ".tokenizer";
  if (tokenizer.has_gpt2() && data.objective == v1::MLM) {
    problems->Add(path,
                  "gpt2 has no [MASK], which MLM puts in the place of tokens, and no [CLS]: use wordpiece or "
                  "byte_pair");
  }
  if (tokenizer.has_wordpiece() && data.objective == v1::CLM) {
    problems->Add(
        path,
        "wordpiece drops case and spaces and has no token that separates texts, which CLM needs: use "
        "gpt2 or byte_pair");
  }
  const auto check_vocab = [problems](const std::string& field, const std::string& vocab) {
    if (!vocab.empty() && (vocab[0] == '/' || IsFileName(vocab))) return;
    problems->Add(field,
                  Quoted(vocab) +
                      " is neither the name of a vocabulary in the worker's data folder nor an absolute "
                      "path: give one of them");
  };
  if (tokenizer.has_wordpiece()) check_vocab(path + ".wordpiece.vocab", tokenizer.wordpiece().vocab());
  if (tokenizer.has_gpt2()) check_vocab(path + ".gpt2.vocab", tokenizer.gpt2().vocab());
  CheckVocabularyText(tokenizer.byte_pair(), path + ".byte_pair", problems);
  if (model.has_opt() && tokenizer.has_gpt2() &&
      tokenizer.gpt2().vocab() == v1::Gpt2TokenizerSpec::default_instance().vocab()) {
    problems->Add(path + ".gpt2",
                  "its token 1 is a word, and model.opt pads with 1, a row that is never learned: use "
                  "byte_pair, or model.gpt2, or OPT's own vocabulary by gpt2.vocab");
  }
}

// Checks sizes of one of the architectures' messages against sequences.
template <typename Model>
void CheckTextSizes(const std::string& path, const Model& model, const TokenizedData& data,
                    const v1::EvaluationSpec& evaluation, Problems* problems) {
  if constexpr (requires { model.vocab_size(); }) {
    const auto check_length = [&](const std::string& field, std::uint32_t length) {
      if (!model.has_max_positions() || length <= model.max_positions()) return;
      problems->Add(field, std::to_string(length) + " is longer than " + path + ".max_positions " +
                               std::to_string(model.max_positions()) + ": shorten the sequence, or give " +
                               path + ".max_positions at least " + std::to_string(length));
    };
    check_length(data.path + ".sequence_length", data.sequence_length);
    if (evaluation.has_sequence_length()) {
      check_length("evaluation.sequence_length", evaluation.sequence_length());
    }
    const std::optional<std::uint32_t> vocab = data.vocab_size;
    if (!vocab.has_value() && !model.has_vocab_size()) {
      problems->Add(data.vocab_field,
                    "its number of tokens is known to the worker only: give " + path + ".vocab_size");
    }
    if (vocab.has_value() && model.has_vocab_size() && model.vocab_size() < *vocab) {
      problems->Add(path + ".vocab_size", std::to_string(model.vocab_size()) + " is less than the " +
                                              (data.tokenizer != nullptr ? "tokenizer's " : "data's ") +
                                              std::to_string(*vocab) + " tokens (" + data.vocab_field +
                                              "): leave it out, or give at least " + std::to_string(*vocab));
    }
  } else {
    problems->Add(data.path, path + " reads images, and this is text: choose a model that reads text");
  }
}

void CheckTextData(const v1::TrialSpec& spec, Problems* problems) {
  const v1::TextDataSpec& text = spec.data().text();
  if (text.has_corpus() && !IsFileName(text.corpus())) {
    problems->Add(
        "data.text.corpus",
        Quoted(text.corpus()) +
            " is not a corpus' name: give one such as gcide or kjv, or use data.text.path for a file");
  }
  if (text.has_path()) CheckAbsolutePath("data.text.path", text.path(), problems);
  CheckField("data.text", text, problems);
  if (text.has_objective()) {
    const std::string name(ArchitectureName(spec.model()));
    if (spec.model().has_bert() && text.objective() != v1::MLM) {
      problems->Add("data.text.objective",
                    "CLM needs a causal model, and model.bert sees both sides: use MLM or model.opt");
    }
    if (IsCausal(spec.model()) && text.objective() != v1::CLM) {
      problems->Add("data.text.objective", "MLM needs a model that sees both sides, and model." + name +
                                               " is causal: use CLM or model.bert");
    }
  }
  if (text.objective() == v1::CLM &&
      text.mask_probability() != v1::TextDataSpec::default_instance().mask_probability()) {
    problems->Add(
        "data.text.mask_probability",
        FormatNumber(text.mask_probability()) + " has no effect with CLM, which masks nothing: leave it out");
  }
}

void CheckImages(const v1::TrialSpec& spec, Problems* problems) {
  const v1::ImageDataSpec& images = spec.data().images();
  const std::string name(ArchitectureName(spec.model()));
  if (!spec.model().has_vit())
    return problems->Add("data.images", "model." + name + " reads text, and these are images: use model.vit");
  if (images.has_dataset()) {
    CheckName("data.images.dataset", images.dataset(), "data set: give one such as fashion-mnist", problems);
  }
  if (images.has_path()) CheckAbsolutePath("data.images.path", images.path(), problems);
  const v1::VitSpec& vit = spec.model().vit();
  if (const std::optional<KnownImages> known = FindKnownImages(images)) {
    if (vit.has_classes() && vit.classes() < known->classes) {
      problems->Add("model.vit.classes", std::to_string(vit.classes()) + " is less than the " +
                                             std::to_string(known->classes) + " classes of " +
                                             images.dataset() + ": leave it out");
    }
  }
  if (vit.channels() != 1 && vit.channels() != 3 && vit.has_channels()) {
    problems->Add("model.vit.channels",
                  std::to_string(vit.channels()) + " is neither 1 (grey) nor 3 (red, green, blue)");
  }
  const v1::AugmentationSpec& augmentation = images.augmentation();
  if (augmentation.crop_padding() > 0 && augmentation.has_crop_scale()) {
    problems->Add("data.images.augmentation.crop_padding",
                  std::to_string(augmentation.crop_padding()) +
                      " and crop_scale exclude each other, for both choose where to cut: give one of them");
  }
}

void CheckClassification(const v1::TrialSpec& spec, Problems* problems) {
  const v1::ClassificationDataSpec& data = spec.data().classification();
  if (!spec.model().has_bert()) {
    problems->Add("data.classification", "sentences are classified with BERT's [CLS] token, and model." +
                                             std::string(ArchitectureName(spec.model())) +
                                             " has none: use model.bert");
  }
  if (data.has_dataset()) {
    CheckName("data.classification.dataset", data.dataset(), "data set: give one such as wordnet-classes",
              problems);
  }
  if (data.has_path()) CheckAbsolutePath("data.classification.path", data.path(), problems);
  const auto check_file = [problems](const char* field, const std::string& file) {
    if (IsFileName(file)) return;
    problems->Add(std::string("data.classification.") + field,
                  Quoted(file) + " is not the name of a file in the folder: give one such as train.tsv");
  };
  check_file("train_file", data.train_file());
  check_file("validation_file", data.validation_file());
  if (data.target() == v1::ClassificationDataSpec::NUMBER && spec.training().label_smoothing() > 0) {
    problems->Add("training.label_smoothing",
                  FormatNumber(spec.training().label_smoothing()) +
                      " has no effect on numbers, which have no classes to spread to: leave it out");
  }
}

void CheckInstructions(const v1::TrialSpec& spec, Problems* problems) {
  if (!IsCausal(spec.model())) {
    problems->Add("data.instructions", "an answer is written token after token, and model." +
                                           std::string(ArchitectureName(spec.model())) +
                                           " is not causal: use model.gpt2, model.opt or model.llama");
  }
  CheckAbsolutePath("data.instructions.path", spec.data().instructions().path(), problems);
  if (spec.data().instructions().validation() == v1::BLOCKS) {
    problems->Add(
        "data.instructions.validation",
        "BLOCKS is for texts that are read one after the other, and pairs are not: use HASH or LAST");
  }
}

void CheckBackcopy(const v1::TrialSpec& spec, Problems* problems) {
  const v1::BackcopyDataSpec& data = spec.data().backcopy();
  const std::string name(ArchitectureName(spec.model()));
  if (spec.model().has_opt()) {
    problems->Add("data.backcopy",
                  "its token 1 is a trigger, and model.opt pads with 1, a row that is never learned: use "
                  "model.gpt2 or model.llama");
  } else if (!IsCausal(spec.model()) && !spec.model().has_vit()) {
    problems->Add("data.backcopy", "the next token is predicted, and model." + name +
                                       " is not causal: use model.gpt2 or model.llama");
  }
  // bos, and two tokens to choose from.
  if (data.triggers() + 3 > data.vocab_size()) {
    problems->Add("data.backcopy.triggers",
                  std::to_string(data.triggers()) + " of vocab_size " + std::to_string(data.vocab_size()) +
                      " leave fewer than two ordinary tokens behind bos and the triggers: give at most " +
                      std::to_string(data.vocab_size() - 3));
  }
  if (spec.training().has_epochs()) {
    problems->Add("training.epochs",
                  std::to_string(spec.training().epochs()) +
                      " has no meaning with data.backcopy, whose training sequences never repeat: give "
                      "training.steps");
  }
}

void CheckMultipleChoice(const v1::TrialSpec& spec, Problems* problems) {
  constexpr char kField[] = "evaluation.multiple_choice";
  const std::string& file = spec.evaluation().multiple_choice().path();
  if (!IsCausal(spec.model())) {
    problems->Add(kField, "an answer is judged token after token, and model." +
                              std::string(ArchitectureName(spec.model())) +
                              " is not causal: use model.gpt2, model.opt or model.llama, or leave it out");
  } else if (!spec.data().has_text() && !spec.data().has_instructions()) {
    problems->Add(kField,
                  "questions are texts, and these data have no tokenizer: use data.text or "
                  "data.instructions, or leave it out");
  }
  if (spec.attention().prefix_tokens() > 1) {
    problems->Add(kField, "with attention.prefix_tokens " + std::to_string(spec.attention().prefix_tokens()) +
                              " the first tokens see those behind them, and an answer among them before it "
                              "is judged: leave one of the two out");
  }
  CheckAbsolutePath(std::string(kField) + ".path", file, problems);
  if (RecordFormOf(file) != RecordForm::kJsonLines)
    problems->Add(std::string(kField) + ".path",
                  Quoted(file) + " is not a .jsonl file: a question is a JSON object on a line of it");
}

// Checks fields of the evaluation that only some kinds of data use.
void CheckEvaluation(const v1::TrialSpec& spec, Problems* problems) {
  const v1::EvaluationSpec& evaluation = spec.evaluation();
  if (evaluation.mask_seed() != v1::EvaluationSpec::default_instance().mask_seed() &&
      !(spec.data().has_text() && spec.data().text().objective() == v1::MLM)) {
    problems->Add("evaluation.mask_seed",
                  std::to_string(evaluation.mask_seed()) +
                      " has no effect without MLM, which alone masks tokens: leave it out");
  }
  if (evaluation.has_sequence_length() && !spec.data().has_text()) {
    problems->Add("evaluation.sequence_length",
                  std::to_string(evaluation.sequence_length()) +
                      " can be met by data.text only, which is cut to that length: leave "
                      "it out");
  }
  if (evaluation.has_multiple_choice()) CheckMultipleChoice(spec, problems);
}

}  // namespace

void CheckAbsolutePath(const std::string& field, const std::string& path, Problems* problems) {
  if (path.starts_with('/')) return;
  problems->Add(
      field,
      Quoted(path) + " is relative, and every worker has its own working folder: give an absolute path");
}

void CheckData(const v1::TrialSpec& resolved, Problems* problems) {
  if (const std::optional<TokenizedData> data = TokenizedDataOf(resolved.data())) {
    VisitArchitecture(resolved.model(), [&](std::string_view name, const auto& model) {
      CheckTextSizes("model." + std::string(name), model, *data, resolved.evaluation(), problems);
    });
    if (data->tokenizer != nullptr) CheckTokenizer(*data, resolved.model(), problems);
  }
  switch (resolved.data().kind_case()) {
    case v1::DataSpec::kText:
      CheckTextData(resolved, problems);
      break;
    case v1::DataSpec::kImages:
      CheckImages(resolved, problems);
      break;
    case v1::DataSpec::kClassification:
      CheckClassification(resolved, problems);
      break;
    case v1::DataSpec::kInstructions:
      CheckInstructions(resolved, problems);
      break;
    case v1::DataSpec::kBackcopy:
      CheckBackcopy(resolved, problems);
      break;
    case v1::DataSpec::KIND_NOT_SET:
      return;
  }
  CheckEvaluation(resolved, problems);
}

}  // namespace inlier
