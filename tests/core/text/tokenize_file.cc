// Tokenises the lines of a file with a published vocabulary, on one thread, and prints one line of JSON: ids,
// SHA-256 of the decimal ids joined by commas, seconds without the reading of vocabulary and text.
//   tokenize_file wordpiece VOCAB.txt TEXT
//   tokenize_file gpt2 VOCAB.json TEXT        merges next to it
#include <chrono>
#include <cstdio>
#include <string>

#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "core/text/corpus.h"
#include "core/text/tokenizer_source.h"

namespace inlier {
namespace {

absl::StatusOr<TokenizerSource> SourceOf(const std::string& kind, const std::string& vocab) {
  if (kind == "wordpiece") return FindWordPiece(vocab, {}, "vocabulary");
  if (kind == "gpt2") return FindGpt2(vocab, {}, "vocabulary");
  return absl::InvalidArgumentError("the first argument is wordpiece or gpt2");
}

absl::Status Run(const std::string& kind, const std::string& vocab, const std::string& text) {
  const absl::StatusOr<TokenizerSource> source = SourceOf(kind, vocab);
  if (!source.ok()) return source.status();
  const auto tokenizer = LoadTokenizer(*source, {});
  if (!tokenizer.ok()) return tokenizer.status();
  const absl::StatusOr<Corpus> corpus = Corpus::Open({.path = text});
  if (!corpus.ok()) return corpus.status();

  const auto start = std::chrono::steady_clock::now();
  std::vector<uint32_t> ids;
  const std::unique_ptr<TextEncoder> encoder = (*tokenizer)->MakeEncoder();
  for (const std::string_view line : corpus->texts()) encoder->Encode(line, &ids);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("{\"ids\": %zu, \"sha256\": \"%s\", \"seconds\": %.6f}\n", ids.size(),
              Sha256Hex(absl::StrJoin(ids, ",")).c_str(), seconds.count());
  return absl::OkStatus();
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tokenize_file wordpiece|gpt2 VOCABULARY TEXT\n");
    return 2;
  }
  const absl::Status status = inlier::Run(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
