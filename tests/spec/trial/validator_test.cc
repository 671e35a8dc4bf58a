#include "spec/trial/validator.h"

#include <limits>

#include "gtest/gtest.h"
#include "spec/trial/resolver.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

TEST(ValidatorTest, TheTinyModelsAreRight) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{}"), "OK");
  EXPECT_EQ(
      ErrorOfTrial(
          kTinyBert,
          "{quantization: {weights: {bits: 6}, activations: {bits: 8}}, attention: {gate: {linear: {}}}}"),
      "OK");
}

TEST(ValidatorTest, WhatMustBeGivenIsNamed) {
  EXPECT_EQ(ResolveAndValidate(v1::TrialSpec()).status().message(),
            "model: nothing is chosen: give one of bert, opt, gpt2, llama or vit\n"
            "data: nothing is chosen: give one of text, images, classification, instructions or backcopy\n"
            "training: nothing is chosen: give one of steps or epochs");
  EXPECT_EQ(ResolveAndValidate(TrialFrom("{model: {bert: {layers: 2, hidden_size: 8, heads: 2}}, data: "
                                         "{text: {}}, training: {steps: 1}}"))
                .status()
                .message(),
            "model.bert.ffn_size: is missing: give a whole number from 1 to 1048576, or choose a preset\n"
            "data.text: nothing is chosen: give one of corpus or path");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {softmax: {clipped: {}}}}"),
            "attention.softmax.clipped: nothing is chosen: give one of gamma or alpha");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {gate: {mlp: {}}}}"),
            "attention.gate.mlp.hidden_size: is missing: give a whole number from 1 to 65536");
}

TEST(ValidatorTest, BackcopyNeedsACausalModelAndOrdinaryTokens) {
  const auto error_of = [](const std::string& model, const std::string& data,
                           const std::string& training = "steps: 9") {
    return MessageOf(ResolveAndValidate(TrialFrom("{model: {" + model + "}, data: {backcopy: {" + data +
                                                  "}}, training: {" + training + "}}"))
                         .status());
  };
  const std::string gpt2 = "gpt2: {preset: tiny}";
  EXPECT_EQ(error_of(gpt2, ""), "OK");
  EXPECT_EQ(error_of("llama: {preset: tiny}", "vocab_size: 5, triggers: 2, sequence_length: 8"), "OK");
  EXPECT_EQ(error_of("bert: {preset: tiny}", ""),
            "data.backcopy: the next token is predicted, and model.bert is not causal: use model.gpt2 or "
            "model.llama");
  EXPECT_EQ(
      error_of("opt: {preset: tiny}", ""),
      "data.backcopy: its token 1 is a trigger, and model.opt pads with 1, a row that is never learned: "
      "use model.gpt2 or model.llama");
  EXPECT_EQ(error_of("vit: {preset: tiny, image_size: 28, channels: 1, classes: 10}", ""),
            "data.backcopy: model.vit reads images, and this is text: choose a model that reads text");
  EXPECT_EQ(error_of(gpt2, "vocab_size: 8, triggers: 6"),
            "data.backcopy.triggers: 6 of vocab_size 8 leave fewer than two ordinary tokens behind bos and "
            "the triggers: give at most 5");
  EXPECT_EQ(error_of(gpt2, "", "epochs: 2"),
            "training.epochs: 2 has no meaning with data.backcopy, whose training sequences never repeat: "
            "give training.steps");
  EXPECT_EQ(
      error_of("gpt2: {preset: tiny, vocab_size: 60, max_positions: 30}", ""),
      "data.backcopy.sequence_length: 32 is longer than model.gpt2.max_positions 30: shorten the "
      "sequence, or give model.gpt2.max_positions at least 32\n"
      "model.gpt2.vocab_size: 60 is less than the data's 64 tokens (data.backcopy.vocab_size): leave it "
      "out, or give at least 64");
  EXPECT_EQ(
      TrialError("data: {backcopy: {vocab_size: 2000}}"),
      "f.yaml:1:31: data.backcopy.vocab_size: 2000 is out of range: give a whole number from 4 to 1024");
  EXPECT_EQ(TrialError("data: {backcopy: {concentration: 0}}"),
            "f.yaml:1:34: data.backcopy.concentration: 0 is out of range: give a number from 0.001 to 1000");
}

