// Any bytes as chunks: decoding ends, and its result is finite and fits the update.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/parameters/update_encoding.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::size_t kElements = 2500;
  if (size < 1) return 0;
  const auto encoding = static_cast<tributary::parameters::UpdateEncoding>(1 + bytes[0] % 7);
  tributary::parameters::UpdateDecoder decoder(encoding, kElements);
  std::string_view rest(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  while (rest.size() >= 4) {
    const auto byte = [&rest](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
    const std::uint64_t offset = byte(0) % 2 == 0 ? decoder.next_offset() : byte(0) * std::uint64_t{1024};
    const std::uint64_t count = byte(1) | byte(2) << 8;
    // Mostly of the size that fits.
    std::size_t length = tributary::parameters::EncodedBytes(encoding, count) + (byte(3) == 255 ? 1 : 0);
    rest.remove_prefix(4);
    length = length < rest.size() ? length : rest.size();
    if (decoder.has_words()) {
      if (!decoder.DecodeFixed(offset, count, rest.substr(0, length)).ok()) return 0;
    } else {
      const auto values = decoder.Decode(offset, count, rest.substr(0, length));
      if (!values.ok()) return 0;
      if (values->size() != count) std::abort();
      for (const float value : *values) {
        if (!std::isfinite(value)) std::abort();
      }
    }
    if (decoder.next_offset() > kElements) std::abort();
    rest.remove_prefix(length);
  }
  return 0;
}
