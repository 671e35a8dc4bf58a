#include "spec/schema/yaml_reader.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "inlier/v1/config.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/yaml_document.h"
#include "tests/spec/spec_text.h"

namespace inlier {
namespace {

std::string SweepError(const std::string& yaml) {
  v1::SweepSpec sweep;
  return MessageOf(ReadYamlText(yaml, "s.yaml", &sweep));
}

TEST(YamlReaderTest, ReadsEveryKindOfLeafAndGroup) {
  const v1::TrialSpec spec = TrialFrom(
      "seed: 7\n"
      "model: {bert: {preset: 6-layer, activation: GELU_TANH, norm_epsilon: 1e-12}}\n"
      "attention:\n"
      "  softmax: {clipped: {gamma: -0.03}}\n"
      "  gate: {linear: {}, pooled: true}\n"
      "training: {steps: 1e4}\n");
  EXPECT_EQ(spec.ShortDebugString(),
            "seed: 7 model { bert { preset: \"6-layer\" norm_epsilon: 1e-12 activation: GELU_TANH } } "
            "attention { softmax { clipped { gamma: -0.03 } } gate { linear { } pooled: true } } training { "
            "steps: 10000 }");
}

TEST(YamlReaderTest, KeysMayBePathsInDots) {
  const v1::TrialSpec spec = TrialFrom(
      "attention.softmax.clipped.gamma: -0.03\nattention: {dropout: 0.1}\nattention.gate.linear: {}\n");
  EXPECT_EQ(spec.attention().softmax().clipped().gamma(), -0.03);
  EXPECT_EQ(spec.attention().dropout(), 0.1);
  EXPECT_TRUE(spec.attention().gate().has_linear());
}

TEST(YamlReaderTest, AliasesStandForWhatTheyName) {
  const v1::TrialSpec spec = TrialFrom("quantization:\n  weights: {bits: &b 4}\n  activations: {bits: *b}\n");
  EXPECT_EQ(spec.quantization().activations().bits(), 4u);
}

TEST(YamlReaderTest, TextFieldsTakeWhatIsWritten) {
  EXPECT_EQ(TrialFrom("data: {text: {corpus: 1984}}").data().text().corpus(), "1984");
  EXPECT_EQ(TrialFrom("data: {text: {corpus: 'true'}}").data().text().corpus(), "true");
  EXPECT_EQ(TrialFrom("data: {text: {corpus: no}}").data().text().corpus(), "no");
}

TEST(YamlReaderTest, UnknownKeysAreToldWithTheNearestKnownOne) {
  EXPECT_EQ(TrialError("trainin: {steps: 5}"),
            "f.yaml:1:1: trainin: unknown field; did you mean \"training\"?");
  EXPECT_EQ(TrialError("training:\n  stepz: 5"),
            "f.yaml:2:3: training.stepz: unknown field; did you mean \"steps\"?");
  EXPECT_EQ(TrialError("attention: {softmax: {clip: {gamma: 0}}}"),
            "f.yaml:1:23: attention.softmax.clip: unknown field; did you mean \"clipped\"?");
  EXPECT_EQ(TrialError("gamma: -0.03"),
            "f.yaml:1:1: gamma: unknown field; did you mean \"attention.softmax.clipped.gamma\"?");
  EXPECT_EQ(TrialError("bits: 8"),
            "f.yaml:1:1: bits: unknown field; did you mean one of \"quantization.weights.bits\", "
            "\"quantization.activations.bits\", \"quantization.kv_cache.bits\"?");
  EXPECT_EQ(TrialError("seed.x: 8"),
            "f.yaml:1:1: seed.x: unknown field; seed is a value and has no fields below it");
  EXPECT_EQ(TrialError("training..steps: 8"),
            "f.yaml:1:1: training..steps: is not a path; write names with single dots between them, such as "
            "training.steps");
}

TEST(YamlReaderTest, DoubledKeysAreRefused) {
  EXPECT_EQ(TrialError("seed: 1\nseed: 2"), "f.yaml:2:1: seed: is given twice (first on line 1): remove one");
  EXPECT_EQ(TrialError("training: {steps: 1}\ntraining: {batch_size: 2}"),
            "f.yaml:2:1: training: is given twice (first on line 1): remove one");
  EXPECT_EQ(TrialError("training: {steps: 1}\ntraining.steps: 2"),
            "f.yaml:2:1: training.steps: is given twice (first on line 1): remove one");
}

TEST(YamlReaderTest, BothMembersOfAChoiceAreRefused) {
  EXPECT_EQ(TrialError("attention:\n  softmax:\n    clipped:\n      gamma: -0.1\n      alpha: 2\n"),
            "f.yaml:5:7: attention.softmax.clipped.alpha: gamma is given on line 4 and the two exclude each "
            "other: give one of them");
  EXPECT_EQ(
      TrialError("model.bert.preset: tiny\nmodel: {opt: {preset: tiny}}"),
      "f.yaml:2:9: model.opt: bert is given on line 1 and the two exclude each other: give one of them");
}

TEST(YamlReaderTest, WrongTypesAreToldWithTheRemedy) {
  EXPECT_EQ(TrialError("seed: many"),
            "f.yaml:1:7: seed: \"many\" is not a number; write a number such as 3, 0.03 or 3e-4");
  EXPECT_EQ(TrialError("seed: 08"),
            "f.yaml:1:7: seed: \"08\" is not a number; numbers have no leading zeros, write 8");
  EXPECT_EQ(TrialError("seed: 1.5"), "f.yaml:1:7: seed: 1.5 is not a whole number; write one such as 2");
  EXPECT_EQ(TrialError("seed: -1"),
            "f.yaml:1:7: seed: -1 is out of range: give a whole number from 0 to 4294967295");
  EXPECT_EQ(TrialError("seed: 4294967296"),
            "f.yaml:1:7: seed: 4294967296 is out of range: give a whole number from 0 to 4294967295");
  EXPECT_EQ(TrialError("seed: '1'"), "f.yaml:1:7: seed: \"1\" is a text; write it without quotes");
  EXPECT_EQ(TrialError("seed: true"),
            "f.yaml:1:7: seed: \"true\" is not a number; write a number such as 3, 0.03 or 3e-4");
  EXPECT_EQ(TrialError("seed: [1, 2]"),
            "f.yaml:1:7: seed: is a list where one value is meant; give the value alone (several values make "
            "an axis)");
  EXPECT_EQ(TrialError("seed: {a: 1}"),
            "f.yaml:1:7: seed: is a mapping where one value is meant; give the value alone");
  EXPECT_EQ(TrialError("seed:\ndropout: 0"),
            "f.yaml:1:1: seed: has no value; leave it out to keep the default, or give one");
  EXPECT_EQ(TrialError("data: {text: {corpus: }}"),
            "f.yaml:1:15: data.text.corpus: has no value; leave it out to keep the default, or give one");
  EXPECT_EQ(
      TrialError("attention: {gate: {pooled: yes}}"),
      "f.yaml:1:28: attention.gate.pooled: \"yes\" is neither true nor false; write one of these words");
  EXPECT_EQ(
      TrialError("training: {precision: bfloat16}"),
      "f.yaml:1:23: training.precision: \"bfloat16\" is not one of its values; did you mean \"BFLOAT16\"?");
  EXPECT_EQ(TrialError("training: {precision: FP8}"),
            "f.yaml:1:23: training.precision: \"FP8\" is not one of its values; known: FLOAT32, BFLOAT16");
  EXPECT_EQ(TrialError("dropout: .nan"),
            "f.yaml:1:10: dropout: \".nan\" is not a number; only finite numbers are allowed");
}

TEST(YamlReaderTest, GroupsWantMappings) {
  EXPECT_EQ(TrialError("attention: {softmax: vanilla}"),
            "f.yaml:1:22: attention.softmax: \"vanilla\" must be a mapping; write {vanilla: {}}");
  EXPECT_EQ(TrialError("attention: {softmax: {vanilla: }}"),
            "f.yaml:1:32: attention.softmax.vanilla: has no value; write a mapping: {}");
  EXPECT_EQ(
      TrialError("training: 5"),
      "f.yaml:1:11: training: \"5\" is a single value; write a mapping with fields such as steps, epochs, "
      "batch_size, gradient_accumulation, ..., "
      "or {} to take it as it is");
  EXPECT_EQ(TrialError("- seed: 1"),
            "f.yaml:1:1: is a list; write a mapping with fields such as revision, seed, model, attention, "
            "..., or {} to take it as it is");
}

TEST(YamlReaderTest, RangesAreToldAtTheValue) {
  EXPECT_EQ(TrialError("attention: {softmax: {clipped: {gamma: 0.5}}}"),
            "f.yaml:1:40: attention.softmax.clipped.gamma: 0.5 is out of range: give a number from -10 to 0");
  EXPECT_EQ(
      TrialError("attention: {gate: {linear: {pi_init: 1}}}"),
      "f.yaml:1:38: attention.gate.linear.pi_init: 1 is out of range: give a number above 0 and below 1");
  EXPECT_EQ(TrialError("dropout: 1"),
            "f.yaml:1:10: dropout: 1 is out of range: give a number at least 0 and below 1");
  EXPECT_EQ(TrialError("quantization: {weights: {bits: 32}}"),
            "f.yaml:1:32: quantization.weights.bits: 32 is out of range: give a whole number from 2 to 16");
}

TEST(YamlReaderTest, SeveralMistakesAreToldAtOnceUpToTwenty) {
  EXPECT_EQ(TrialError("seed: x\nsteps: 1\ndropout: 2\n"),
            "f.yaml:1:7: seed: \"x\" is not a number; write a number such as 3, 0.03 or 3e-4\n"
            "f.yaml:2:1: steps: unknown field; did you mean one of \"training.steps\", "
            "\"quantization.rotation.learned.steps\"?\n"
            "f.yaml:3:10: dropout: 2 is out of range: give a number at least 0 and below 1");
  std::string many;
  for (int i = 0; i < 25; ++i) many += "zzzzzzzz" + std::to_string(i) + ": 1\n";
  const std::string error = TrialError(many);
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 20);
  EXPECT_THAT(error, ::testing::EndsWith("\nf.yaml: ... and 5 more"));
}

TEST(YamlReaderTest, WhatIsNotOneYamlDocumentIsToldWithItsPlace) {
  EXPECT_EQ(TrialError(""), "f.yaml:1:1: the document is empty; write at least one `field: value`");
  EXPECT_EQ(TrialError("# only a comment\n"),
            "f.yaml:1:1: the document is empty; write at least one `field: value`");
  EXPECT_EQ(TrialError("---\nseed: 1\n---\nseed: 2\n"),
            "f.yaml:3:1: a second document begins here; one file holds one document, remove the line `---` "
            "and what follows");
  EXPECT_EQ(TrialError("training:\n\tsteps: 5"), "f.yaml:2:1: a tab cannot indent YAML; use spaces");
  EXPECT_EQ(TrialError("seed: [1, 2"),
            "f.yaml:1:1: this is not YAML: end of sequence flow not found; look at the indentation, quotes, "
            "brackets and colons near here");
  EXPECT_EQ(TrialError("seed: \"abc"),
            "f.yaml:1:11: this is not YAML: illegal EOF in scalar; look at the indentation, quotes, brackets "
            "and colons near here");
  EXPECT_EQ(TrialError("seed: 1\nname: \xff\n"), "f.yaml:2:7: the text is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(TrialError(std::string("seed: 1\n\0", 9)),
            "f.yaml:2:1: a control character (byte 0) is not allowed in YAML; remove it");
  EXPECT_EQ(TrialError("seed: 1\n\x04unread"),
            "f.yaml:2:1: a control character (byte 4) is not allowed in YAML; remove it")
      << "yaml-cpp takes this byte for the end of the text";
  EXPECT_EQ(TrialError("seed: !!int 5"),
            "f.yaml:1:7: the tag tag:yaml.org,2002:int has no meaning here; remove it");
  EXPECT_EQ(TrialError("[a, b]: 5"),
            "f.yaml:1:1: a list or mapping cannot be a key; write a word, or close the bracket");
  EXPECT_EQ(TrialError("seed: *nowhere"),
            "f.yaml:1:7: this is not YAML: the referenced anchor is not defined; look at the indentation, "
            "quotes, brackets and colons near here");
  EXPECT_EQ(TrialError("a: &x {b: *x}"),
            "f.yaml:1:11: the alias is inside the value that it names; write the value out");
}

TEST(YamlReaderTest, MergeKeysAddWhatTheMappingLacks) {
  const v1::TrialSpec spec = TrialFrom(
      "quantization:\n"
      "  weights: &w {bits: 4, symmetric: true}\n"
      "  activations: {bits: 8, <<: *w}\n"
      "training: &t {steps: 10, optimizer: {adamw: {learning_rate: 1e-3}}}\n");
  EXPECT_EQ(spec.quantization().activations().bits(), 8u);
  EXPECT_TRUE(spec.quantization().activations().symmetric());
  const YamlDocument list =
      ParseYaml("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2, <<: *a}\nc: {<<: [*b, *a], z: 3}\n");
  ASSERT_NE(list.root, nullptr) << list.error;
  std::string merged;
  for (const YamlNode::Entry& entry : list.root->entries[2].value->entries)
    merged += entry.key + "=" + entry.value->text + " ";
  EXPECT_EQ(merged, "z=3 y=2 x=1 ");
  EXPECT_EQ(ParseYaml("{'<<': 1}").root->entries[0].key, "<<") << "in quotes it is a word";
  const char* const kNoMapping = "<< merges mappings; give an alias of one, <<: *base, or a list of them";
  for (const char* wrong : {"{<<: 5}", "{<<: [5]}", "{<<: []}", "{<<: }", "{<<: null}"})
    EXPECT_EQ(ParseYaml(wrong).error, kNoMapping) << wrong;
  EXPECT_EQ(ParseYaml("a: &a {x: 1}\nb: {<<: *a, <<: *a}").error,
            "<< is given twice in one mapping; write a list: <<: [*a, *b]");
  EXPECT_EQ(TrialError("training: &t {stepz: 1}\nattention: {<<: *t}"),
            "f.yaml:1:15: training.stepz: unknown field; did you mean \"steps\"?\n"
            "f.yaml:1:15: attention.stepz: unknown field; known: softmax, gate, dropout, "
            "query_key_norm, key_value_bias, prefix_tokens, window, document_mask")
      << "the place is where it is written";
}

TEST(YamlReaderTest, NullIsAsAKeyThatIsNotThere) {
  EXPECT_EQ(
      TrialFrom("{seed: null, attention: {gate: ~, dropout: Null}, quantization: NULL}").ShortDebugString(),
      "attention { }");
  EXPECT_EQ(TrialFrom("data: {text: {corpus: 'null'}}").data().text().corpus(), "null");
  EXPECT_EQ(TrialError("seed:   # null\n"),
            "f.yaml:1:1: seed: has no value; leave it out to keep the default, or give one");
  EXPECT_EQ(SweepError("axes: null"), "s.yaml:1:7: axes: has no value; write a list: [...]");
  EXPECT_EQ(SweepError("tied: null"), "s.yaml:1:7: tied: is not a mapping; write {name: value}");
}

TEST(YamlReaderTest, NullStaysInASetAndInTheValuesOfAnAxis) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(ReadYamlText("axes:\n"
                           "  - {field: dropout, values: [0.1, null]}\n"
                           "  - {name: g, variants: [{label: a, set: {attention: {gate: null}, seed: 1}}]}\n"
                           "table: {where: {dropout: [null, 0.1]}}\n",
                           "s.yaml", &sweep)
                  .ok());
  EXPECT_EQ(sweep.axes(0).values(1).kind_case(), google::protobuf::Value::kNullValue);
  const auto& set = sweep.axes(1).variants(0).set().fields();
  EXPECT_EQ(set.at("attention").struct_value().fields().at("gate").kind_case(),
            google::protobuf::Value::kNullValue);
  EXPECT_EQ(sweep.table().where().at("dropout").list_value().values(0).string_value(), "null");
  EXPECT_EQ(
      SweepError("axes: [{field: seed, values: [1, ]}, {name: g, variants: [{label: a, set: "
                 "{attention.gate: null, attention: {gate: {pooled: true}}}}]}]"),
      "s.yaml:1:92: axes[1].variants[0].set.attention.gate: is null, and another key here sets it; keep "
      "one of them");
}

