// Broken documents: for any bytes the reader returns a status, and every error has a place.
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/yaml_reader.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

constexpr char kSweep[] =
    "name: clipped_softmax_gamma\n"
    "base: &base\n"
    "  model: {bert: {preset: tiny}}\n"
    "  data: {text: {corpus: kjv, sequence_length: 64}}\n"
    "  training: {steps: 2000, optimizer: {adamw: {learning_rate: 1e-3}}}\n"
    "axes:\n"
    "  - {name: method, variants: [{label: vanilla, set: {}}, {label: clipped, set: "
    "{attention.softmax.clipped: {}}}]}\n"
    "  - {field: attention.softmax.clipped.gamma, values: [0, -0.003, -0.03, -0.1], when: {method: "
    "clipped}}\n"
    "  - {zip: [training.optimizer.adamw.beta2, training.steps], values: [[0.999, 2000], [0.95, 4000]]}\n"
    "  - {field: seed, values: [1, 2, 3]}\n"
    "exclude: [{method: vanilla, seed: [1, 2]}]\n"
    "table:\n"
    "  rows: [method]\n"
    "  columns: [{measurement: perplexity, where: {seed: 3}, heading: 'ppl \"x\"'}]\n";

std::string Mutated(const std::string& text, std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      "{",     "}",        "[",           "]",    ":",      ": ",   "- ",    "\n",    "  ",  "\t",
      "&a ",   "*a",       "*base",       "<<: ", "!!str ", "'",    "\"",    "|\n",   ">\n", "#",
      "---\n", "...\n",    "%YAML 1.2\n", "null", "~",      "true", "1e999", "-",     "?",   "? ",
      ",",     "\xc3\xa9", "\xff",        "\x01", "@",      "`",    "!<x> ", "\\x41", "\r",  "\xef\xbb\xbf",
      "seed",  "axes",     "values",      ".",    "0x1"};
  std::string changed = text;
  const int changes = 1 + static_cast<int>(random() % 6);
  for (int i = 0; i < changes && !changed.empty(); ++i) {
    const std::size_t at = random() % changed.size();
    const std::size_t length = std::min<std::size_t>(changed.size() - at, 1 + random() % 12);
    switch (random() % 5) {
      case 0:
        changed.erase(at, length);
        break;
      case 1:
        changed.insert(at, kPieces[random() % kPieces.size()]);
        break;
      case 2:
        changed[at] = static_cast<char>(random() % 256);
        break;
      case 3:
        changed.insert(random() % changed.size(), changed.substr(at, length));
        break;
      default:
        changed.resize(at);
    }
  }
  return changed;
}

TEST(YamlFuzzTest, BrokenDocumentsNeverCrashAndEveryErrorHasAPlace) {
  ASSERT_TRUE(ReadSweepText(kSweep, "s.yaml").ok()) << ReadSweepText(kSweep, "s.yaml").status();
  std::mt19937 random(20260101);
  int refused = 0;
  constexpr int kRounds = 3000;
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = Mutated(kSweep, random);
    const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepText(text, "s.yaml");
    if (sweep.ok()) continue;
    ++refused;
    ASSERT_EQ(sweep.status().code(), absl::StatusCode::kInvalidArgument) << text;
    ASSERT_EQ(sweep.status().message().substr(0, 7), "s.yaml:") << sweep.status() << "\n" << text;
    ASSERT_GE(sweep.status().message().size(), 20u) << sweep.status();
  }
  EXPECT_GT(refused, kRounds / 3) << "the mutations are too tame to test anything";
}

TEST(YamlFuzzTest, RandomBytesNeverCrash) {
  std::mt19937 random(7);
  constexpr char kAlphabet[] = "{}[]:-,&*!|>'\"%@`#? \n\tabc019.\\~<=";
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = kAlphabet[random() % (sizeof(kAlphabet) - 1)];
    v1::SweepSpec sweep;
    const absl::Status status = ReadYamlText(text, "r.yaml", &sweep);
    if (!status.ok()) {
      ASSERT_EQ(status.message().substr(0, 7), "r.yaml:") << text;
    }
  }
}

TEST(YamlFuzzTest, HostileShapesEndQuickly) {
  const std::vector<std::string> shapes = {std::string(1'000'000, '['), std::string(1'000'000, '{'),
                                           std::string(1'000'000, '-'), std::string(1'000'000, '?'),
                                           std::string(1'000'000, '"'), std::string(1'000'000, '\n'),
                                           std::string(1'000'000, '&'), std::string(1'000'000, ' ') + "a: 1"};
  for (const std::string& shape : shapes) {
    v1::SweepSpec sweep;
    EXPECT_FALSE(ReadYamlText(shape, "h.yaml", &sweep).ok());
  }
}

}  // namespace
}  // namespace inlier
