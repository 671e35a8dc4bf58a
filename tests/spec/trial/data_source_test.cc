#include "spec/trial/data_source.h"

#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"
#include "spec/trial/resolver.h"

namespace inlier {
namespace {

v1::TrialSpec Spec(const std::string& data, const std::string& training = "steps: 10") {
  v1::TrialSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "model { bert { preset: \"tiny\" } } data { " + data + " } training { " + training + " }", &spec));
  EXPECT_TRUE(ResolveInPlace(&spec).ok());
  return spec;
}

TEST(DataSourceTest, OnlyFieldsThatNameFilesCount) {
  const std::string names = DataSourceNames(Spec("text { path: \"/a.txt\" }"));
  EXPECT_EQ(names, R"({"data":{"text":{"path":"/a.txt"}}})");
  EXPECT_EQ(DataSourceNames(Spec("text { path: \"/a.txt\" sequence_length: 64 validation_fraction: 0.5 }",
                                 "steps: 20 batch_size: 3")),
            names);
  EXPECT_NE(DataSourceNames(Spec("text { path: \"/b.txt\" }")), names);
  EXPECT_NE(DataSourceNames(Spec("text { corpus: \"/a.txt\" }")), names);
}

TEST(DataSourceTest, VocabulariesAndTheModelToStartFromCount) {
  const std::string plain = DataSourceNames(Spec("text { corpus: \"kjv\" }"));
  EXPECT_NE(DataSourceNames(Spec("text { corpus: \"kjv\" tokenizer { wordpiece { } } }")), plain);
  EXPECT_NE(DataSourceNames(Spec("text { corpus: \"kjv\" tokenizer { byte_pair { corpus: \"gcide\" } } }")),
            plain);
  EXPECT_EQ(DataSourceNames(Spec("text { corpus: \"kjv\" tokenizer { byte_pair { vocab_size: 900 } } }")),
            plain);
  const std::string started = DataSourceNames(
      Spec("text { corpus: \"kjv\" }", "steps: 1 start_from { checkpoint: \"/m.safetensors\" }"));
  EXPECT_NE(started, plain);
  EXPECT_EQ(DataSourceText(started), "data.text.corpus kjv, training.start_from.checkpoint /m.safetensors");
  // A training of the coordinator names no file: its fingerprint names its model.
  EXPECT_EQ(DataSourceNames(Spec("text { corpus: \"kjv\" }", "steps: 1 start_from { training: \"ab\" }")),
            plain);
}

TEST(DataSourceTest, FilesOfTheEvaluationAreNotTheTrainings) {
  v1::TrialSpec spec = Spec("text { corpus: \"kjv\" }");
  const std::string plain = DataSourceNames(spec);
  spec.mutable_evaluation()->mutable_multiple_choice()->set_path("/q.jsonl");
  EXPECT_EQ(DataSourceText(DataSourceNames(spec)),
            "data.text.corpus kjv, evaluation.multiple_choice.path /q.jsonl");
  EXPECT_EQ(DataSourceNames(TrainingSourceOf(spec)), plain);
}

TEST(DataSourceTest, PeopleSeeDefaultsToo) {
  EXPECT_EQ(
      DataSourceText(DataSourceNames(Spec("classification { path: \"/rows\" tokenizer { wordpiece { } } }"))),
      "data.classification.path /rows, data.classification.tokenizer.wordpiece.vocab bert-base-uncased, "
      "data.classification.train_file train.tsv, data.classification.validation_file dev.tsv");
}

TEST(DataSourceTest, AProgramIsNamedAsPeopleNameIt) {
  EXPECT_EQ(DataSourceText(R"({"program":{"name":"mygpt"}})"), "program mygpt");
}

}  // namespace
}  // namespace inlier
