// Any bytes of a connection: in how many pieces they come changes nothing but what counts as a crowd.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "aggregator/server/frame_scan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using tributary::server::FrameScan;
  if (size == 0) return 0;
  const std::size_t most = std::size_t{bytes[0]} + 1;
  const std::span<const std::uint8_t> all(bytes + 1, size - 1);
  FrameScan whole, in_pieces;
  const FrameScan::Fault fault = whole.Read(all);
  FrameScan::Fault in_the_end = FrameScan::Fault::kNone;
  for (std::size_t at = 0; at < all.size(); at += most)
    in_the_end = in_pieces.Read(all.subspan(at, std::min(most, all.size() - at)));
  if (in_the_end == FrameScan::Fault::kCrowd) std::abort();  // a piece has no room for it
  if (fault == FrameScan::Fault::kCrowd) return 0;
  if (!all.empty() && fault != in_the_end) std::abort();
  if (fault == FrameScan::Fault::kNone && whole.message_bytes_left() != in_pieces.message_bytes_left())
    std::abort();
  if (whole.headers() != in_pieces.headers()) std::abort();
  return 0;
}
