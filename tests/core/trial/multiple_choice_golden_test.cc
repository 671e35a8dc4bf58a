// Questions with several answers against lm-evaluation-harness itself, on small random models of two kinds with their tokenizers (group
// multiple_choice, written by tests/golden/make_multiple_choice.py).
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "core/hugging_face/weights.h"
#include "core/text/tokenizer_folder.h"
#include "core/train/multiple_choice.h"
#include "core/trial/open_questions.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

void CompareScores(GoldenReport& report, const GoldenCase& golden) {
  const std::filesystem::path group = GoldenRoot() / golden.group, folder = group / golden.name;
  const absl::StatusOr<HuggingFaceModel> opened = OpenHuggingFaceModel(folder);
  ASSERT_TRUE(opened.ok()) << opened.status();
  auto& model = dynamic_cast<LanguageModel&>(*opened->model);
  model.eval();
  const std::unique_ptr<Tokenizer> tokenizer = MakeTokenizer(ReadTokenizerFolder(folder).value()).value();
  const absl::StatusOr<std::vector<Question>> questions = OpenQuestions(
      group / golden.json["questions"].get<std::string>(), *tokenizer, model.max_positions(), {});
  ASSERT_TRUE(questions.ok()) << questions.status();
  const auto& expected = golden.json["scores"];
  ASSERT_EQ(questions->size(), expected.size());
  const double allowed = golden.json["tolerances"]["score_relative"];
  TrialSink sink;
  for (const std::int64_t batch_size : {1, 32}) {
    GoldenComparison compare(report, golden, at::kFloat);
    const auto scores = ScoreChoices(model, *questions, batch_size, at::kCPU, nullptr, sink, nullptr);
    ASSERT_TRUE(scores.ok()) << scores.status();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ((*scores)[i].size(), expected[i].size());
      for (std::size_t k = 0; k < expected[i].size(); ++k) {
        const double score = expected[i][k];
        compare.Number("score " + std::to_string(i) + "." + std::to_string(k), (*scores)[i][k], score,
                       {.absolute = allowed * std::abs(score)});
      }
    }
    const std::vector<GroupScores> groups = ScoreGroups(*questions, *scores);
    EXPECT_EQ(groups.size(), golden.json["tasks"].size());
    for (const GroupScores& group : groups) {
      const auto& of_task = golden.json["tasks"].at(group.group);
      EXPECT_EQ(group.accuracy, of_task["acc"].get<double>()) << group.group;
      EXPECT_EQ(group.accuracy_norm, of_task["acc_norm"].get<double>()) << group.group;
      EXPECT_NEAR(*group.accuracy_stderr, of_task["acc_stderr"].get<double>(), 1e-12) << group.group;
      EXPECT_NEAR(*group.accuracy_norm_stderr, of_task["acc_norm_stderr"].get<double>(), 1e-12)
          << group.group;
    }
  }
}

TEST(MultipleChoiceGoldenTest, ScoresAreThoseOfLmEvaluationHarness) {
  at::set_num_threads(1);
  GoldenReport report("multiple_choice");
  for (const GoldenCase& golden : FindGoldenCases("multiple_choice")) {
    if (!report.Accepts(golden,
                        FileIsUsed(golden, {"lm_eval", "transformers", "questions", "scores", "tasks"})))
      continue;
    CompareScores(report, golden);
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
