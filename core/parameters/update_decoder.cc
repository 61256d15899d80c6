#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/parameters/encoded_block.h"
#include "core/parameters/fixed_point.h"
#include "core/parameters/update_encoding.h"

namespace tributary::parameters {

UpdateDecoder::UpdateDecoder(UpdateEncoding encoding, std::size_t element_count)
    : encoding_(encoding), element_count_(element_count) {}

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
  if (absl::Status status = CheckChunk(offset, count, payload); !status.ok()) return status;
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
  if (absl::Status status = CheckChunk(offset, count, payload); !status.ok()) return status;
  words_.resize(std::max<std::size_t>(words_.size(), count));
  std::memcpy(words_.data(), payload.data(), payload.size());
  next_ += count;
  return std::span<const std::int32_t>(words_.data(), count);
}

}  // namespace tributary::parameters
