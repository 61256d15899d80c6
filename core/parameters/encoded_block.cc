#include "core/parameters/encoded_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/parameters/fixed_point.h"

namespace tributary::parameters {
namespace {

static_assert(std::endian::native == std::endian::little, "the encodings are little-endian");

constexpr float kLargest = 3.402823466e38f;

// IEEE 754 binary16, rounded half to even; |value| ≤ 65,504.
std::uint16_t ToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude < 0x38800000) {  // below 2^-14: a multiple of 2^-24, which is the unit of 0.5 in binary32
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000));
  }
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | (magnitude - (std::uint32_t{112} << 23)) >> 13);
}

float FromHalf(std::uint16_t half) {
  const std::uint32_t magnitude = std::uint32_t{half & 0x7fffu} << 13;
  const float value = std::bit_cast<float>(magnitude) * 0x1p112f;  // exact, subnormals included
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | std::uint32_t{half & 0x8000u} << 16);
}

void EncodeHalves(std::span<float> values, char* bytes) {
  for (float& value : values) {
    const std::uint16_t half = ToHalf(value);
    std::memcpy(bytes, &half, sizeof(half));
    bytes += sizeof(half);
    value -= FromHalf(half);
  }
}

BlockFault DecodeHalves(const char* bytes, std::span<float> values) {
  std::array<std::uint16_t, kEncodingBlock> halves;
  std::memcpy(halves.data(), bytes, values.size() * sizeof(std::uint16_t));
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::uint32_t{halves[i] & 0x7fffu});
    values[i] = FromHalf(halves[i]);
  }
  return largest < 0x7c00 ? BlockFault::kNone : BlockFault::kNotFinite;
}

// Writes the integers nearest to value / scale within ±limit, and subtracts from the values what these stand
// for. Returns the scale: the largest magnitude over the limit.
float Quantise(std::span<float> values, int limit, std::span<std::int16_t> integers) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  const float scale = largest / static_cast<float>(limit);
  if (scale == 0) {  // all zero, or so small that the scale underflows
    std::fill_n(integers.begin(), values.size(), std::int16_t{0});
    return 0;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int nearest = std::clamp(static_cast<int>(std::lrint(values[i] / scale)), -limit, limit);
    integers[i] = static_cast<std::int16_t>(nearest);
    values[i] -= static_cast<float>(nearest) * scale;
  }
  return scale;
}

constexpr int kInt8Limit = 127;
constexpr int kInt12Limit = 2047;

void EncodeInt8(std::span<float> values, char* bytes) {
  std::array<std::int16_t, kEncodingBlock> integers;
  const float scale = Quantise(values, kInt8Limit, integers);
  std::memcpy(bytes, &scale, sizeof(scale));
  bytes += sizeof(scale);
  for (std::size_t i = 0; i < values.size(); ++i) bytes[i] = static_cast<char>(integers[i]);
}

void EncodeInt12(std::span<float> values, char* bytes) {
  std::array<std::int16_t, kEncodingBlock + 1> integers;
  const float scale = Quantise(values, kInt12Limit, integers);
  integers[values.size()] = 0;
  std::memcpy(bytes, &scale, sizeof(scale));
  bytes += sizeof(scale);
  for (std::size_t i = 0; i < values.size(); i += 2, bytes += 3) {
    const unsigned first = static_cast<unsigned>(integers[i]) & 0xfff;
    const unsigned second = static_cast<unsigned>(integers[i + 1]) & 0xfff;
    bytes[0] = static_cast<char>(first);
    bytes[1] = static_cast<char>(first >> 8 | (second & 0xf) << 4);
    bytes[2] = static_cast<char>(second >> 4);
  }
}

// A valid scale is finite and keeps its integers' values finite.
bool ReadScale(const char*& bytes, int limit, float& scale) {
  std::memcpy(&scale, bytes, sizeof(scale));
  bytes += sizeof(scale);
  return scale >= 0 && scale <= kLargest / static_cast<float>(limit);
}

BlockFault DecodeInt8(const char* bytes, std::span<float> values) {
  float scale;
  if (!ReadScale(bytes, 128, scale)) return BlockFault::kNotFinite;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<signed char>(bytes[i])) * scale;
  }
  return BlockFault::kNone;
}

float SignedNibbles(unsigned bits) { return static_cast<float>(static_cast<int>(bits << 20) >> 20); }

BlockFault DecodeInt12(const char* bytes, std::span<float> values) {
  float scale;
  if (!ReadScale(bytes, 2048, scale)) return BlockFault::kNotFinite;
  const auto* source = reinterpret_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < values.size(); i += 2, source += 3) {
    const unsigned second = source[1] >> 4 | unsigned{source[2]} << 4;
    values[i] = SignedNibbles(source[0] | (source[1] & 0xfu) << 8) * scale;
    if (i + 1 < values.size()) {
      values[i + 1] = SignedNibbles(second) * scale;
    } else if (second != 0) {
      return BlockFault::kPadding;
    }
  }
  return BlockFault::kNone;
}

}  // namespace

void EncodeBlock(UpdateEncoding encoding, std::span<float> values, char* bytes) {
  switch (encoding) {
    case UpdateEncoding::kFloat32:
      std::memcpy(bytes, values.data(), values.size_bytes());
      std::ranges::fill(values, 0.0f);
      return;
    case UpdateEncoding::kFloat16:
      return EncodeHalves(values, bytes);
    case UpdateEncoding::kInt8:
      return EncodeInt8(values, bytes);
    case UpdateEncoding::kInt12:
      return EncodeInt12(values, bytes);
    case UpdateEncoding::kFixed32:
      return;
  }
}

BlockFault DecodeBlock(UpdateEncoding encoding, const char* bytes, std::span<float> values) {
  switch (encoding) {
    case UpdateEncoding::kFloat32:
      std::memcpy(values.data(), bytes, values.size_bytes());
      return CheckRange(values, kLargest) == RangeCheck::kGood ? BlockFault::kNone : BlockFault::kNotFinite;
    case UpdateEncoding::kFloat16:
      return DecodeHalves(bytes, values);
    case UpdateEncoding::kInt8:
      return DecodeInt8(bytes, values);
    case UpdateEncoding::kInt12:
      return DecodeInt12(bytes, values);
    case UpdateEncoding::kFixed32:
      break;
  }
  return BlockFault::kNone;
}

}  // namespace tributary::parameters
