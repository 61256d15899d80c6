#include "core/parameters/update_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/parameters/fixed_point.h"
#include "core/status/macros.h"

namespace tributary::parameters {
namespace {

static_assert(std::endian::native == std::endian::little, "the encodings are little-endian");

constexpr float kLargest = std::numeric_limits<float>::max();

// The decoders below say whether the values of their block are finite.

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

bool DecodeHalves(const char* bytes, std::span<float> values) {
  std::array<std::uint16_t, kEncodingBlock> halves;
  std::memcpy(halves.data(), bytes, values.size() * sizeof(std::uint16_t));
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::uint32_t{halves[i] & 0x7fffu});
    values[i] = FromHalf(halves[i]);
  }
  return largest < 0x7c00;
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

constexpr std::size_t kTopKUnit = 32;  // elements of which one is kept
constexpr std::size_t kTopKBytes = sizeof(std::uint16_t) + 1;
constexpr std::size_t KeptOf(std::size_t elements) { return (elements + kTopKUnit - 1) / kTopKUnit; }

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

bool DecodeInt8(const char* bytes, std::span<float> values) {
  float scale;
  if (!ReadScale(bytes, 128, scale)) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<signed char>(bytes[i])) * scale;
  }
  return true;
}

bool DecodeTopK(const char* bytes, std::span<float> values) {
  float scale;
  if (!ReadScale(bytes, 128, scale)) return false;
  std::ranges::fill(values, 0.0F);
  int last = -1;
  for (std::size_t i = 0; i < KeptOf(values.size()); ++i, bytes += kTopKBytes) {
    std::uint16_t place;
    std::memcpy(&place, bytes, sizeof(place));
    if (place <= last || place >= values.size()) return false;
    values[place] = static_cast<float>(static_cast<signed char>(bytes[sizeof(place)])) * scale;
    last = place;
  }
  return true;
}

float SignedNibbles(unsigned bits) { return static_cast<float>(static_cast<int>(bits << 20) >> 20); }

bool DecodeInt12(const char* bytes, std::span<float> values) {
  float scale;
  if (!ReadScale(bytes, 2048, scale)) return false;
  const auto* source = reinterpret_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < values.size(); i += 2, source += 3) {
    values[i] = SignedNibbles(source[0] | (source[1] & 0xfu) << 8) * scale;
    if (i + 1 < values.size()) {
      values[i + 1] = SignedNibbles(source[1] >> 4 | unsigned{source[2]} << 4) * scale;
    }
  }
  return true;
}

void EncodeTopK(std::span<float> values, char* bytes) {
  std::array<std::uint16_t, kEncodingBlock> places;
  const std::span<std::uint16_t> all = std::span(places).first(values.size());
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  const auto kept = static_cast<std::ptrdiff_t>(KeptOf(values.size()));
  // The first of equal ones: the same choice on every processor.
  std::ranges::nth_element(all, all.begin() + (kept - 1), [&](std::uint16_t a, std::uint16_t b) {
    const float left = std::fabs(values[a]);
    const float right = std::fabs(values[b]);
    return left > right || (left == right && a < b);
  });
  std::ranges::sort(all.begin(), all.begin() + kept);
  std::array<float, kEncodingBlock / kTopKUnit> largest;
  for (std::ptrdiff_t i = 0; i < kept; ++i)
    largest[static_cast<std::size_t>(i)] = values[all[static_cast<std::size_t>(i)]];
  const std::span<float> chosen = std::span(largest).first(static_cast<std::size_t>(kept));
  std::array<std::int16_t, largest.size()> integers;
  const float scale = Quantise(chosen, kInt8Limit, integers);
  std::memcpy(bytes, &scale, sizeof(scale));
  bytes += sizeof(scale);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    std::memcpy(bytes, &all[i], sizeof(all[i]));
    bytes[sizeof(all[i])] = static_cast<char>(integers[i]);
    bytes += kTopKBytes;
    values[all[i]] = chosen[i];
  }
}

void EncodeFloats(std::span<float> values, char* bytes) {
  std::memcpy(bytes, values.data(), values.size_bytes());
  std::ranges::fill(values, 0.0f);
}

bool DecodeFloats(const char* bytes, std::span<float> values) {
  std::memcpy(values.data(), bytes, values.size_bytes());
  return CheckRange(values, kLargest) == RangeCheck::kGood;
}

