// What a message keeps that is parsed into again and again.
#pragma once

#include <cstddef>

namespace tributary::wire {

// Protocol Buffers keep the room of every field that was cleared, and of each element of a repeated one. A
// peer that makes another element large in each message would let that grow without a limit.
class KeptRoom {
 public:
  // A usual message is a few hundred bytes: it is made anew after some dozens.
  static constexpr std::size_t kMostBytes = 16 << 10;

  // Call it after each message of so many bytes. True: assign it a new one.
  bool IsTooMuchWith(std::size_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= kMostBytes) return false;
    bytes_ = 0;
    return true;
  }

 private:
  std::size_t bytes_ = 0;  // parsed into it
};

}  // namespace tributary::wire