TEST(YamlReaderTest, PathsAreExpandedWhereAnEnvironmentIsGiven) {
  const Environment environment = [](const char* name) -> const char* {
    return std::string(name) == "HOME" ? "/home/u" : std::string(name) == "DATA" ? "/data" : nullptr;
  };
  const auto read = [&](const std::string& yaml) -> std::string {
    v1::TrialSpec spec;
    const absl::Status status =
        ReadYamlDocument(ParseYaml(yaml), "f.yaml", &spec, nullptr, nullptr, environment);
    return status.ok() ? spec.data().ShortDebugString() : std::string(status.message());
  };
  EXPECT_EQ(read("data: {text: {path: ~/a~b.txt}}"), "text { path: \"/home/u/a~b.txt\" }");
  EXPECT_EQ(read("data: {text: {path: '${DATA}/x/${DATA}'}}"), "text { path: \"/data/x//data\" }");
  EXPECT_EQ(read("data: {text: {path: $HOME/x}}"), "text { path: \"$HOME/x\" }");
  EXPECT_EQ(read("data: {text: {corpus: ~x, field: '${DATA}'}}"),
            "text { corpus: \"~x\" field: \"${DATA}\" }")
      << "no paths";
  EXPECT_EQ(read("data: {text: {path: '${TEXTS}/x'}}"),
            "f.yaml:1:21: data.text.path: the environment variable TEXTS is not set; set it, or write the "
            "path out");
  EXPECT_EQ(
      read("data: {text: {path: '/a/${DATA'}}"),
      "f.yaml:1:21: data.text.path: \"/a/${DATA\" has a \"${\" without the name of a variable and \"}\"; "
      "write ${NAME}");
  EXPECT_EQ(TrialFrom("data: {text: {path: '~/x'}}").data().text().path(), "~/x") << "by no environment";
}

