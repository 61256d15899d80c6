#include "core/parameters/update_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/parameters/encoded_block.h"
#include "core/parameters/fixed_point.h"
#include "core/status/macros.h"

namespace tributary::parameters {
namespace {

std::size_t BlockBytes(UpdateEncoding encoding, std::size_t elements) {
  switch (encoding) {
    case UpdateEncoding::kFloat16:
      return 2 * elements;
    case UpdateEncoding::kInt8:
      return elements == 0 ? 0 : sizeof(float) + elements;
    case UpdateEncoding::kInt12:
      return elements == 0 ? 0 : sizeof(float) + (elements + 1) / 2 * 3;
    case UpdateEncoding::kFloat32:
    case UpdateEncoding::kFixed32:
      break;
  }
  return 4 * elements;
}

}  // namespace

std::string_view UpdateEncodingName(UpdateEncoding encoding) {
  static constexpr std::array<std::string_view, 5> kNames = {"float32", "float16", "int8", "int12",
                                                             "fixed32"};
  const std::size_t place = static_cast<std::size_t>(encoding) - 1;
  return place < kNames.size() ? kNames[place] : "unknown";
}

std::size_t EncodedBytes(UpdateEncoding encoding, std::size_t elements) {
  return elements / kEncodingBlock * BlockBytes(encoding, kEncodingBlock) +
         BlockBytes(encoding, elements % kEncodingBlock);
}

std::size_t ElementsPerChunk(UpdateEncoding encoding) {
  return kMaxChunkBytes / BlockBytes(encoding, kEncodingBlock) * kEncodingBlock;
}

absl::Status EncodeChunk(UpdateEncoding encoding, std::span<float> values, std::string& payload) {
  constexpr float kLargestHalf = 65504;
  if (encoding == UpdateEncoding::kFixed32) {
    return absl::InvalidArgumentError("fixed32 takes words, not values");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool fits = encoding == UpdateEncoding::kFloat16 ? std::fabs(values[i]) <= kLargestHalf
                                                           : std::isfinite(values[i]);
    if (!fits) {
      return absl::InvalidArgumentError(
          fmt::format("element {} is {}, which {} cannot say", i, values[i], UpdateEncodingName(encoding)));
    }
  }
  payload.resize(EncodedBytes(encoding, values.size()));
  char* bytes = payload.data();
  for (std::size_t begin = 0; begin < values.size(); begin += kEncodingBlock) {
    const std::span<float> block = values.subspan(begin, std::min(kEncodingBlock, values.size() - begin));
    EncodeBlock(encoding, block, bytes);
    bytes += BlockBytes(encoding, block.size());
  }
  return absl::OkStatus();
}

void EncodeFixedChunk(std::span<const std::int32_t> words, std::string& payload) {
  payload.resize(words.size_bytes());
  if (!words.empty()) std::memcpy(payload.data(), words.data(), words.size_bytes());
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
  return absl::OkStatus();
}

absl::StatusOr<std::span<const float>> UpdateDecoder::Decode(std::uint64_t offset, std::uint64_t count,
                                                             std::string_view payload) {
  if (encoding_ == UpdateEncoding::kFixed32) return absl::InternalError("fixed32 is read by DecodeFixed");
  RETURN_IF_ERROR(CheckChunk(offset, count, payload));
  if (encoding_ == UpdateEncoding::kFloat32 &&
      reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(float) == 0) {
    // The bytes are the values. A copy would cost as much as adding them up.
    const std::span<const float> values(reinterpret_cast<const float*>(payload.data()), count);
    if (CheckRange(values, std::numeric_limits<float>::max()) != RangeCheck::kGood) {
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
    switch (DecodeBlock(encoding_, bytes, block)) {
      case BlockFault::kNone:
        break;
      case BlockFault::kNotFinite:
        return absl::InvalidArgumentError(
            fmt::format("a value from element {} on is not finite", offset + begin));
      case BlockFault::kPadding:
        return absl::DataLossError("the padding behind the last element is not zero");
    }
    bytes += EncodedBytes(encoding_, block.size());
  }
  next_ += count;
  return values;
}

absl::StatusOr<std::span<const std::int32_t>> UpdateDecoder::DecodeFixed(std::uint64_t offset,
                                                                         std::uint64_t count,
                                                                         std::string_view payload) {
  if (encoding_ != UpdateEncoding::kFixed32) return absl::InternalError("only fixed32 has words");
  RETURN_IF_ERROR(CheckChunk(offset, count, payload));
  words_.resize(std::max<std::size_t>(words_.size(), count));
  std::memcpy(words_.data(), payload.data(), payload.size());
  next_ += count;
  return std::span<const std::int32_t>(words_.data(), count);
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
