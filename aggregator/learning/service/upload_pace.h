// How fast an upload has to be while others wait for its place.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/parameters/update_encoding.h"

namespace tributary::learning {

// An upload keeps its place while its average is one full chunk per chunk time; the first chunk has that time
// too. Links that carry a chunk in 15 s are ordinary: a faster rule would cut all their uploads in turn, and
// no round of more nodes than there are places would end. Thread-safe. Times are steady.
class UploadPace {
 public:
  static constexpr std::chrono::seconds kChunkTime{20};

  explicit UploadPace(std::chrono::nanoseconds chunk_time = kChunkTime) : chunk_time_(chunk_time) {}

  // The upload has its place.
  void Begin(std::int64_t now_ns) { began_ns_ = now_ns; }
  void Take(std::size_t bytes) { taken_bytes_ += bytes; }
  // False before Begin.
  bool TooSlow(std::int64_t now_ns) const {
    const std::int64_t began_ns = began_ns_;
    if (began_ns == kNotBegun) return false;
    const double due_chunks =
        static_cast<double>(now_ns - began_ns) / static_cast<double>(chunk_time_.count()) - 1;
    return static_cast<double>(taken_bytes_) < due_chunks * static_cast<double>(parameters::kMaxChunkBytes);
  }
  // How much it has to send in a second.
  std::size_t least_bytes() const {
    return parameters::kMaxChunkBytes * std::nano::den / static_cast<std::size_t>(chunk_time_.count());
  }

 private:
  static constexpr std::int64_t kNotBegun = -1;

  const std::chrono::nanoseconds chunk_time_;
  std::atomic<std::int64_t> began_ns_ = kNotBegun;
  std::atomic<std::size_t> taken_bytes_ = 0;
};

}  // namespace tributary::learning