TEST(YamlReaderTest, TagsOfYamlsOwnTypesAreTakenWhereAsked) {
  const YamlDocument document = ParseYaml("{a: !!float 1e-5, b: !!str 3, c: !!map {}}", YamlTags::kStandard);
  ASSERT_NE(document.root, nullptr) << document.error;
  EXPECT_EQ(document.root->entries[0].value->text, "1e-5");
  EXPECT_FALSE(document.root->entries[0].value->quoted);
  EXPECT_TRUE(document.root->entries[1].value->quoted);
  EXPECT_EQ(ParseYaml("a: !mine 3", YamlTags::kStandard).error,
            "the tag !mine has no meaning here; remove it");
}

TEST(YamlReaderTest, ColumnsCountCharactersNotBytes) {
  EXPECT_EQ(TrialError("{dropout: 0, \"größe\": 1, seed: x}"),
            "f.yaml:1:14: größe: unknown field; known: revision, seed, model, attention, norm, dropout, "
            "data, training, quantization, evaluation, dyt_alpha, norm_gate, embedding_projection, "
            "residual_gain\n"
            "f.yaml:1:32: seed: \"x\" is not a number; write a number such as 3, 0.03 or 3e-4");
}

TEST(YamlReaderTest, DepthAndAliasBombsAreBounded) {
  std::string deep = "a: ";
  deep += std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(TrialError(deep),
            "f.yaml:1:103: nested deeper than 100 levels; specs are shallow, look for a bracket that is not "
            "closed");
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j == 0 ? "" : ", ") + last;
    bomb += "]\n";
  }
  EXPECT_EQ(TrialError(bomb),
            "f.yaml:6:55: more than 1000000 values (aliases counted at each use); make the "
            "document smaller");
  const std::string text_bomb = "a: &a \"" + std::string(100'000, 'x') + "\"\nb: [" + [] {
    std::string list;
    for (int i = 0; i < 1000; ++i) list += "*a,";
    return list;
  }() + "]\n";
  EXPECT_THAT(TrialError(text_bomb), ::testing::HasSubstr("more than 1000000 values"));
  EXPECT_EQ(TrialError(std::string(201, 'k') + ": 1"),
            "f.yaml:1:1: a key has more than 200 characters; is a quote or a colon missing?");
  EXPECT_EQ(TrialError(std::string((8u << 20) + 1, ' ')),
            "f.yaml:1:1: the document has more than 8 MiB; make it smaller");
}