TEST(ValidatorTest, TheSplitOfAVocabularysCorpusNeedsThatCorpus) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert,
                         "{data: {text: {tokenizer: {byte_pair: {corpus: kjv, corpus_validation: LAST}}}}}"),
            "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {tokenizer: {byte_pair: {corpus_validation: LAST}}}}}"),
            "data.text.tokenizer.byte_pair.corpus_validation: has no effect without byte_pair.corpus or "
            "byte_pair.path: "
            "leave it out");
  const auto of = [](const std::string& byte_pair) {
    return ErrorOfTrial(kTinyBert, "{data: {text: {tokenizer: {byte_pair: {" + byte_pair + "}}}}}");
  };
  EXPECT_EQ(of("path: /a.jsonl, field: body, corpus_validation: LAST"), "OK");
  EXPECT_EQ(of("path: /a.txt, corpus: kjv"),
            "data.text.tokenizer.byte_pair.path: and corpus are both given, and both name the text: give one "
            "of them");
  EXPECT_EQ(of("path: a.txt"),
            "data.text.tokenizer.byte_pair.path: \"a.txt\" is relative, and every worker has its own working "
            "folder: "
            "give an absolute path");
  EXPECT_EQ(of("path: /a.txt, field: body"),
            "data.text.tokenizer.byte_pair.field: \"body\" has no effect, for only records (.jsonl, .json, "
            ".csv, .tsv) "
            "have fields: leave it out, or name such a file with data.text.tokenizer.byte_pair.path");
}

TEST(ValidatorTest, AStartIsAnAbsolutePath) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{training: {start_from: {hugging_face: /models/bert}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{training: {start_from: {checkpoint: model.safetensors}}}"),
            "training.start_from.checkpoint: \"model.safetensors\" is relative, and every worker has its "
            "own working folder: give an absolute path");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{training: {start_from: {}}}"),
            "training.start_from: nothing is chosen: give one of hugging_face, checkpoint, point, trial or "
            "training");
}

TEST(ValidatorTest, NcsNeedsALengthThatTheModelHas) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {softmax: {ncs: {beta: -2.175}}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{attention: {softmax: {ncs: {beta: 0.9, length: ROW}}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {softmax: {ncs: {}}}}"),
            "attention.softmax.ncs.beta: is missing: give a number from -1000000 to 10");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {softmax: {ncs: {beta: 1.5}}}}"),
            "attention.softmax.ncs.beta: 1.5 is more than zeta 1, which would lift every probability, those "
            "of masked keys too: give at most zeta (equal to it, it is the vanilla softmax)");
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{attention: {softmax: {ncs: {beta: 0.9, length: ROW}}}}"),
      "attention.softmax.ncs.length: ROW is the number of keys that a query of a causal model sees, and "
      "model.bert sees both sides: use RUN, UNPADDED or CONFIGURED");
}

TEST(ValidatorTest, ShapesAndPositionsOfEveryArchitectureAreChecked) {
  const std::string data = ", data: {text: {corpus: kjv}}, training: {steps: 9}}";
  const auto error_of = [&data](const std::string& model) {
    return std::string(ResolveAndValidate(TrialFrom("{model: {" + model + "}" + data)).status().message());
  };
  EXPECT_EQ(error_of("gpt2: {preset: tiny, position: ROTARY}"), "");
  EXPECT_EQ(error_of("gpt2: {preset: tiny, rotary_theta: 500}"),
            "model.gpt2.rotary_theta: 500 has no effect without ROTARY positions: leave it out");
  EXPECT_EQ(error_of("llama: {preset: tiny, kv_heads: 2}"), "");
  EXPECT_EQ(
      error_of("llama: {preset: tiny, kv_heads: 3}"),
      "model.llama.kv_heads: 3 does not divide heads 4: every key head serves the same number of queries");
  EXPECT_EQ(error_of("llama: {preset: tiny, position: LEARNED}"),
            "model.llama.position: LEARNED needs a table of positions, which Llama does not have: use ROTARY "
            "or NONE, or model.gpt2");
  EXPECT_EQ(
      error_of("gpt2: {preset: tiny, hidden_size: 12, position: ROTARY}"),
      "model.gpt2.position: ROTARY turns pairs of features, and hidden_size / heads is 3, an odd number: "
      "choose heads so that it is even");
  EXPECT_EQ(
      error_of("vit: {preset: s16, patch_size: 15, position: ROTARY}"),
      "model.vit.patch_size: 15 does not divide image_size 224: an image is cut into whole patches\n"
      "model.vit.position: ROTARY counts along a line, and patches lie in a plane: use LEARNED or NONE\n"
      "data.text: model.vit reads images, and this is text: choose a model that reads text");
}

