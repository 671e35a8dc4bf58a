// A file descriptor that closes itself, and a pair of them. Thread safety: none.
#ifndef INLIER_BASE_FILES_DESCRIPTOR_H_
#define INLIER_BASE_FILES_DESCRIPTOR_H_

#include <fcntl.h>
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

// Both ends of a pipe, closed with it.
struct FdPair {
  int read = -1, write = -1;
  FdPair() = default;
  FdPair(const FdPair&) = delete;
  FdPair& operator=(const FdPair&) = delete;
  ~FdPair() {
    CloseRead();
    CloseWrite();
  }
  bool Open() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) return false;
    read = fds[0];
    write = fds[1];
    return true;
  }
  void CloseRead() { Close(read); }
  void CloseWrite() { Close(write); }
  int ReleaseRead() { return std::exchange(read, -1); }
  int ReleaseWrite() { return std::exchange(write, -1); }

 private:
  static void Close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
};

}  // namespace inlier

#endif  // INLIER_BASE_FILES_DESCRIPTOR_H_
