// Trains a byte-level byte-pair vocabulary: in each round the most frequent pair of neighbouring tokens
// becomes a token.
//
// Counts are over words (pre_tokenizer.h), so no token spans two of them. Equally frequent pairs are taken in
// the order of their ids (left, then right), so the result is a pure function of the texts, for any number of
// threads. Training ends early when no pair occurs twice any more.
#ifndef INLIER_CORE_TEXT_BYTE_PAIR_TRAINER_H_
#define INLIER_CORE_TEXT_BYTE_PAIR_TRAINER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/byte_pair.h"

namespace inlier {

struct BytePairTrainerOptions {
  uint32_t vocab_size = 0;                  // Special tokens and the 256 bytes included.
  std::vector<std::string> special_tokens;  // Get the first ids; not searched in the texts. Printable ASCII.
  int threads = 1;                          // For counting words.
  std::function<void(double)> progress;     // May be empty; called with the share of finished merges.
};

// REQUIRES: vocab_size >= special tokens + 256, threads >= 1.
BytePairVocabulary TrainBytePair(std::span<const std::string_view> texts,
                                 const BytePairTrainerOptions& options);

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_BYTE_PAIR_TRAINER_H_