TEST(ValidatorTest, HadamardMatricesHavePowersOfTwo) {
  const auto error_of = [](int hidden_size, const std::string& fields) {
    return ErrorOfTrial(kTinyBert, "{model: {bert: {heads: 2, hidden_size: " + std::to_string(hidden_size) +
                                       "}}, training: {optimizer: {ortho_adam: {kind: HADAMARD" + fields +
                                       "}}}}");
  };
  EXPECT_EQ(error_of(128, ""), "OK");
  EXPECT_EQ(error_of(96, ", block: 32"), "OK");
  EXPECT_EQ(error_of(96, ", block: 64"), "OK");  // 64 and 32.
  EXPECT_EQ(error_of(96, ", max_size: 64"), "OK");
  EXPECT_EQ(error_of(96, ", side: OUT"), "OK");  // Other axes than hidden_size: checked with the model.
  EXPECT_EQ(error_of(96, ""),
            "training.optimizer.ortho_adam.kind: HADAMARD needs powers of two, and model.bert.hidden_size 96 "
            "is not "
            "one: use HAAR, or training.optimizer.ortho_adam.block 32");
  EXPECT_EQ(error_of(76, ", block: 64"),
            "training.optimizer.ortho_adam.kind: HADAMARD needs powers of two, and model.bert.hidden_size 76 "
            "leaves a block of 12: use HAAR, or training.optimizer.ortho_adam.block 4");
  EXPECT_EQ(
      error_of(128, ", block: 48"),
      "training.optimizer.ortho_adam.block: 48 is not a power of two, as HADAMARD needs: give 32, or use "
      "HAAR");
}

TEST(ValidatorTest, RangesAreCheckedWhereNoReaderDid) {
  v1::TrialSpec spec = TrialFrom(kTinyBert);
  spec.set_dropout(1.5);
  spec.mutable_training()->mutable_optimizer()->mutable_adamw()->set_learning_rate(
      std::numeric_limits<double>::quiet_NaN());
  spec.mutable_attention()->mutable_softmax()->mutable_clipped()->set_zeta(0.5);
  spec.mutable_attention()->mutable_softmax()->mutable_clipped()->set_gamma(0.25);
  spec.mutable_quantization()->mutable_weights()->set_bits(1);
  spec.mutable_data()->mutable_text()->set_corpus("\xff");
  EXPECT_EQ(ResolveAndValidate(spec).status().message(),
            "attention.softmax.clipped.gamma: 0.25 is out of range: give a number from -10 to 0\n"
            "attention.softmax.clipped.zeta: 0.5 is out of range: give a number from 1 to 10\n"
            "dropout: 1.5 is out of range: give a number at least 0 and below 1\n"
            "data.text.corpus: the text is not UTF-8: save it as UTF-8\n"
            "training.optimizer.adamw.learning_rate: NaN is not finite: give a number from 0 to 100\n"
            "quantization.weights.bits: 1 is out of range: give a whole number from 2 to 16\n"
            "data.text.corpus: \"\xff\" is not a corpus' name: give one such as gcide or kjv, or use "
            "data.text.path for a file");
}

TEST(ValidatorTest, SizesMustFitEachOther) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{model: {bert: {heads: 3}}}"),
            "model.bert.heads: 3 does not divide hidden_size 128: choose heads so that hidden_size / heads "
            "is whole");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{model: {opt: {max_positions: 64}}}"),
            "data.text.sequence_length: 128 is longer than model.opt.max_positions 64: shorten the sequence, "
            "or give model.opt.max_positions at least 128");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{model: {bert: {vocab_size: 1000}}}"),
            "model.bert.vocab_size: 1000 is less than the tokenizer's 2000 tokens "
            "(data.text.tokenizer.byte_pair.vocab_size): leave it out, or give at least 2000");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{training: {schedule: {warmup_steps: 2001}}}"),
            "training.schedule.warmup_steps: 2001 is more than training.steps 2000: shorten the warm-up, or "
            "train longer");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{training: {schedule: {warmup_steps: 2000}}}"), "OK");
}

