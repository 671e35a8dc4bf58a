// Measures the cost of comparing a model with its digest before it is used: the first use of a file of --mib MiB, which
// reads it, and further ones, which look at its inode, size and times alone.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "base/data/checked_files.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "base/time.h"

namespace inlier {
namespace {

constexpr int kFurtherUses = 1000;

void Row(const char* what, Duration took, double mib) {
  const double seconds = ToSeconds(took);
  std::printf("%-46s %12.6f s", what, seconds);
  if (mib > 0) std::printf(" %8.0f MiB/s", mib / seconds);
  std::printf("\n");
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return 1;
}

int Measure(const std::filesystem::path& file, std::uint64_t mib) {
  Sha256 sha;
  std::string block(1 << 20, '\0');
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  for (std::uint64_t i = 0; i < mib; ++i) {
    block.replace(0, 64, Sha256Hex(std::to_string(i)));
    sha.Update(block);
    if (fd < 0 || !WriteAll(fd, block)) return Fail(absl::UnavailableError("cannot write " + file.string()));
  }
  ::fsync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);  // The first use reads from the disk.
  ::close(fd);
  const std::string digest = sha.HexDigest();
  CheckedFiles files;
  const auto check = [&](const char* what, int times) -> absl::Status {
    const Timestamp start = MonotonicNow();
    absl::Status status;
    for (int i = 0; i < times && status.ok(); ++i) status = files.Check(file, digest);
    Row(what, (MonotonicNow() - start) / times, times == 1 ? static_cast<double>(mib) : 0);
    return status;
  };
  if (const absl::Status status = check("first use, from the disk", 1); !status.ok()) return Fail(status);
  if (const absl::Status status = check("each further use", kFurtherUses); !status.ok()) return Fail(status);
  // A worker that has just started knows nothing, and the file is in memory.
  CheckedFiles fresh;
  const Timestamp start = MonotonicNow();
  if (const absl::Status status = fresh.Check(file, digest); !status.ok()) return Fail(status);
  Row("first use, from memory", MonotonicNow() - start, static_cast<double>(mib));
  return 0;
}

}  // namespace
}  // namespace inlier

int main(int argc, char** argv) {
  CLI::App app("The cost of comparing a model with its digest before it is used");
  std::uint64_t mib = 1024;
  std::string folder = ".";
  app.add_option("--mib", mib, "Size of the model")->capture_default_str();
  app.add_option("--folder", folder, "Where the file is made")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const std::filesystem::path file = std::filesystem::path(folder) / "digest_load.tmp";
  const int status = inlier::Measure(file, mib);
  std::error_code error;
  std::filesystem::remove(file, error);
  return status;
}