TEST(YamlReaderTest, ValuesOfAnAxisAreReadAsTheirField) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(ReadYamlText("axes:\n"
                           "- {values: [0, -0.03], field: attention.softmax.clipped.gamma}\n"
                           "- {field: data.text.corpus, values: [kjv, 1984]}\n"
                           "- {field: training.precision, values: [FLOAT32]}\n"
                           "- {zip: [training.steps, attention.gate.pooled], values: [[1e3, true]]}\n",
                           "s.yaml", &sweep)
                  .ok());
  EXPECT_EQ(sweep.axes(0).values(1).number_value(), -0.03);
  EXPECT_EQ(sweep.axes(1).values(1).string_value(), "1984");
  EXPECT_EQ(sweep.axes(2).values(0).string_value(), "FLOAT32");
  EXPECT_EQ(sweep.axes(3).values(0).list_value().values(0).number_value(), 1000);
  EXPECT_TRUE(sweep.axes(3).values(0).list_value().values(1).bool_value());
}

TEST(YamlReaderTest, MistakesInAnAxisAreToldAtTheirValue) {
  EXPECT_EQ(SweepError("axes:\n"
                       "- field: seed\n"
                       "  values: [1, x, -2]\n"
                       "- {zip: [training.steps, dropout], values: [[10, 0.1], [10, 1.5]]}\n"),
            "s.yaml:3:15: axes[0].values[1]: \"x\" is not a number; write a number such as 3, 0.03 or 3e-4\n"
            "s.yaml:3:18: axes[0].values[2]: -2 is out of range: give a whole number from 0 to 4294967295\n"
            "s.yaml:4:61: axes[1].values[1][1]: 1.5 is out of range: give a number at least 0 and below 1");
  EXPECT_EQ(SweepError("axes:\n- {field: seed, values: 3}\n"),
            "s.yaml:2:25: axes[0].values: is not a list; write a list: [...]");
  EXPECT_EQ(SweepError("axes: {field: seed}\n"), "s.yaml:1:7: axes: is not a list; write a list: [...]");
}