TEST(ValidatorTest, ADecayMustFitTheTraining) {
  const auto error = [](const std::string& schedule) {
    return ErrorOfTrial(kTinyBert, "{training: {schedule: {" + schedule + "}}}");
  };
  EXPECT_EQ(error("wsd: {}, warmup_steps: 1600"), "OK");
  EXPECT_EQ(error("wsd: {decay_fraction: 0.7, form: COSINE}, warmup_fraction: 0.3"), "OK");
  EXPECT_EQ(error("wsd: {decay_steps: 2000}"), "OK");
  EXPECT_EQ(error("wsd: {decay_steps: 2001}"),
            "training.schedule.wsd.decay_steps: 2001 is longer than training.steps 2000: shorten the decay, "
            "or train longer");
  EXPECT_EQ(error("wsd: {}, warmup_steps: 1601"),
            "training.schedule.wsd.decay_fraction: 0.2 and the warm-up are together longer than "
            "training.steps 2000: shorten the decay or the warm-up, or train longer");
  EXPECT_EQ(error("wsd: {decay_steps: 10, decay_fraction: 0.5}"),
            "training.schedule.wsd.decay_fraction: 0.5 and decay_steps 10 exclude each other: give one of "
            "them");
  const std::string epochs =
      "{model: {bert: {preset: tiny}}, data: {classification: {path: /x.tsv}}, "
      "training: {epochs: 2, schedule: {";
  const auto of_epochs = [&epochs](const std::string& schedule) {
    return MessageOf(ResolveAndValidate(TrialFrom(epochs + schedule + "}}}")).status());
  };
  EXPECT_EQ(of_epochs("wsd: {}, warmup_fraction: 0.8"), "OK");
  EXPECT_EQ(
      of_epochs("wsd: {}, warmup_fraction: 0.9"),
      "training.schedule.wsd.decay_fraction: 0.2 and the warm-up are together longer than the training: "
      "shorten the decay or the warm-up, or train longer");
  EXPECT_EQ(of_epochs("wsd: {decay_steps: 5}"),
            "training.schedule.wsd.decay_steps: 5 updates may be more than training.epochs has, which is "
            "known once the data are read: give decay_fraction, or training.steps");
}

TEST(ValidatorTest, DataMustFitTheModel) {
  const std::string vit = "{model: {vit: {preset: tiny}}, training: {steps: 1}, data: ";
  const auto error = [](const std::string& yaml) {
    return std::string(ResolveAndValidate(TrialFrom(yaml)).status().message());
  };
  EXPECT_EQ(error(vit + "{images: {dataset: fashion-mnist}}}"), "");
  EXPECT_EQ(error("{model: {vit: {preset: s16}}, training: {steps: 1}, data: {text: {corpus: kjv}}}"),
            "data.text: model.vit reads images, and this is text: choose a model that reads text");
  const std::string bert = "{model: {bert: {preset: tiny}}, training: {epochs: 2}, data: ";
  EXPECT_EQ(error(bert + "{classification: {dataset: wordnet-classes}}}"), "");
  EXPECT_EQ(
      error(bert + "{images: {dataset: fashion-mnist}}}"),
      "model.bert.vocab_size: is missing: give a whole number from 5 to 16777216, or choose a preset\n"
      "model.bert.max_positions: is missing: give a whole number from 1 to 1048576, or choose a preset\n"
      "data.images: model.bert reads text, and these are images: use model.vit");
  EXPECT_EQ(error(bert + "{instructions: {path: /x.jsonl}}}"),
            "data.instructions: an answer is written token after token, and model.bert is not causal: use "
            "model.gpt2, model.opt or model.llama");
  const std::string gpt2 = "{model: {gpt2: {preset: tiny}}, training: {steps: 1}, data: ";
  EXPECT_EQ(error(gpt2 + "{instructions: {path: x.jsonl}}}"),
            "data.instructions.path: \"x.jsonl\" is relative, and every worker has its own working folder: "
            "give an absolute "
            "path");
  EXPECT_EQ(
      error(gpt2 + "{classification: {path: /x.tsv}}}"),
      "data.classification: sentences are classified with BERT's [CLS] token, and model.gpt2 has none: use "
      "model.bert");
  EXPECT_EQ(error("{model: {bert: {preset: tiny}}, training: {epochs: 2, schedule: {warmup_steps: 3, "
                  "warmup_fraction: 0.1}}, data: {classification: {path: /x.tsv}}, evaluation: "
                  "{sequence_length: 8}}"),
            "evaluation.sequence_length: 8 can be met by data.text only, which is cut to that length: leave "
            "it out\n"
            "training.schedule.warmup_fraction: 0.1 and warmup_steps 3 exclude each other: give one of them");
}

