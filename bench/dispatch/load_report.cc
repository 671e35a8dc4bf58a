#include "bench/dispatch/load_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"

namespace inlier {

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

absl::StatusOr<std::vector<double>> TimeDisk(const std::string& folder, int count, Duration pause) {
  const std::string path = absl::StrCat(folder, "/disk-pace");
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  const std::string block(4096, 'x');
  std::vector<double> seconds;
  bool sound = true;
  for (int i = 0; i < count && sound; ++i) {
    const Timestamp started = MonotonicNow();
    sound =
        ::write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size()) && ::fdatasync(fd) == 0;
    seconds.push_back(ToSeconds(MonotonicNow() - started));
    std::this_thread::sleep_for(pause);
  }
  ::close(fd);
  ::unlink(path.c_str());
  if (!sound) return absl::UnavailableError(absl::StrCat("cannot write ", path));
  return seconds;
}

double ResidentMib(int pid) {
  std::ifstream statm(absl::StrCat("/proc/", pid, "/statm"));
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

v1::TrialSpec LoadTrial() {
  v1::TrialSpec trial;
  trial.mutable_model()->mutable_bert()->set_preset("tiny");
  trial.mutable_data()->mutable_text()->set_corpus("kjv");
  trial.mutable_training()->set_steps(100);
  trial.mutable_quantization()->mutable_weights()->set_bits(8);
  trial.mutable_quantization()->mutable_activations()->set_bits(8);
  return trial;
}

}  // namespace inlier