TEST(YamlReaderTest, MistakesInAVariantAreToldAtTheirLine) {
  EXPECT_EQ(SweepError("axes:\n"
                       "- name: method\n"
                       "  variants:\n"
                       "  - label: clipped\n"
                       "    set:\n"
                       "      attention:\n"
                       "        softmax: {clipped: {gama: -0.03}}\n"
                       "  - {label: gated, set: {attention.gate.linear.pi_init: 2}}\n"),
            "s.yaml:7:29: axes[0].variants[0].set.attention.softmax.clipped.gama: unknown field; did you "
            "mean \"gamma\"?\n"
            "s.yaml:8:57: axes[0].variants[1].set.attention.gate.linear.pi_init: 2 is out of range: give a "
            "number above 0 and below 1");
}

TEST(YamlReaderTest, AVariantsSetIsKeptWithoutPathsInDots) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(ReadYamlText("axes: [{name: m, variants: [{label: a, set: {attention.gate.linear: {}, "
                           "training.precision: BFLOAT16}}]}]",
                           "s.yaml", &sweep)
                  .ok());
  const auto& set = sweep.axes(0).variants(0).set().fields();
  EXPECT_EQ(set.size(), 2u);
  EXPECT_EQ(set.at("attention")
                .struct_value()
                .fields()
                .at("gate")
                .struct_value()
                .fields()
                .at("linear")
                .struct_value()
                .fields_size(),
            0);
  EXPECT_EQ(set.at("training").struct_value().fields().at("precision").string_value(), "BFLOAT16");
}

