// Runs a fuzz target without libFuzzer: every seed, then `--runs N` mutations (--seed S), the same ones each
// time; or `--write-seeds FOLDER`; or `--libfuzzer-options`, the limits as libFuzzer takes them; or files to run
// once. An input that ends the process, or is beyond a limit (limits.h), is kept in the file finding-<target> of the
// present folder.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/limits.h"

namespace inlier {
namespace {

std::string current;
std::string finding_file;

void Keep(int signal) {
  const int fd = ::open(finding_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  [[maybe_unused]] ssize_t ignored = ::write(fd, current.data(), current.size());
  constexpr char kText[] = "the input that did it is kept in ./finding-<target>\n";
  ignored = ::write(STDERR_FILENO, kText, sizeof(kText) - 1);
  ::signal(signal, SIG_DFL);
  ::raise(signal == SIGALRM ? SIGABRT : signal);
}

void RunOne(std::string input) {
  current = std::move(input);
  ::alarm(InputLimits().wall_seconds);
  FuzzWithinLimits(current);
  ::alarm(0);
}

std::string ContentOf(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

int Main(int argc, char** argv) {
  finding_file = "finding-" + std::filesystem::path(argv[0]).filename().string();
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) ::signal(signal, Keep);
  std::uint64_t runs = 2000;
  std::uint64_t seed = 1;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--libfuzzer-options") {
      std::printf("%s\n", LibFuzzerOptions().c_str());
      return 0;
    } else if (argument == "--write-seeds" && i + 1 < argc) {
      const std::filesystem::path folder = argv[++i];
      std::filesystem::create_directories(folder);
      int number = 0;
      for (const std::string& content : FuzzSeeds())
        std::ofstream(folder / ("seed-" + std::to_string(++number)), std::ios::binary) << content;
      return 0;
    } else {
      files.push_back(argument);
    }
  }
  for (const std::string& file : files) RunOne(ContentOf(file));
  if (!files.empty()) return 0;
  const std::vector<std::string> seeds = FuzzSeeds();
  for (const std::string& content : seeds) RunOne(content);
  FuzzRandom random(seed);
  for (std::uint64_t i = 0; i < runs; ++i) {
    std::string input = seeds[random() % seeds.size()];
    for (std::uint64_t times = 1 + random() % 3; times > 0; --times)
      input = FuzzMutate(std::move(input), random);
    RunOne(std::move(input));
  }
  std::printf("%zu seeds and %llu mutations of them: no finding\n", seeds.size(),
              static_cast<unsigned long long>(runs));
  return 0;
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::off);
  return inlier::Main(argc, argv);
}
