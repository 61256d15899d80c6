// Any datagrams, one after another: two bytes of length, then that many bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "node/source/udp_assembler.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::source::UdpAssembler assembler({.panel = 0, .width = 8, .max_subjects = 4, .slot = {}});
  tributary::source::SensorFrame frame;
  std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data), size);
  while (rest.size() >= 2) {
    const std::size_t length = std::min(
        rest.size() - 2, std::to_integer<std::size_t>(rest[0]) + 256 * std::to_integer<std::size_t>(rest[1]));
    assembler.Add(rest.subspan(2, length), tributary::estimate::SlotLength().StartNs(5'000));
    while (assembler.Take(frame)) {
      if (frame.features.size() != frame.subjects.size() * 8) __builtin_trap();
    }
    rest = rest.subspan(2 + length);
  }
  return 0;
}
