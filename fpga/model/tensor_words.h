// Values of 16 and 32 bits in words of the device's memory and in vectors of the activation memory, the
// lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

inline std::uint16_t HalfAt(std::span<const std::uint64_t> words, std::size_t at) {
  return static_cast<std::uint16_t>(words[at / 4] >> (16 * (at % 4)));
}

// The words hold 0 at this place.
inline void PutHalf(std::span<std::uint64_t> words, std::size_t at, std::uint16_t value) {
  words[at / 4] |= std::uint64_t{value} << (16 * (at % 4));
}

inline std::uint16_t HalfOf(std::span<const std::int8_t> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<std::uint8_t>(bytes[at]) |
                                    static_cast<std::uint8_t>(bytes[at + 1]) << 8);
}

inline void PutWord(std::span<std::uint64_t> words, std::size_t at, std::int32_t value) {
  words[at / 2] |= std::uint64_t{static_cast<std::uint32_t>(value)} << (32 * (at % 2));
}

inline std::int32_t WordOf(std::span<const std::int8_t> bytes, std::size_t at) {
  return static_cast<std::int32_t>(HalfOf(bytes, at) | std::uint32_t{HalfOf(bytes, at + 2)} << 16);
}

// As many bytes as there is room for.
inline void PutBytes(std::span<std::int8_t> to, std::uint32_t value) {
  for (std::int8_t& byte : to) {
    byte = static_cast<std::int8_t>(value);
    value >>= 8;
  }
}

// Where a value of a [channels][pixels] tensor lies among the values of its vectors.
inline std::size_t PlaceOf(std::size_t channel, std::size_t pixel, std::size_t pixels,
                           std::size_t per_vector) {
  return (channel / per_vector * pixels + pixel) * per_vector + channel % per_vector;
}

inline std::size_t PixelsOf(std::span<const std::uint64_t> words, std::uint32_t blocks,
                            const TensorUnitSize& size) {
  return blocks == 0 ? 0 : words.size() / size.vector_words() / blocks;
}

// Calls found(channel * pixels + pixel, bits of the value) for every value of the channels. `bits`: 16 or 32.
template <typename Found>
void Unpack(std::span<const std::uint64_t> words, std::uint32_t channels, std::size_t pixels, unsigned bits,
            std::size_t per_vector, Found found) {
  const std::size_t per_word = 64 / bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      const std::size_t at = PlaceOf(channel, pixel, pixels, per_vector);
      found(channel * pixels + pixel,
            static_cast<std::uint32_t>(words[at / per_word] >> (bits * (at % per_word)) & mask));
    }
  }
}

}  // namespace tributary::fpga
