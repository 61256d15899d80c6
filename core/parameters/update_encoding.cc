#include "core/parameters/update_encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/parameters/encoded_block.h"

namespace tributary::parameters {
namespace {

struct Name {
  UpdateEncoding encoding;
  std::string_view name;
};
constexpr std::array<Name, 5> kNames = {{{UpdateEncoding::kFloat32, "float32"},
                                         {UpdateEncoding::kFloat16, "float16"},
                                         {UpdateEncoding::kInt8, "int8"},
                                         {UpdateEncoding::kInt12, "int12"},
                                         {UpdateEncoding::kFixed32, "fixed32"}}};

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
  const auto* const found = std::ranges::find(kNames, encoding, &Name::encoding);
  return found == kNames.end() ? "unknown" : found->name;
}

std::optional<UpdateEncoding> ParseUpdateEncoding(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &Name::name);
  if (found == kNames.end()) return std::nullopt;
  return found->encoding;
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
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace tributary::parameters
