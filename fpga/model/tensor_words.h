// Values of 16 and 32 bits in words of the device's memory and in vectors of the activation memory, the
// lowest byte first.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "fpga/model/tensor_program.h"

namespace tributary::fpga {

template <typename Value>
using TensorBits = std::conditional_t<sizeof(Value) == 2, std::uint16_t, std::uint32_t>;

template <typename Value>
Value ValueAt(std::span<const std::uint64_t> words, std::size_t at) {
  constexpr std::size_t kPerWord = 8 / sizeof(Value);
  return std::bit_cast<Value>(
      static_cast<TensorBits<Value>>(words[at / kPerWord] >> (8 * sizeof(Value) * (at % kPerWord))));
}

// The words hold 0 at this place.
template <typename Value>
void PutValue(std::span<std::uint64_t> words, std::size_t at, Value value) {
  constexpr std::size_t kPerWord = 8 / sizeof(Value);
  words[at / kPerWord] |= std::uint64_t{std::bit_cast<TensorBits<Value>>(value)}
                          << (8 * sizeof(Value) * (at % kPerWord));
}

template <typename Value>
Value ValueOf(std::span<const std::int8_t> bytes, std::size_t at) {
  std::uint32_t bits = 0;
  for (std::size_t i = sizeof(Value); i-- > 0;) bits = bits << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return std::bit_cast<Value>(static_cast<TensorBits<Value>>(bits));
}

template <typename Value>
void PutBytes(std::span<std::int8_t> bytes, std::size_t at, Value value) {
  auto bits = std::bit_cast<TensorBits<Value>>(value);
  for (std::size_t i = 0; i < sizeof(Value); ++i) {
    bytes[at + i] = static_cast<std::int8_t>(bits >> (8 * i));
  }
}

template <typename Value>
std::uint32_t BlocksOf(std::uint32_t channels, const TensorUnitSize& size) {
  const auto per_vector = static_cast<std::uint32_t>(size.lanes / sizeof(Value));
  return (channels + per_vector - 1) / per_vector;
}

// A [channels][pixels] tensor to vectors and back. Lanes beyond the last channel become 0.
template <typename Value>
std::vector<std::uint64_t> PackValues(std::span<const Value> values, std::uint32_t channels,
                                      const TensorUnitSize& size) {
  const std::size_t per_vector = size.lanes / sizeof(Value),
                    pixels = channels == 0 ? 0 : values.size() / channels;
  std::vector<std::uint64_t> words(BlocksOf<Value>(channels, size) * pixels * size.vector_words());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i / pixels, vector = channel / per_vector * pixels + i % pixels;
    PutValue(words, vector * per_vector + channel % per_vector, values[i]);
  }
  return words;
}

template <typename Value>
std::vector<Value> UnpackValues(std::span<const std::uint64_t> words, std::uint32_t channels,
                                const TensorUnitSize& size) {
  const std::size_t per_vector = size.lanes / sizeof(Value);
  const std::size_t pixels =
      channels == 0 ? 0 : words.size() / size.vector_words() / BlocksOf<Value>(channels, size);
  std::vector<Value> values(channels * pixels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i / pixels, vector = channel / per_vector * pixels + i % pixels;
    values[i] = ValueAt<Value>(words, vector * per_vector + channel % per_vector);
  }
  return values;
}

}  // namespace tributary::fpga