struct Codec {
  std::string_view name;
  std::size_t scale_bytes;    // before each block
  std::size_t unit_elements;  // are packed into unit_bytes
  std::size_t unit_bytes;
  // Writes the bytes of a block and leaves the encoding's error in the values. Null: words, not values.
  void (*encode)(std::span<float> values, char* bytes);
  bool (*decode)(const char* bytes, std::span<float> values);
};

// In the order of UpdateEncoding.
constexpr std::array<Codec, 8> kCodecs = {
    {{"unknown", 0, 1, 4, nullptr, nullptr},
     {"float32", 0, 1, 4, EncodeFloats, DecodeFloats},
     {"float16", 0, 1, 2, EncodeHalves, DecodeHalves},
     {"int8", sizeof(float), 1, 1, EncodeInt8, DecodeInt8},
     {"int12", sizeof(float), 2, 3, EncodeInt12, DecodeInt12},
     {"fixed32", 0, 1, 4, nullptr, nullptr},
     {"fixed64", 0, 1, 8, nullptr, nullptr},
     {"topk", sizeof(float), kTopKUnit, kTopKBytes, EncodeTopK, DecodeTopK}}};

const Codec& CodecOf(UpdateEncoding encoding) {
  const auto place = static_cast<std::size_t>(encoding);
  return kCodecs[place < kCodecs.size() ? place : 0];
}

std::size_t BlockBytes(const Codec& codec, std::size_t elements) {
  const std::size_t units = (elements + codec.unit_elements - 1) / codec.unit_elements;
  return units == 0 ? 0 : codec.scale_bytes + units * codec.unit_bytes;
}

}  // namespace

std::string_view UpdateEncodingName(UpdateEncoding encoding) { return CodecOf(encoding).name; }

std::size_t EncodedBytes(UpdateEncoding encoding, std::size_t elements) {
  const Codec& codec = CodecOf(encoding);
  return elements / kEncodingBlock * BlockBytes(codec, kEncodingBlock) +
         BlockBytes(codec, elements % kEncodingBlock);
}

std::size_t ElementsPerChunk(UpdateEncoding encoding) {
  const std::size_t blocks = kMaxChunkBytes / BlockBytes(CodecOf(encoding), kEncodingBlock);
  return std::min(blocks, kMaxChunkElements / kEncodingBlock) * kEncodingBlock;
}

absl::Status EncodeChunk(UpdateEncoding encoding, std::span<float> values, std::string& payload) {
  constexpr float kLargestHalf = 65504;
  const Codec& codec = CodecOf(encoding);
  if (codec.encode == nullptr) {
    return absl::InvalidArgumentError(fmt::format("{} takes words, not values", codec.name));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool fits = encoding == UpdateEncoding::kFloat16 ? std::fabs(values[i]) <= kLargestHalf
                                                           : std::isfinite(values[i]);
    if (!fits) {
      return absl::InvalidArgumentError(
          fmt::format("element {} is {}, which {} cannot say", i, values[i], codec.name));
    }
  }
  payload.resize(EncodedBytes(encoding, values.size()));
  char* bytes = payload.data();
  for (std::size_t begin = 0; begin < values.size(); begin += kEncodingBlock) {
    const std::span<float> block = values.subspan(begin, std::min(kEncodingBlock, values.size() - begin));
    codec.encode(block, bytes);
    bytes += BlockBytes(codec, block.size());
  }
  return absl::OkStatus();
}

void EncodeFixedChunk(std::span<const std::int32_t> words, std::string& payload) {
  payload.assign(reinterpret_cast<const char*>(words.data()), words.size_bytes());
}

void EncodeFixedChunk(std::span<const std::int64_t> words, std::string& payload) {
  payload.assign(reinterpret_cast<const char*>(words.data()), words.size_bytes());
}

EncodedElements PartOf(UpdateEncoding encoding, const EncodedElements& chunk, std::uint64_t first) {
  const std::uint64_t count = std::min<std::uint64_t>(kElementsPerPart, chunk.count - first);
  return {chunk.offset + first, count,
          chunk.payload.substr(EncodedBytes(encoding, first), EncodedBytes(encoding, count))};
}