TEST(ValidatorTest, QuestionsNeedACausalModelOfText) {
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2, "{evaluation: {multiple_choice: {path: /q.jsonl}}}"), "OK");
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{evaluation: {multiple_choice: {path: /q.jsonl}}}"),
      "evaluation.multiple_choice: an answer is judged token after token, and model.bert is not causal: use "
      "model.gpt2, model.opt or model.llama, or leave it out");
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2,
                         "{attention: {prefix_tokens: 4}, evaluation: {multiple_choice: {path: /q.jsonl}}}"),
            "evaluation.multiple_choice: with attention.prefix_tokens 4 the first tokens see those behind "
            "them, and an answer "
            "among them before it is judged: leave one of the two out");
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2, "{evaluation: {multiple_choice: {path: q.json}}}"),
            "evaluation.multiple_choice.path: \"q.json\" is relative, and every worker has its own working "
            "folder: give an "
            "absolute path\n"
            "evaluation.multiple_choice.path: \"q.json\" is not a .jsonl file: a question is a JSON object "
            "on a line of it");
}

TEST(ValidatorTest, TokenizersMustFitTheObjectiveAndTheModel) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {tokenizer: {wordpiece: {}}}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2, "{data: {text: {tokenizer: {gpt2: {}}}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{data: {text: {tokenizer: {gpt2: {}}}}}"),
            "data.text.tokenizer.gpt2: its token 1 is a word, and model.opt pads with 1, a row that is never "
            "learned: use byte_pair, or model.gpt2, or OPT's own vocabulary by gpt2.vocab");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {tokenizer: {gpt2: {}}}}}"),
            "data.text.tokenizer: gpt2 has no [MASK], which MLM puts in the place of tokens, and no [CLS]: "
            "use wordpiece or "
            "byte_pair");
  EXPECT_EQ(
      ErrorOfTrial(kTinyOpt, "{data: {text: {tokenizer: {wordpiece: {}}}}}"),
      "data.text.tokenizer: wordpiece drops case and spaces and has no token that separates texts, which "
      "CLM needs: use gpt2 or byte_pair");
  EXPECT_EQ(ErrorOfTrial(kTinyBert,
                         "{model: {bert: {vocab_size: 30000}}, data: {text: {tokenizer: {wordpiece: {}}}}}"),
            "model.bert.vocab_size: 30000 is less than the tokenizer's 30522 tokens "
            "(data.text.tokenizer.wordpiece.vocab): leave it out, or give at least 30522");
}

TEST(ValidatorTest, AVocabularyIsANameOrAnAbsolutePath) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert,
                         "{model: {bert: {vocab_size: 900}}, data: {text: {tokenizer: {wordpiece: {vocab: "
                         "/v/vocab.txt}}}}}"),
            "OK");
  EXPECT_EQ(
      ErrorOfTrial(kTinyOpt,
                   "{model: {opt: {vocab_size: 900}}, data: {text: {tokenizer: {gpt2: {vocab: mine}}}}}"),
      "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{data: {text: {tokenizer: {gpt2: {vocab: /v}}}}}"),
            "model.opt.vocab_size: is missing: give a whole number from 5 to 16777216, or choose a preset\n"
            "data.text.tokenizer.gpt2.vocab: its number of tokens is known to the worker only: give "
            "model.opt.vocab_size");
  for (const char* vocab : {"../x", "a/b", ".x", "''"}) {
    EXPECT_EQ(
        ErrorOfTrial(kTinyBert, std::string("{model: {bert: {vocab_size: 900}}, data: {text: {tokenizer: "
                                            "{wordpiece: {vocab: ") +
                                    vocab + "}}}}}"),
        "data.text.tokenizer.wordpiece.vocab: \"" + (std::string(vocab) == "''" ? "" : std::string(vocab)) +
            "\" is neither the name of a vocabulary in the worker's data folder nor an absolute path: give "
            "one of them");
  }
}