TEST(YamlReaderTest, ExclusionsHaveAShortAndALongForm) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(
      ReadYamlText("exclude: [{method: gated, seed: [1, 2]}, {match: {method: vanilla}}]", "s.yaml", &sweep)
          .ok());
  EXPECT_EQ(sweep.exclude(0).match().at("method").string_value(), "gated");
  EXPECT_EQ(sweep.exclude(0).match().at("seed").list_value().values(1).number_value(), 2);
  EXPECT_EQ(sweep.exclude(1).match().at("method").string_value(), "vanilla");
  EXPECT_EQ(SweepError("exclude: [{seed: 1, seed: 2}]"),
            "s.yaml:1:21: exclude[0].seed: is given twice: remove one");
}

// A number that is written in another way than its own may be a label: it keeps its spelling.
TEST(YamlReaderTest, ValuesWithoutATypeKeepTheirKind) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(
      ReadYamlText(
          "table: {where: {a: 1e-3, b: 2, c: '2', d: true, e: yes, f: 08, g: [1, x], h: 0.001, i: 2.0}}",
          "s.yaml", &sweep)
          .ok());
  const auto& where = sweep.table().where();
  EXPECT_EQ(where.at("a").string_value(), "1e-3");
  EXPECT_EQ(where.at("h").number_value(), 0.001);
  EXPECT_EQ(where.at("i").string_value(), "2.0");
  EXPECT_EQ(where.at("b").number_value(), 2);
  EXPECT_EQ(where.at("c").string_value(), "2");
  EXPECT_TRUE(where.at("d").bool_value());
  EXPECT_EQ(where.at("e").string_value(), "yes");
  EXPECT_EQ(where.at("f").string_value(), "08");
  EXPECT_EQ(where.at("g").list_value().values(1).string_value(), "x");
  EXPECT_EQ(SweepError("table: {where: {a: }}"), "s.yaml:1:20: table.where.a: has no value; give one");
}

