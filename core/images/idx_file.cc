#include "core/images/idx_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::images {
namespace {

constexpr std::uint32_t kUnsignedBytes = 0x08;
constexpr std::uint32_t kMaxSide = 256;

constexpr std::string_view kGzipMagic = "\x1f\x8b";

absl::StatusOr<std::string> Unpack(std::string_view packed, std::size_t max_bytes) {
  if (packed.size() > std::numeric_limits<uInt>::max()) {
    return absl::ResourceExhaustedError("the gzip file is larger than 4 GiB");
  }
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
    return absl::ResourceExhaustedError("zlib has no memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, inflateEnd);
  std::string unpacked;
  for (int result = Z_OK; result != Z_STREAM_END;) {
    constexpr std::size_t kChunk = std::size_t{1} << 20;
    const std::size_t done = unpacked.size();
    unpacked.resize(done + kChunk);
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data() + done);
    stream.avail_out = static_cast<uInt>(kChunk);
    result = inflate(&stream, Z_NO_FLUSH);
    unpacked.resize(done + kChunk - stream.avail_out);
    if (unpacked.size() > max_bytes) {
      return absl::ResourceExhaustedError(fmt::format("unpacks to more than {} bytes", max_bytes));
    }
    if (result != Z_OK && result != Z_STREAM_END) {
      return absl::DataLossError(fmt::format("gzip data broken at offset {}: {}", stream.total_in,
                                             result == Z_BUF_ERROR ? "it ends early" : "not a valid block"));
    }
  }
  if (stream.avail_in > 0) {
    return absl::DataLossError(fmt::format("bytes behind the gzip data, from offset {}", stream.total_in));
  }
  return unpacked;
}

// The number of dimensions tells images from labels.
constexpr std::size_t kLabelDimensions = 1;
constexpr std::size_t kGreyDimensions = 3;
constexpr std::size_t kColourDimensions = 4;
constexpr std::size_t kChannels = nn::ImageShape::kColour;

constexpr std::string_view kColourMagic("\0\0\x08\x04", 4);

// Also of a file that is too short to say so.
std::size_t ImageDimensions(std::string_view file) {
  return file.starts_with(kColourMagic) ? kColourDimensions : kGreyDimensions;
}

// The sizes of the dimensions of a file of unsigned bytes, checked against its length.
absl::StatusOr<std::vector<std::uint32_t>> Header(std::string_view file, std::size_t dimensions) {
  const auto word = [file](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(file[at + i]);
    return value;
  };
  const std::size_t header = 4 + 4 * dimensions;
  if (file.size() < header) {
    return absl::DataLossError(
        fmt::format("the header takes {} bytes, the file ends at offset {}", header, file.size()));
  }
  const std::uint32_t magic = kUnsignedBytes << 8 | static_cast<std::uint32_t>(dimensions);
  if (word(0) != magic) {
    return absl::DataLossError(
        fmt::format("magic number {:#010x} at offset 0, expected {:#010x}: a file of {}", word(0), magic,
                    dimensions == kLabelDimensions ? "labels" : "images"));
  }
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < dimensions; ++i) sizes.push_back(word(4 + 4 * i));
  if (sizes[0] == 0) return absl::DataLossError("count 0 at offset 4, expected at least 1");
  if (dimensions == kColourDimensions && sizes[3] != kChannels) {
    return absl::DataLossError(
        fmt::format("{} channels at offset 16, expected {}: red, green, blue", sizes[3], kChannels));
  }
  for (std::size_t i = 1; i < std::min(dimensions, kGreyDimensions); ++i) {
    if (sizes[i] == 0 || sizes[i] > kMaxSide) {
      return absl::DataLossError(
          fmt::format("side {} at offset {}, allowed are 1 to {}", sizes[i], 4 + 4 * i, kMaxSide));
    }
  }
  if (dimensions != kLabelDimensions && sizes[1] != sizes[2]) {
    return absl::DataLossError(
        fmt::format("images of {} × {} at offset 8, expected square ones", sizes[1], sizes[2]));
  }
  std::uint64_t elements = 1;
  for (const std::uint32_t size : sizes) elements *= size;  // below 2^32 · 2^18
  const std::uint64_t bytes = header + elements;
  if (bytes != file.size()) {
    return absl::DataLossError(
        fmt::format("the header promises {} bytes, the file ends at offset {}", bytes, file.size()));
  }
  return sizes;
}

// Reads and unpacks the whole file, with the sizes of its dimensions.
struct Content {
  std::string bytes;
  std::vector<std::uint32_t> sizes;
};

enum class ContentKind { kImages, kLabels };

absl::StatusOr<Content> Read(std::string_view file, ContentKind kind, std::size_t max_bytes) {
  const bool packed = file.starts_with(kGzipMagic);
  if (!packed && file.size() > max_bytes) {
    return absl::ResourceExhaustedError(fmt::format("larger than {} bytes", max_bytes));
  }
  ASSIGN_OR_RETURN(std::string plain, packed ? Unpack(file, max_bytes) : std::string(file));
  absl::StatusOr<std::vector<std::uint32_t>> sizes =
      Header(plain, kind == ContentKind::kLabels ? kLabelDimensions : ImageDimensions(plain));
  // The offset counts unpacked bytes.
  if (!sizes.ok()) return packed ? WithContext("unpacked", sizes.status()) : sizes.status();
  return Content{std::move(plain), *std::move(sizes)};
}

}  // namespace

absl::StatusOr<ImageSet> DecodeIdxImages(std::string_view file, std::size_t max_bytes) {
  ASSIGN_OR_RETURN(const Content content, Read(file, ContentKind::kImages, max_bytes));
  ImageSet set;
  set.side = content.sizes[1];
  const std::string_view values = std::string_view(content.bytes).substr(4 + 4 * content.sizes.size());
  if (content.sizes.size() == kGreyDimensions) {
    set.pixels.assign(values.begin(), values.end());
    return set;
  }
  set.channels = kChannels;
  set.pixels.resize(values.size());
  const std::size_t plane = set.shape().plane();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t pixel = i / kChannels, image = pixel / plane;
    set.pixels[(image * kChannels + i % kChannels) * plane + pixel % plane] =
        static_cast<std::uint8_t>(values[i]);
  }
  return set;
}

absl::StatusOr<std::vector<std::uint8_t>> DecodeIdxLabels(std::string_view file, std::size_t max_bytes) {
  ASSIGN_OR_RETURN(const Content content, Read(file, ContentKind::kLabels, max_bytes));
  return std::vector<std::uint8_t>(content.bytes.begin() + 8, content.bytes.end());
}

absl::StatusOr<ImageSet> ReadIdxImages(const std::string& images, const std::string& labels) {
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(images));
  auto set = DecodeIdxImages(file);
  if (!set.ok()) return WithContext(images, set.status());
  if (labels.empty()) return set;
  ASSIGN_OR_RETURN(const std::string label_file, runtime::ReadFile(labels));
  auto values = DecodeIdxLabels(label_file);
  if (!values.ok()) return WithContext(labels, values.status());
  if (values->size() < set->count()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} labels at offset 4, expected one for each of the {} images in {}", labels,
                    values->size(), set->count(), images));
  }
  values->resize(set->count());
  set->labels = *std::move(values);
  return set;
}

}  // namespace tributary::images
