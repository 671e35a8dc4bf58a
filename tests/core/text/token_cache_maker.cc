// Opens a token cache and prints its digest and whether it was made or found:
//   token_cache_maker CORPUS CACHE_DIR VOCAB_SIZE [DEATH]
// DEATH: "report N": is killed at its N-th report; "size N": is killed when a file that it writes exceeds N
// bytes.
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <string>

#include "core/text/token_cache.h"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  int report_to_die_at = 0;
  unsigned long size_to_die_at = 0;
  if (argc > 4) {
    std::sscanf(argv[4], "report %d", &report_to_die_at);
    std::sscanf(argv[4], "size %lu", &size_to_die_at);
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlimit size{size_to_die_at, size_to_die_at};
  if (size_to_die_at > 0) setrlimit(RLIMIT_FSIZE, &size);

  bool waited = false, made = false;
  int reports = 0;
  inlier::TextOpenOptions options;
  options.cache_dir = argv[2];
  options.progress = [&](std::string_view phase, double) {
    waited |= phase.starts_with("wait");
    made |= phase == "tokenize";
    if (++reports == report_to_die_at) raise(SIGKILL);
  };
  inlier::TokenCacheSettings settings;
  settings.tokenizer = inlier::TrainedBytePair{static_cast<uint32_t>(std::atoi(argv[3]))};
  settings.validation_fraction = 0.02;
  const auto cache = inlier::TokenCache::OpenOrMake({argv[1]}, settings, options);
  if (!cache.ok()) {
    std::printf("%s\n", std::string(cache.status().message()).c_str());
    return 1;
  }
  std::printf("%s %s\n", cache->digest().c_str(), made ? "made" : waited ? "waited" : "found");
  return 0;
}
