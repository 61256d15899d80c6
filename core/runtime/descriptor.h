// A file descriptor, closed at the end of its scope.
#pragma once

#include <unistd.h>

#include <utility>

namespace tributary::runtime {

// Negative: none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  // What close(2) returns; 0 if there is none.
  int Close() { return open() ? close(std::exchange(fd_, -1)) : 0; }
  // Gives the descriptor up: somebody else closes it.
  int Release() { return std::exchange(fd_, -1); }
  bool open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace tributary::runtime