TEST(ValidatorTest, TheEvaluationsLengthMustFitTheModel) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{evaluation: {sequence_length: 64}}"), "OK");
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{evaluation: {sequence_length: 256}, model: {bert: {max_positions: 256}}}"),
      "OK");
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{evaluation: {sequence_length: 256}}"),
      "evaluation.sequence_length: 256 is longer than model.bert.max_positions 128: shorten the sequence, "
      "or give model.bert.max_positions at least 256");
}

TEST(ValidatorTest, TheObjectiveMustFitTheModel) {
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{data: {text: {objective: CLM}}}"),
      "data.text.objective: CLM needs a causal model, and model.bert sees both sides: use MLM or model.opt");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{data: {text: {objective: MLM}}}"),
            "data.text.objective: MLM needs a model that sees both sides, and model.opt is causal: use CLM "
            "or model.bert");
}

TEST(ValidatorTest, WhatWouldHaveNoEffectIsRefused) {
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{training: {optimizer: {sgd: {nesterov: true}}}}"),
            "training.optimizer.sgd.nesterov: true has no effect without momentum: leave it out, or give "
            "training.optimizer.sgd.momentum");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{training: {optimizer: {sgd: {nesterov: true, momentum: 0.9}}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{data: {text: {mask_probability: 0.3}}}"),
            "data.text.mask_probability: 0.3 has no effect with CLM, which masks nothing: leave it out");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{data: {text: {mask_probability: 0.15}}}"), "OK")
      << "its default sets nothing";
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{evaluation: {mask_seed: 2}}"),
            "evaluation.mask_seed: 2 has no effect without MLM, which alone masks tokens: leave it "
            "out");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {field: body}}}"),
            "data.text.field: \"body\" has no effect, for only records (.jsonl, .json, .csv, .tsv) have "
            "fields: leave it "
            "out, or name such a file with data.text.path");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {path: /a.csv, field: body}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {path: /a.jsonl, field: body}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {gate: {output_factor: 4, pooled: true}}}"),
            "attention.gate.output_factor: 4 has no effect without a gate: leave it out, or choose a gate\n"
            "attention.gate.pooled: true has no effect without a gate: leave it out, or choose another gate");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {gate: {unconditional: {}, pooled: true}}}"),
            "attention.gate.pooled: true has no effect with the unconditional gate, which is the same for "
            "all tokens: leave it out, or choose another gate");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{quantization: {weights: {}, calibration: {seed: 2}}}"),
            "quantization.calibration: has no effect, for only the ranges of activations are calibrated: "
            "give quantization.activations, or leave it out");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{quantization: {weights: {}, reference: {setup: ALL}}}"),
            "quantization.reference.setup: ALL is for model.opt and model.vit; the head of BERT is never "
            "quantized: leave it out");
  EXPECT_EQ(ErrorOfTrial(kTinyOpt, "{quantization: {weights: {}, reference: {setup: ALL}}}"), "OK");
}

TEST(ValidatorTest, ProjectedGates) {
  for (const std::string place : {"CONTEXT", "VALUE", "KEY", "QUERY", "OUTPUT"}) {
    for (const std::string granularity : {"ELEMENTWISE", "HEADWISE"}) {
      const std::string gate = "gate: {projected: {place: " + place + ", granularity: " + granularity + "}}";
      EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {" + gate + "}}"), "OK") << gate;
    }
  }
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{attention: {gate: {projected: {}, output_factor: 2, initial_std: 0.01}}}"),
      "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {gate: {projected: {}, pooled: true}}}"),
            "attention.gate.pooled: true is not defined for the projected gate, whose factors are those of a "
            "token: leave it out, or choose linear, mlp or all_heads_linear");
}

TEST(ValidatorTest, ScriptsOfAttention) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {softmax: {script: {file: /a.pt, row_sum: ANY}}}}"), "OK");
  const std::string gate = "{attention: {gate: {script: {file: /a.pt}";
  EXPECT_EQ(ErrorOfTrial(kTinyBert, gate + ", output_factor: 2}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, gate + ", pooled: true}}}"),
            "attention.gate.pooled: true is not defined for a script, which gives the gates themselves: "
            "leave it out, or "
            "choose linear, mlp or all_heads_linear");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, gate + ", initial_std: 0.01}}}"),
            "attention.gate.initial_std: 0.01 has no effect on a script, whose file has the initial "
            "parameters: leave it "
            "out");
}

