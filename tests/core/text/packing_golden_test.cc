// Packing and masking against the reference's own functions, exactly.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "core/io/safetensors.h"
#include "core/text/masking.h"
#include "core/text/packing.h"
#include "nlohmann/json.hpp"
#include "tests/core/data/data_files.h"
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

TEST(PackingGoldenTest, SequencesEqualTheReferences) {
  const auto tensors = LoadSafetensors(GoldenFolder() / "packing/group_texts.safetensors");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  const auto json = nlohmann::json::parse(ReadAll(GoldenFolder() / "packing/group_texts.json"));
  int cases = 0;
  for (const auto& [name, expected] : json["expected"].items()) {
    const bool bert = name.starts_with("bert/");
    const auto short_group = bert ? ShortGroup::kKeep : ShortGroup::kDrop;
    const auto length = expected["chunk_length"].get<int64_t>();
    const auto texts_per_group = expected["texts_per_group"].get<int64_t>();
    const auto texts = Ragged(*tensors, "input/" + name + "/texts");
    const auto sequences = Ragged(*tensors, "out/" + name + "/chunks");
    EXPECT_EQ(PackTexts(texts, length, short_group, texts_per_group), sequences) << name;

    // The same computed on demand over the joined ids.
    std::vector<int64_t> joined;
    std::vector<uint64_t> begins = {0};
    for (const auto& text : texts) {
      joined.insert(joined.end(), text.begin(), text.end());
      begins.push_back(joined.size());
    }
    PackedTexts::Options options;
    options.sequence_length = length;
    options.short_group = short_group;
    options.texts_per_group = texts_per_group;
    const PackedTexts packed(options, begins, [&joined](uint64_t begin, std::span<int64_t> ids) {
      std::copy_n(joined.begin() + begin, ids.size(), ids.begin());
    });
    ASSERT_EQ(packed.size(), static_cast<int64_t>(sequences.size())) << name;
    for (int64_t i = 0; i < packed.size(); ++i) {
      std::vector<int64_t> ids(packed.LengthOf(i));
      std::vector<uint8_t> special(ids.size());
      packed.Read(i, ids, special);
      EXPECT_EQ(ids, sequences[i]) << name << " sequence " << i;
    }
    if (bert) {
      EXPECT_EQ(PackTexts(Ragged(*tensors, "input/" + name + "/special_tokens_mask"), length, short_group,
                          texts_per_group),
                Ragged(*tensors, "out/" + name + "/special_tokens_mask"))
          << name;
    }
    std::printf("golden packing            group_texts %-35s %4zu sequences  %s\n", name.c_str(),
                sequences.size(), HasFailure() ? "FAILED" : "equal");
    ++cases;
  }
  EXPECT_EQ(cases, 10);
}

// The reference puts special tokens around every text before packing; here they are put in while packing.
// Both must be one: the words between the special tokens are taken out of the golden texts and packed with
// them again.
TEST(PackingGoldenTest, SpecialTokensPutInWhilePackingEqualTheReferences) {
  const auto tensors = LoadSafetensors(GoldenFolder() / "packing/group_texts.safetensors");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  const auto json = nlohmann::json::parse(ReadAll(GoldenFolder() / "packing/group_texts.json"));
  for (const auto& [name, expected] : json["expected"].items()) {
    const bool bert = name.starts_with("bert/");
    const auto texts = Ragged(*tensors, "input/" + name + "/texts");
    PackedTexts::Options options;
    options.sequence_length = expected["chunk_length"].get<int64_t>();
    options.texts_per_group = expected["texts_per_group"].get<int64_t>();
    options.short_group = bert ? ShortGroup::kKeep : ShortGroup::kDrop;
    options.before_text = {texts[0].front()};
    if (bert) options.after_text = {texts[0].back()};
    std::vector<int64_t> joined;
    std::vector<uint64_t> begins = {0};
    for (const auto& text : texts) {
      ASSERT_EQ(text.front(), options.before_text[0]);
      joined.insert(joined.end(), text.begin() + 1, text.end() - (bert ? 1 : 0));
      begins.push_back(joined.size());
    }
    const PackedTexts packed(options, begins, [&joined](uint64_t begin, std::span<int64_t> ids) {
      std::copy_n(joined.begin() + begin, ids.size(), ids.begin());
    });
    const auto sequences = Ragged(*tensors, "out/" + name + "/chunks");
    ASSERT_EQ(packed.size(), static_cast<int64_t>(sequences.size())) << name;
    for (int64_t i = 0; i < packed.size(); ++i) {
      std::vector<int64_t> ids(packed.LengthOf(i));
      std::vector<uint8_t> special(ids.size());
      packed.Read(i, ids, special);
      EXPECT_EQ(ids, sequences[i]) << name << " sequence " << i;
      if (bert) {
        const auto masks = Ragged(*tensors, "out/" + name + "/special_tokens_mask");
        EXPECT_EQ(std::vector<int64_t>(special.begin(), special.end()), masks[i])
            << name << " sequence " << i;
      }
    }
  }
}

TEST(MaskingGoldenTest, RecordedDrawsGiveTheReferencesBatch) {
  const auto tensors = LoadSafetensors(GoldenFolder() / "packing/mlm_masking_recorded.safetensors");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  const auto json = nlohmann::json::parse(ReadAll(GoldenFolder() / "packing/mlm_masking_recorded.json"));
  std::vector<int64_t> ids = Values(tensors->at("input/input_ids"));
  std::vector<int64_t> labels(ids.size());
  const std::vector<uint8_t> selected = Flags(tensors->at("input/draw_selected"));
  const std::vector<uint8_t> to_mask = Flags(tensors->at("input/draw_80"));
  const std::vector<uint8_t> to_random = Flags(tensors->at("input/draw_50"));
  const std::vector<int64_t> random_ids = Values(tensors->at("input/draw_random_ids"));
  ApplyMask({selected, to_mask, to_random, random_ids}, json["mask_token_id"].get<int64_t>(), ids, labels);
  EXPECT_EQ(ids, Values(tensors->at("out/input_ids")));
  EXPECT_EQ(labels, Values(tensors->at("out/labels")));
  EXPECT_EQ(labels.size() - std::count(labels.begin(), labels.end(), kNoTarget),
            json["n_selected"].get<size_t>());
  std::printf("golden packing            mlm_masking_recorded %zu tokens  %s\n", ids.size(),
              HasFailure() ? "FAILED" : "equal");
}

}  // namespace
}  // namespace inlier