absl::Status UpdateDecoder::CheckChunk(std::uint64_t offset, std::uint64_t count,
                                       std::string_view payload) const {
  if (offset != next_) {
    return absl::FailedPreconditionError(
        fmt::format("chunk at element {}, expected the one at {}", offset, next_));
  }
  if (count > element_count_ - next_) {
    return absl::ResourceExhaustedError(
        fmt::format("chunk of {} elements at {}, the update has {}", count, offset, element_count_));
  }
  if (count > kMaxChunkElements) {
    return absl::ResourceExhaustedError(
        fmt::format("chunk of {} elements, at most {} are allowed", count, kMaxChunkElements));
  }
  if (payload.size() > kMaxChunkBytes) {
    return absl::ResourceExhaustedError(
        fmt::format("chunk of {} bytes, at most {} are allowed", payload.size(), kMaxChunkBytes));
  }
  if (count == 0) return absl::DataLossError("chunk without elements");
  if (payload.size() != EncodedBytes(encoding_, count)) {
    return absl::DataLossError(fmt::format("chunk of {} bytes, {} elements of {} take {}", payload.size(),
                                           count, UpdateEncodingName(encoding_),
                                           EncodedBytes(encoding_, count)));
  }
  if (count % kEncodingBlock != 0 && next_ + count != element_count_) {
    return absl::DataLossError(
        fmt::format("chunk of {} elements, all but the last hold whole blocks of {}", count, kEncodingBlock));
  }
  const bool padded = encoding_ == UpdateEncoding::kInt12 && count % 2 == 1;
  if (padded && (payload.back() != 0 || (payload[payload.size() - 2] & 0xf0) != 0)) {
    return absl::DataLossError("the padding behind the last element is not zero");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::span<const float>> UpdateDecoder::Decode(std::uint64_t offset, std::uint64_t count,
                                                             std::string_view payload) {
  const Codec& codec = CodecOf(encoding_);
  if (codec.decode == nullptr) return absl::InternalError("words are read by DecodeFixed");
  RETURN_IF_ERROR(CheckChunk(offset, count, payload));
  if (encoding_ == UpdateEncoding::kFloat32 &&
      reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(float) == 0) {
    // The bytes are the values. A copy would cost as much as adding them up.
    const std::span<const float> values(reinterpret_cast<const float*>(payload.data()), count);
    if (CheckRange(values, kLargest) != RangeCheck::kGood) {
      return absl::InvalidArgumentError(fmt::format("a value from element {} on is not finite", offset));
    }
    next_ += count;
    return values;
  }
  values_.resize(std::max<std::size_t>(values_.size(), count));
  const std::span<float> values(values_.data(), count);
  const char* bytes = payload.data();
  for (std::size_t begin = 0; begin < count; begin += kEncodingBlock) {
    const std::span<float> block = values.subspan(begin, std::min(kEncodingBlock, values.size() - begin));
    if (!codec.decode(bytes, block)) {
      return absl::InvalidArgumentError(
          fmt::format("a value from element {} on is not finite, or its place is wrong", offset + begin));
    }
    bytes += BlockBytes(codec, block.size());
  }
  next_ += count;
  return values;
}

absl::StatusOr<std::span<const std::int64_t>> UpdateDecoder::DecodeFixed(std::uint64_t offset,
                                                                         std::uint64_t count,
                                                                         std::string_view payload) {
  if (!has_words()) return absl::InternalError("values are read by Decode");
  RETURN_IF_ERROR(CheckChunk(offset, count, payload));
  words_.resize(std::max<std::size_t>(words_.size(), count));
  if (encoding_ == UpdateEncoding::kFixed64) {
    std::memcpy(words_.data(), payload.data(), payload.size());
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t word;
      std::memcpy(&word, payload.data() + i * sizeof word, sizeof word);
      words_[i] = word;
    }
  }
  next_ += count;
  return std::span<const std::int64_t>(words_.data(), count);
}

double SumOfSquares(std::span<const float> values) {
  // Eight sums, element i in sum i mod 8: independent additions, and one order on every processor.
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= values.size(); i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) {
      sums[k] += static_cast<double>(values[i + k]) * values[i + k];
    }
  }
  for (std::size_t k = 0; i < values.size(); ++i, ++k) sums[k] += static_cast<double>(values[i]) * values[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace tributary::parameters
