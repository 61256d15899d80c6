// A message of frames under load, encoded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/estimate/slot_length.h"

namespace tributary::cli {

// A ReportRequest as bytes, built once: between sends only sequence, epoch and stamp of its frames change.
class LoadMessage {
 public:
  // `frames` frames of `users` subjects each, of the stream's source with the index `source`. The positions
  // of all panels agree within their covariance.
  LoadMessage(std::uint32_t panel, std::size_t source, std::uint32_t users, std::size_t frames);

  void Stamp(std::size_t frame, estimate::Epoch epoch, std::int64_t captured_unix_ns);

  // The sequence of its first frame; the others follow.
  void Number(std::uint64_t first_sequence);

  // Varints of sequence and epoch are written at full width, so the message is at most 15 bytes per frame
  // larger than a node's.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::size_t> offsets_;  // of each frame
};

}  // namespace tributary::cli
