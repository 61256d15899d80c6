// What a peer's HTTP/2 frames are, before anybody parses them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "aggregator/server/first_words.h"

namespace tributary::server {

// The frames of one connection, from its preface on (RFC 9113, section 4.1).
class FrameScan {
 public:
  // A call's headers may have 8 KiB, in frames of 16 KiB at most: clients send them in one.
  static constexpr std::size_t kMostHeaderBytes = 16 << 10;
  static constexpr std::size_t kMostHeaderFrames = 16;
  // In bytes that gRPC parses at once: twice as many as a connection may have streams (IngestServer). Each
  // takes 16 µs even if no call comes of it.
  static constexpr std::size_t kMostHeadersAtOnce = 256;

  enum class Fault : std::uint8_t { kNone, kLongHeader, kCrowd };

  // The next bytes. Any fault is one for good. A header that is too long: gRPC 1.51 keeps what it cannot use
  // yet, without a limit, and copies all of that at each frame (CVE-2023-33953).
  Fault Read(std::span<const std::uint8_t> bytes) {
    at_once_ = 0;
    while (!bytes.empty() && fault_ == Fault::kNone) {
      const std::size_t skipped = std::min<std::size_t>(left_, bytes.size());
      left_ -= skipped;
      bytes = bytes.subspan(skipped);
      const std::size_t taken = left_ > 0 ? 0 : std::min(kFrameHeaderBytes - head_bytes_, bytes.size());
      std::ranges::copy(bytes.first(taken), head_.begin() + static_cast<std::ptrdiff_t>(head_bytes_));
      head_bytes_ += taken;
      bytes = bytes.subspan(taken);
      if (head_bytes_ == kFrameHeaderBytes) BeginFrame();
    }
    return fault_;
  }

  // Headers so far: of calls, if they come of them.
  std::uint64_t headers() const { return headers_; }
  // How many of the next bytes are a message's: they cost little to read.
  std::size_t message_bytes_left() const { return type_ == kData ? left_ : 0; }

 private:
  static constexpr std::uint8_t kData = 0, kHeaders = 1, kContinuation = 9;

  void BeginFrame() {
    head_bytes_ = 0;
    left_ = std::size_t{head_[0]} << 16 | std::size_t{head_[1]} << 8 | head_[2];
    type_ = head_[3];
    if (type_ != kHeaders && type_ != kContinuation) return;
    if (type_ == kHeaders) {
      header_bytes_ = header_frames_ = 0;
      ++headers_;
      if (++at_once_ > kMostHeadersAtOnce) fault_ = Fault::kCrowd;
    }
    header_bytes_ += left_;
    ++header_frames_;
    if (header_bytes_ > kMostHeaderBytes || header_frames_ > kMostHeaderFrames) fault_ = Fault::kLongHeader;
  }

  std::size_t left_ = kHttp2Preface.size();  // of the preface or the frame
  std::array<std::uint8_t, kFrameHeaderBytes> head_ = {};
  std::size_t head_bytes_ = 0;
  std::uint8_t type_ = kHeaders;
  std::uint64_t headers_ = 0;
  std::size_t header_bytes_ = 0;
  std::size_t header_frames_ = 0;
  std::size_t at_once_ = 0;  // headers
  Fault fault_ = Fault::kNone;
};

}  // namespace tributary::server
