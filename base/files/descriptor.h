// A file descriptor that closes itself. Thread safety: none.
#ifndef INLIER_BASE_FILES_DESCRIPTOR_H_
#define INLIER_BASE_FILES_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace inlier {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}  // Owns it; negative: none.
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { Close(); }

  int fd() const { return fd_; }  // Negative: none.
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_DESCRIPTOR_H_
