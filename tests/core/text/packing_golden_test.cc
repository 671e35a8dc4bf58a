// Packing and masking against the reference's own functions, exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/text/masking.h"
#include "core/text/packing.h"
#include "nlohmann/json.hpp"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"
#include "tests/core/text/pack_texts.h"
#include "torch/types.h"

namespace inlier {
namespace {

std::vector<int64_t> Values(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(torch::kInt64).contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

std::vector<uint8_t> Flags(const at::Tensor& tensor) {
  const std::vector<int64_t> values = Values(tensor);
  return {values.begin(), values.end()};
}

// A ragged list is stored as <key>/values and <key>/lengths.
std::vector<std::vector<int64_t>> Ragged(const TensorMap& tensors, const std::string& key) {
  const std::vector<int64_t> values = Values(tensors.at(key + "/values"));
  std::vector<std::vector<int64_t>> lists;
  auto next = values.begin();
  for (const int64_t length : Values(tensors.at(key + "/lengths"))) {
    lists.emplace_back(next, next + length);
    next += length;
  }
  EXPECT_EQ(next, values.end()) << key;
  return lists;
}

// The cases of the group with the key `key`; a file that no test here reads fails.
std::vector<GoldenCase> CasesWith(const std::string& key) {
  std::vector<GoldenCase> cases;
  for (GoldenCase& golden : FindGoldenCases("packing")) {
    CaseSettings file(golden, "");
    file.DescribesTheFile();
    file.Describes({"mask_token_id", "n_selected", "n_mask"});
    file.Describes({"vocab_size", "mlm_probability"});  // Of the recorded draws.
    if (file.AllUsed() && golden.json.contains(key)) cases.push_back(std::move(golden));
  }
  // Another folder need not have them.
  EXPECT_TRUE(!cases.empty() || std::getenv("INLIER_GOLDEN_DIR") != nullptr) << "no case with " << key;
  return cases;
}

// One entry of `expected` of a case with texts.
struct Packing {
  std::string name;
  bool bert;  // Else OPT.
  std::int64_t length, texts_per_group;
  std::vector<std::vector<int64_t>> texts, sequences;
};

std::vector<Packing> PackingsOf(const GoldenCase& golden) {
  std::vector<Packing> packings;
  for (const auto& [name, expected] : golden.json["expected"].items()) {
    CaseSettings settings(golden, "expected." + name, expected);
    Packing packing = {.name = name,
                       .bert = name.starts_with("bert/"),
                       .length = settings.At("chunk_length"),
                       .texts_per_group = settings.At("texts_per_group"),
                       .texts = Ragged(golden.tensors, "input/" + name + "/texts"),
                       .sequences = Ragged(golden.tensors, "out/" + name + "/chunks")};
    EXPECT_EQ(packing.texts.size(), settings.At("n_texts").get<std::size_t>()) << name;
    EXPECT_EQ(packing.sequences.size(), settings.At("n_chunks").get<std::size_t>()) << name;
    settings.Describes({"chunk_lengths"});  // Of the sequences, which are compared.
    if (settings.AllUsed()) packings.push_back(std::move(packing));
  }
  return packings;
}

PackedTexts::Options OptionsOf(const Packing& packing) {
  PackedTexts::Options options;
  options.sequence_length = packing.length;
  options.short_group = packing.bert ? ShortGroup::kKeep : ShortGroup::kDrop;
  options.texts_per_group = packing.texts_per_group;
  return options;
}

// Joins `texts` while packing them; returns whether each id of a sequence is special.
std::vector<std::vector<int64_t>> ExpectPacked(const PackedTexts::Options& options,
                                               const std::vector<std::vector<int64_t>>& texts,
                                               const std::vector<std::vector<int64_t>>& sequences,
                                               const std::string& name) {
  std::vector<int64_t> joined;
  std::vector<uint64_t> begins = {0};
  for (const auto& text : texts) {
    joined.insert(joined.end(), text.begin(), text.end());
    begins.push_back(joined.size());
  }
  const PackedTexts packed(options, begins, [&joined](uint64_t begin, std::span<int64_t> ids) {
    std::copy_n(joined.begin() + begin, ids.size(), ids.begin());
  });
  std::vector<std::vector<int64_t>> masks, found;
  for (int64_t i = 0; i < packed.size(); ++i) {
    std::vector<uint8_t> special(packed.LengthOf(i));
    packed.Read(i, found.emplace_back(special.size()), special);
    masks.emplace_back(special.begin(), special.end());
  }
  EXPECT_EQ(found, sequences) << name;
  return masks;
}

void ComparePacking(const GoldenCase& golden, const Packing& packing) {
  const auto& [name, bert, length, texts_per_group, texts, sequences] = packing;
  const PackedTexts::Options options = OptionsOf(packing);
  EXPECT_EQ(PackTexts(texts, length, options.short_group, texts_per_group), sequences) << name;

  ExpectPacked(options, texts, sequences, name);  // The same computed on demand.
  if (bert) {
    EXPECT_EQ(PackTexts(Ragged(golden.tensors, "input/" + name + "/special_tokens_mask"), length,
                        options.short_group, texts_per_group),
              Ragged(golden.tensors, "out/" + name + "/special_tokens_mask"))
        << name;
  }
  std::printf("golden packing            %s %-35s %4zu sequences  %s\n", golden.name.c_str(), name.c_str(),
              sequences.size(), testing::Test::HasFailure() ? "FAILED" : "equal");
}

// The reference puts special tokens around every text before packing; here they are put in while packing.
// Both must be one: the words between the special tokens are taken out of the golden texts and packed with
// them again.
void ComparePutIn(const GoldenCase& golden, const Packing& packing) {
  const auto& [name, bert, length, texts_per_group, texts, sequences] = packing;
  PackedTexts::Options options = OptionsOf(packing);
  options.before_text = {texts.at(0).front()};
  if (bert) options.after_text = {texts[0].back()};
  std::vector<std::vector<int64_t>> words;
  for (const auto& text : texts) {
    ASSERT_EQ(text.front(), options.before_text[0]);
    words.emplace_back(text.begin() + 1, text.end() - (bert ? 1 : 0));
  }
  const auto masks = ExpectPacked(options, words, sequences, name);
  if (bert) {
    EXPECT_EQ(masks, Ragged(golden.tensors, "out/" + name + "/special_tokens_mask")) << name;
  }
}

TEST(PackingGoldenTest, SequencesWithSpecialTokensReadyOrPutInEqualTheReferences) {
  for (const GoldenCase& golden : CasesWith("expected")) {
    for (const Packing& packing : PackingsOf(golden)) {
      ComparePacking(golden, packing);
      ComparePutIn(golden, packing);
    }
  }
}

TEST(MaskingGoldenTest, RecordedDrawsGiveTheReferencesBatch) {
  for (const GoldenCase& golden : CasesWith("mask_token_id")) {
    std::vector<int64_t> ids = Values(golden.Tensor("input/input_ids"));
    std::vector<int64_t> labels(ids.size());
    const std::vector<uint8_t> selected = Flags(golden.Tensor("input/draw_selected"));
    const std::vector<uint8_t> to_mask = Flags(golden.Tensor("input/draw_80"));
    const std::vector<uint8_t> to_random = Flags(golden.Tensor("input/draw_50"));
    const std::vector<int64_t> random_ids = Values(golden.Tensor("input/draw_random_ids"));
    const auto mask_id = golden.json["mask_token_id"].get<int64_t>();
    ApplyMask({selected, to_mask, to_random, random_ids}, mask_id, ids, labels);
    EXPECT_EQ(ids, Values(golden.Tensor("out/input_ids")));
    EXPECT_EQ(labels, Values(golden.Tensor("out/labels")));
    EXPECT_EQ(labels.size() - std::count(labels.begin(), labels.end(), kNoTarget),
              golden.json["n_selected"].get<size_t>());
    std::int64_t masked = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) masked += labels[i] != kNoTarget && ids[i] == mask_id;
    EXPECT_EQ(masked, golden.json["n_mask"].get<std::int64_t>());
    std::printf("golden packing            %s %zu tokens  %s\n", golden.name.c_str(), ids.size(),
                HasFailure() ? "FAILED" : "equal");
  }
}

}  // namespace
}  // namespace inlier