TEST(YamlReaderTest, ConfigurationsAreReadTheSameWay) {
  const auto config = ReadYaml<v1::CoordinatorConfig>("{state_dir: /tmp/x, lease_ttl_ms: 1000}", "c.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->lease_ttl_ms(), 1000u);
  EXPECT_EQ(config->listen(), "127.0.0.1:7420");
  EXPECT_EQ(ReadYaml<v1::CoordinatorConfig>("lease_ttl_ms: 10", "c.yaml").status().message(),
            "c.yaml:1:15: lease_ttl_ms: 10 is out of range: give a whole number from 200 to 3600000");
}

TEST(YamlReaderTest, FilesThatCannotBeReadAreToldByName) {
  const std::string folder = ::testing::TempDir();
  v1::TrialSpec spec;
  const absl::Status missing = ReadYamlFile(folder + "/no_such_file.yaml", &spec);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), folder + "/no_such_file.yaml: there is no such file; check the path");
  EXPECT_EQ(ReadYamlFile(folder, &spec).message(), folder + ": is a folder; name a file in it");
  const std::string file = folder + "/inlier_reader_test.yaml";
  std::ofstream(file) << "seed: 3\n";
  EXPECT_TRUE(ReadYamlFile(file, &spec).ok());
  EXPECT_EQ(spec.seed(), 3u);
  std::ofstream(file, std::ios::trunc).close();
  EXPECT_EQ(ReadYamlFile(file, &spec).message(),
            file + ":1:1: the document is empty; write at least one `field: value`");
}

TEST(SourceMapTest, LocatesTheNearestThingAbove) {
  SourceMap map;
  map.Record("a.b[2]", {7, 3});
  map.Record("a", {1, 2});
  EXPECT_EQ(map.Locate("a.b[2].c.d").line, 7);
  EXPECT_EQ(map.Locate("a.b[1]").column, 2);
  EXPECT_EQ(map.Locate("elsewhere").line, 1);
}

}  // namespace
}  // namespace inlier