TEST(ValidatorTest, APrefixIsOfCausalModelsAndLeavesTargets) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {prefix_tokens: 10}}"),
            "attention.prefix_tokens: 10 relaxes the mask of a causal model, and model.bert sees both sides: "
            "leave it out");
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2, "{attention: {prefix_tokens: 10}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyGpt2, "{attention: {window: 10, document_mask: true}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {window: 10, document_mask: true}}"),
            "attention.window: is for causal models, and model.bert sees both sides: leave it out\n"
            "attention.document_mask: is for causal models, and model.bert sees both sides: leave it out");
  EXPECT_THAT(ErrorOfTrial(kTinyGpt2, "{attention: {window: 10, prefix_tokens: 2}}"),
              testing::HasSubstr("attention.window: is not defined with attention.prefix_tokens"));
  EXPECT_THAT(ErrorOfTrial(kTinyGpt2, "{attention: {document_mask: true, softmax: {sigmoid: {}}}}"),
              testing::HasSubstr("attention.document_mask: changes the number of keys"));
  EXPECT_EQ(
      ErrorOfTrial(kTinyGpt2, "{attention: {prefix_tokens: 128}}"),
      "attention.prefix_tokens: 128 leaves nothing to predict of sequences of 128 tokens: give at most 127");
  EXPECT_EQ(
      ErrorOfTrial(kTinyGpt2, "{attention: {prefix_tokens: 16}, evaluation: {sequence_length: 16}}"),
      "attention.prefix_tokens: 16 leaves nothing to predict of sequences of 16 tokens: give at most 15");
}

TEST(ValidatorTest, NormsOfQueriesAndKeys) {
  const std::string norm = "{attention: {query_key_norm: HEAD_RMS, gate: ";
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{attention: {query_key_norm: HEAD_LAYER, key_value_bias: true}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, norm + "{projected: {place: KEY}}}}"), "OK");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, norm + "{projected: {granularity: HEADWISE}, output_factor: 2}}}"), "OK");
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert,
                   norm + "{projected: {place: QUERY, granularity: HEADWISE}, output_factor: 2}}}"),
      "attention.gate.projected.granularity: HEADWISE at QUERY scales a whole head, and "
      "attention.query_key_norm divides by a head's size again: use ELEMENTWISE, another place, or NO_NORM\n"
      "attention.gate.output_factor: 2 has no effect at QUERY, behind which attention.query_key_norm divides "
      "by a head's size: leave it out");
  EXPECT_EQ(ErrorOfTrial(kTinyBert,
                         "{model: {bert: {hidden_size: 4, heads: 4}}, "
                         "attention: {query_key_norm: HEAD_RMS}}"),
            "attention.query_key_norm: HEAD_RMS is over the features of a head, and model.bert has one "
            "feature a head: give fewer model.bert.heads, or NO_NORM");
}

TEST(ValidatorTest, RegistersAreOfAVitAlone) {
  EXPECT_EQ(ErrorOfTrial(kTinyVit, "{model: {vit: {registers: 4}}}"), "OK");
  EXPECT_EQ(TrialError("model: {vit: {registers: 0}}"),
            "f.yaml:1:26: model.vit.registers: 0 is out of range: give a whole number from 1 to 1024");
}

TEST(ValidatorTest, DataMayNotDependOnWhereAWorkerStands) {
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {corpus: ../../etc/passwd}}}"),
            "data.text.corpus: \"../../etc/passwd\" is not a corpus' name: give one such as gcide or kjv, or "
            "use data.text.path for a file");
  EXPECT_EQ(
      ErrorOfTrial(kTinyBert, "{data: {text: {path: corpus.txt}}}"),
      "data.text.path: \"corpus.txt\" is relative, and every worker has its own working folder: give an "
      "absolute path");
  EXPECT_EQ(ErrorOfTrial(kTinyBert, "{data: {text: {path: /data/corpus.txt}}}"), "OK");
}

}  // namespace
}  // namespace inlier
