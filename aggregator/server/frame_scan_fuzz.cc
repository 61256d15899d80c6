// Any bytes of a connection: in how many pieces they come changes nothing.
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
  const bool good = whole.Read(all);
  bool still_good = true;
  for (std::size_t at = 0; at < all.size(); at += most)
    still_good = in_pieces.Read(all.subspan(at, std::min(most, all.size() - at)));
  if (!all.empty() && good != still_good) std::abort();
  if (good && whole.message_bytes_left() != in_pieces.message_bytes_left()) std::abort();
  if (whole.headers() != in_pieces.headers()) std::abort();
  return 0;
}
