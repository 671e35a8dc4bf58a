#include "core/outliers/attention_recorder.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace inlier {
namespace {

const char kAttentionSite[] = "transformer.h.0.attn.probs";

// One sequence, one head.
at::Tensor Weights(std::vector<double> values) {
  const auto tokens = static_cast<std::int64_t>(std::sqrt(static_cast<double>(values.size())));
  return torch::tensor(values, torch::kDouble).view({1, 1, tokens, tokens});
}

TEST(AttentionRecorderTest, SharesByHand) {
  AttentionRecorder recorder(/*causal=*/true);
  const at::Tensor weights = Weights({1.0, 0.0, 0.0,    // Query 1.
                                      0.25, 0.5, 0.0,   // Attends to itself most.
                                      0.5, 0.5, 0.0});  // A tie counts; its own key is clipped away.
  EXPECT_TRUE(recorder.OnActivation(kAttentionSite, weights).is_same(weights));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_DOUBLE_EQ(shares.first_share, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*shares.first_share_without_query1, 0.5);
  EXPECT_DOUBLE_EQ(shares.first_key_mass, 1.75 / 3);
  EXPECT_DOUBLE_EQ(*shares.first_key_mass_without_query1, 0.375);
  EXPECT_DOUBLE_EQ(shares.first_key_mass_normalised, (1 + 1.0 / 3 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(shares.zero_share, 1.0 / 6) << "keys after the query are not visible";
  EXPECT_DOUBLE_EQ(shares.zero_row_share, 0);
}

TEST(AttentionRecorderTest, ARowOfZerosAttendsToNothing) {
  AttentionRecorder recorder(/*causal=*/false);
  recorder.OnActivation(kAttentionSite, Weights({0, 0, 0.5, 0.5}));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_DOUBLE_EQ(shares.first_share, 0.5);
  EXPECT_DOUBLE_EQ(shares.first_key_mass_normalised, 0.25);
  EXPECT_DOUBLE_EQ(shares.zero_share, 0.5) << "every key is visible";
  EXPECT_DOUBLE_EQ(shares.zero_row_share, 0.5);
}

TEST(AttentionRecorderTest, OneTokenHasNoQueryButTheFirst) {
  AttentionRecorder recorder(/*causal=*/true);
  recorder.OnActivation(kAttentionSite, Weights({1}));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_DOUBLE_EQ(shares.first_share, 1);
  EXPECT_FALSE(shares.first_share_without_query1);
  EXPECT_FALSE(shares.first_key_mass_without_query1);
  EXPECT_DOUBLE_EQ(shares.zero_share, 0);
}

// A learned key behind the tokens (attention.key_value_bias), padding or not.
TEST(AttentionRecorderTest, AKeyBehindTheTokensIsNone) {
  for (const bool padded : {false, true}) {
    for (const bool causal : {false, true}) {
      torch::manual_seed(2);
      const at::Tensor weights = torch::randn({3, 2, 5, 6}, torch::kDouble).softmax(3);
      AttentionRecorder with(causal), without(causal);
      if (padded) {
        const at::Tensor mask = torch::ones({3, 5}, torch::kLong);
        mask[1].slice(0, 3).zero_();
        with.OnPass(mask);
        without.OnPass(mask);
      }
      EXPECT_TRUE(with.OnActivation(kAttentionSite, weights).is_same(weights));
      without.OnActivation(kAttentionSite, weights.slice(3, 0, 5));
      EXPECT_DOUBLE_EQ(with.Summary()->first_share, without.Summary()->first_share);
      EXPECT_DOUBLE_EQ(with.Summary()->first_key_mass, without.Summary()->first_key_mass);
      EXPECT_DOUBLE_EQ(with.Summary()->entropy, without.Summary()->entropy);
      EXPECT_DOUBLE_EQ(with.Summary()->max_weight, without.Summary()->max_weight);
      EXPECT_DOUBLE_EQ(with.Summary()->zero_share, 0);
      EXPECT_LT(with.Summary()->first_key_mass, with.Summary()->first_key_mass_normalised);
    }
  }
}

TEST(AttentionRecorderTest, GatesOfSingleNumbersAreAveragedOverRealTokens) {
  torch::manual_seed(3);
  const at::Tensor values = torch::rand({2, 3, 4, 5}, torch::kDouble);  // (B, heads, T, h)
  const at::Tensor mask = torch::tensor({{1L, 1L, 1L, 1L}, {1L, 1L, 0L, 0L}});
  AttentionRecorder recorder(/*causal=*/false);
  recorder.OnPass(mask);
  recorder.OnActivation("transformer.h.0.attn.gate", values);
  const double sum = values[0].sum().item<double>() + values[1].slice(1, 0, 2).sum().item<double>();
  ASSERT_EQ(recorder.Gates().size(), 1u);
  EXPECT_NEAR(recorder.Gates()[0].mean, sum / (3 * 5 * (4 + 2)), 1e-14);
}

TEST(AttentionRecorderTest, BatchesAndLayersAddUp) {
  torch::manual_seed(1);
  const at::Tensor weights = torch::randn({4, 3, 5, 5}, torch::kDouble).softmax(3);
  AttentionRecorder whole(false), parts(false);
  whole.OnActivation(kAttentionSite, weights);
  for (const auto& range : {std::pair(0, 3), std::pair(3, 4)}) {
    parts.OnActivation(kAttentionSite, weights.slice(0, range.first, range.second));
  }
  parts.OnActivation("transformer.h.1.attn.probs", weights);
  ASSERT_EQ(parts.Layers().size(), 2u);
  EXPECT_EQ(parts.Layers()[0].queries, 60);
  EXPECT_EQ(parts.Layers()[1].site, "transformer.h.1.attn.probs");
  EXPECT_NEAR(parts.Layers()[0].shares.first_key_mass, whole.Summary()->first_key_mass, 1e-12);
  EXPECT_NEAR(parts.Summary()->first_share, whole.Summary()->first_share, 1e-12);
  EXPECT_NEAR(*parts.Summary()->first_key_mass_without_query1,
              weights.slice(2, 1).select(3, 0).mean().item<double>(), 1e-12);
}

// Every number once more from the weights, one query after the other; with padding in front, behind and nowhere.
TEST(AttentionRecorderTest, EveryShareIsThatOfThePlainDefinition) {
  constexpr int kSequences = 3, kHeads = 2, kTokens = 5;
  const bool real[kSequences][kTokens] = {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}, {0, 1, 1, 1, 0}};
  // The last two of a causal model: a window of two keys, and two texts, of which the second begins at token 3.
  for (const auto& [causal, prefix, window, text] :
       {std::tuple(false, 0, 0, 0), std::tuple(true, 0, 0, 0), std::tuple(true, 3, 0, 0),
        std::tuple(true, 0, 2, 0), std::tuple(true, 0, 0, 2)}) {
    const auto sees = [&](int q, int k) {
      if (causal && k > q && (k >= prefix || q >= prefix)) return false;
      return (window == 0 || k > q - window) && (text == 0 || (q >= text) == (k >= text));
    };
    torch::manual_seed(3);
    at::Tensor scores = 2 * torch::randn({kSequences, kHeads, kTokens, kTokens}, torch::kDouble);
    at::Tensor mask = torch::zeros({kSequences, kTokens}, torch::kLong);
    scores.select(1, 1).select(2, 1).add_(4);  // Head 2 is a sink in the third sequence.
    for (int b = 0; b < kSequences; ++b) {
      for (int t = 0; t < kTokens; ++t) mask[b][t] = static_cast<int>(real[b][t]);
    }
    scores.masked_fill_(mask.eq(0).view({kSequences, 1, 1, kTokens}), -1e30);
    at::Tensor unseen = torch::zeros({kTokens, kTokens}, torch::kBool);
    for (int q = 0; q < kTokens; ++q) {
      for (int k = 0; k < kTokens; ++k) unseen[q][k] = !sees(q, k);
    }
    scores.masked_fill_(unseen, -1e30);
    const at::Tensor weights =
        (scores.softmax(3) * 1.2 - 0.1).clamp(0, 1);  // With zeros, and rows of another sum.
    AttentionRecorder recorder(causal, {.sink_threshold = 0.25, .prefix_tokens = prefix});
    recorder.OnPass(mask);
    if (window > 0 || text > 0) recorder.OnUnseenKeys(unseen.view({1, 1, kTokens, kTokens}));
    recorder.OnActivation(kAttentionSite, weights);
    const AttentionShares shares = *recorder.Summary();

    double queries = 0, later = 0, mass = 0, later_mass = 0, uniform = 0, later_uniform = 0, entropy = 0,
           largest = 0, dominated = 0, zeros = 0, visible = 0, sinks = 0;
    for (int h = 0; h < kHeads; ++h) {
      for (int b = 0; b < kSequences; ++b) {
        double sequence_mass = 0, sequence_queries = 0;
        int first = 0;
        while (!real[b][first]) ++first;
        for (int q = 0; q < kTokens; ++q) {
          if (!real[b][q]) continue;
          double sum = 0, most = 0, row_entropy = 0, keys = 0;
          for (int k = 0; k < kTokens; ++k) {
            if (!real[b][k] || !sees(q, k)) continue;
            const double weight = weights[b][h][q][k].item<double>();
            ++keys;
            sum += weight;
            most = std::max(most, weight);
            zeros += weight == 0;
          }
          for (int k = 0; k < kTokens; ++k) {
            const double share = weights[b][h][q][k].item<double>() / sum;
            if (share > 0) row_entropy -= share * std::log(share);
          }
          const double on_first = weights[b][h][q][first].item<double>();
          sequence_mass += on_first;
          ++sequence_queries;
          visible += keys;
          const double of_first = sees(q, first) ? 1 / keys : 0;
          uniform += of_first;
          dominated += on_first > 0 && on_first == most;
          entropy += row_entropy;
          largest += most;
          if (q == first) continue;
          ++later;
          later_mass += on_first;
          later_uniform += of_first;
        }
        mass += sequence_mass;
        queries += sequence_queries;
        sinks += sequence_mass / sequence_queries > 0.25;
      }
    }
    EXPECT_NEAR(shares.first_share, dominated / queries, 1e-12) << causal;
    EXPECT_NEAR(shares.first_key_mass, mass / queries, 1e-12) << causal;
    EXPECT_NEAR(*shares.first_key_mass_without_query1, later_mass / later, 1e-12) << causal;
    EXPECT_NEAR(shares.uniform_first_key_mass, uniform / queries, 1e-12) << causal;
    EXPECT_NEAR(*shares.uniform_first_key_mass_without_query1, later_uniform / later, 1e-12) << causal;
    EXPECT_NEAR(shares.entropy, entropy / queries, 1e-12) << causal;
    EXPECT_NEAR(shares.max_weight, largest / queries, 1e-12) << causal;
    EXPECT_NEAR(shares.zero_share, zeros / visible, 1e-12) << causal;
    EXPECT_GT(shares.zero_share, 0.05);
    EXPECT_NEAR(shares.sink_rate, sinks / (kHeads * kSequences), 1e-12) << causal;
    EXPECT_EQ(recorder.Layers()[0].queries, static_cast<std::int64_t>(queries));
  }
}

// 64 tokens: the harmonic number of 64, over 64.
TEST(AttentionRecorderTest, UniformCausalAttentionHasTheMassOfItsBaseline) {
  AttentionRecorder recorder(/*causal=*/true);
  const at::Tensor counts = torch::arange(1, 65, torch::kDouble).view({1, 1, 64, 1});
  recorder.OnActivation(kAttentionSite, torch::ones({2, 3, 64, 64}, torch::kDouble).tril() / counts);
  const AttentionShares shares = *recorder.Summary();
  EXPECT_NEAR(shares.first_key_mass, 0.0741, 5e-5);
  EXPECT_NEAR(shares.first_key_mass, shares.uniform_first_key_mass, 1e-12);
  EXPECT_NEAR(*shares.first_key_mass_without_query1, *shares.uniform_first_key_mass_without_query1, 1e-12);
  EXPECT_EQ(shares.sink_rate, 0);
}

TEST(AttentionRecorderTest, ASinkIsAHeadAndTheThresholdIsAnOption) {
  at::Tensor weights =
      torch::full({1, 4, 2, 2}, 0.5, torch::kDouble);  // Of four heads, one has a mean of 0.9.
  weights.select(1, 2).select(2, 0).fill_(0.9);
  AttentionRecorder usual(false), strict(false, {.sink_threshold = 0.8}),
      none(false, {.sink_threshold = 0.9});
  for (AttentionRecorder* each : {&usual, &strict, &none}) {
    each->OnActivation(kAttentionSite, weights);
    each->OnActivation("transformer.h.1.attn.probs", torch::zeros({1, 4, 2, 2}, torch::kDouble));
  }
  EXPECT_DOUBLE_EQ(usual.Summary()->sink_rate, 0.5);
  EXPECT_DOUBLE_EQ(strict.Summary()->sink_rate, 0.125);
  EXPECT_DOUBLE_EQ(none.Summary()->sink_rate, 0) << "0.9 is not above 0.9";
  EXPECT_DOUBLE_EQ(usual.Layers()[1].shares.sink_rate, 0);
  EXPECT_DOUBLE_EQ(usual.Layers()[1].shares.entropy, 0) << "a row of zeros";
}

// Gu et al. average the indicator over sequences: a head that is a sink in one of four is a quarter of one.
TEST(AttentionRecorderTest, AHeadIsASinkInASequence) {
  at::Tensor weights = torch::zeros({4, 1, 2, 2}, torch::kDouble);
  weights[2].select(2, 0).fill_(1);
  AttentionRecorder recorder(/*causal=*/false, {.sink_threshold = 0.2});
  recorder.OnActivation(kAttentionSite, weights.slice(0, 0, 3));
  recorder.OnActivation(kAttentionSite, weights.slice(0, 3));
  EXPECT_DOUBLE_EQ(recorder.Summary()->sink_rate, 0.25);
  EXPECT_DOUBLE_EQ(recorder.Summary()->first_key_mass, 0.25) << "their mean is above the threshold";
}

// A sequence of padding alone is none.
TEST(AttentionRecorderTest, SinksArePaddingsNot) {
  const at::Tensor weights = torch::full({2, 1, 2, 2}, 0.5, torch::kDouble);
  AttentionRecorder recorder(/*causal=*/false);
  recorder.OnPass(torch::tensor({{1, 1}, {0, 0}}));
  recorder.OnActivation(kAttentionSite, weights);
  EXPECT_DOUBLE_EQ(recorder.Summary()->sink_rate, 1);
}

TEST(AttentionRecorderTest, CountedPaddingGivesTheNumbersOfAPassWithoutAMask) {
  torch::manual_seed(1);
  const at::Tensor weights = torch::randn({2, 3, 4, 4}).softmax(3);
  const at::Tensor mask = torch::tensor({{1, 1, 1, 0}, {1, 1, 1, 1}});
  AttentionRecorder counting(false, {.count_padding = true}), untold(false), full(false), padded(false);
  counting.OnPass(mask);
  full.OnPass(torch::ones({2, 4}));
  padded.OnPass(mask);
  for (AttentionRecorder* each : {&counting, &untold, &full, &padded}) {
    each->OnActivation(kAttentionSite, weights);
    each->OnActivation("x.gate", torch::rand({2, 3, 4, 1}));
  }
  EXPECT_EQ(counting.Summary()->first_key_mass, untold.Summary()->first_key_mass);
  EXPECT_EQ(full.Summary()->first_key_mass, untold.Summary()->first_key_mass);
  EXPECT_NE(padded.Summary()->first_key_mass, untold.Summary()->first_key_mass);
}

TEST(AttentionRecorderTest, PaddingHasNoGate) {
  AttentionRecorder recorder(false);
  recorder.OnPass(torch::tensor({{1, 1, 0}, {1, 0, 0}}));
  at::Tensor gates = torch::full({2, 2, 3, 1}, 0.5);
  gates[0].slice(1, 2).fill_(1);
  gates[1].slice(1, 1).fill_(1);
  recorder.OnActivation("a.gate", gates);
  recorder.OnActivation("pooled.gate", torch::full({2, 2, 1, 1}, 0.25));
  EXPECT_DOUBLE_EQ(recorder.Gates()[0].mean, 0.5);
  EXPECT_DOUBLE_EQ(recorder.Gates()[1].mean, 0.25);
}

TEST(AttentionRecorderTest, GatesOfEveryShapeHaveAMean) {
  AttentionRecorder recorder(false);
  recorder.OnActivation("model.layers.0.self_attn.gate", torch::full({2, 3, 4, 1}, 0.25));
  recorder.OnActivation("model.layers.0.self_attn.gate", torch::full({6, 3, 4, 1}, 0.75));
  recorder.OnActivation("model.layers.1.self_attn.gate", torch::tensor({0.5, 1.0}));
  const std::vector<GateMean> gates = recorder.Gates();
  ASSERT_EQ(gates.size(), 2u);
  EXPECT_EQ(gates[0].site, "model.layers.0.self_attn.gate");
  EXPECT_DOUBLE_EQ(gates[0].mean, 0.625);
  EXPECT_DOUBLE_EQ(gates[1].mean, 0.75);
}

TEST(AttentionRecorderTest, OtherSitesAreNotRecorded) {
  AttentionRecorder recorder(false);
  for (const char* site :
       {"hidden.1", "model.layers.0.mlp.gate_proj", "x.attn_probs_act_quantizer", "probs"}) {
    recorder.OnActivation(site, torch::ones({2, 3}));
  }
  EXPECT_FALSE(recorder.Summary());
  EXPECT_TRUE(recorder.Layers().empty());
  EXPECT_TRUE(recorder.Gates().empty());
}

TEST(AttentionRecorderTest, ADivergedModelDoesNotLookHealthy) {
  AttentionRecorder recorder(true);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  recorder.OnActivation(kAttentionSite, Weights({1, 0, 0.5, nan}));
  recorder.OnActivation(kAttentionSite, Weights({1, 0, 0.5, 0.5}));
  recorder.OnActivation("x.gate", torch::tensor({nan, 1.0}));
  const AttentionShares shares = *recorder.Summary();
  EXPECT_TRUE(std::isnan(shares.first_share));
  EXPECT_TRUE(std::isnan(shares.first_key_mass));
  EXPECT_TRUE(std::isnan(shares.first_key_mass_normalised));
  EXPECT_TRUE(std::isnan(shares.zero_share));
  EXPECT_TRUE(std::isnan(shares.zero_row_share));
  EXPECT_TRUE(std::isnan(shares.entropy));
  EXPECT_TRUE(std::isnan(shares.max_weight));
  EXPECT_TRUE(std::isnan(shares.sink_rate));
  EXPECT_TRUE(std::isnan(*shares.first_key_mass_without_query1));
  EXPECT_TRUE(std::isnan(recorder.Gates()[0].mean));
}

}  // namespace
}  // namespace inlier
