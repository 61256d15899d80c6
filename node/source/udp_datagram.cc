#include "node/source/udp_datagram.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tributary::source {
namespace {

static_assert(std::endian::native == std::endian::little, "the datagram's numbers are copied as they are");

constexpr char kMagic[4] = {'T', 'R', 'B', 'C'};
constexpr std::uint8_t kVersion = 1;

std::size_t SizeOf(UdpEncoding encoding) { return encoding == UdpEncoding::kFloat32 ? 4 : 2; }

template <typename T>
T Load(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

std::variant<UdpFragment, UdpRefusal> DecodeUdpFragment(std::span<const std::byte> datagram) {
  if (datagram.size() < kUdpHeaderBytes) {
    return UdpRefusal{UdpFault::kHeader,
                      fmt::format("{} bytes, the header has {}", datagram.size(), kUdpHeaderBytes)};
  }
  if (std::memcmp(datagram.data(), kMagic, sizeof(kMagic)) != 0) {
    const auto byte = [&datagram](std::size_t at) { return Load<std::uint8_t>(datagram, at); };
    return UdpRefusal{UdpFault::kMagic,
                      fmt::format("found {:02x} {:02x} {:02x} {:02x}, expected 54 52 42 43 (\"TRBC\")",
                                  byte(0), byte(1), byte(2), byte(3))};
  }
  if (const auto version = Load<std::uint8_t>(datagram, 4); version != kVersion) {
    return UdpRefusal{UdpFault::kFormatVersion, fmt::format("found {}, expected {}", version, kVersion)};
  }
  const auto encoding = Load<std::uint8_t>(datagram, 5);
  if (encoding > static_cast<std::uint8_t>(UdpEncoding::kInt16)) {
    return UdpRefusal{UdpFault::kEncoding,
                      fmt::format("found {}, expected 0 (float32) or 1 (int16)", encoding)};
  }
  const UdpFragment fragment{.encoding = static_cast<UdpEncoding>(encoding),
                             .panel = Load<std::uint16_t>(datagram, 6),
                             .epoch = Load<std::uint64_t>(datagram, 8),
                             .captured_unix_ns = Load<std::int64_t>(datagram, 16),
                             .subject = Load<std::uint32_t>(datagram, 24),
                             .subjects = Load<std::uint16_t>(datagram, 28),
                             .width = Load<std::uint16_t>(datagram, 30),
                             .first = Load<std::uint16_t>(datagram, 32),
                             .count = Load<std::uint16_t>(datagram, 34),
                             .scale = Load<float>(datagram, 36),
                             .payload = datagram.subspan(kUdpHeaderBytes)};
  if (fragment.subjects == 0) return UdpRefusal{UdpFault::kSubjects, "found 0, expected at least 1"};
  if (fragment.count == 0) return UdpRefusal{UdpFault::kSize, "count is 0, expected at least 1"};
  if (std::size_t{fragment.first} + fragment.count > fragment.width) {
    return UdpRefusal{UdpFault::kSize, fmt::format("features {} to {} of {}", fragment.first,
                                                   fragment.first + fragment.count, fragment.width)};
  }
  if (fragment.payload.size() != fragment.count * SizeOf(fragment.encoding)) {
    return UdpRefusal{UdpFault::kSize,
                      fmt::format("payload of {} bytes for {} features of {} bytes", fragment.payload.size(),
                                  fragment.count, SizeOf(fragment.encoding))};
  }
  if (!(std::isfinite(fragment.scale) && fragment.scale > 0.0f)) {
    return UdpRefusal{UdpFault::kScale, fmt::format("found {}", fragment.scale)};
  }
  return fragment;
}

bool UdpFragment::CopyFeatures(float* features) const {
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) {
    const float number = encoding == UdpEncoding::kFloat32
                             ? Load<float>(payload, 4 * i)
                             : static_cast<float>(Load<std::int16_t>(payload, 2 * i));
    features[i] = number * scale;
    finite = finite && std::isfinite(features[i]);
  }
  return finite;
}

std::string EncodeUdpFragment(const UdpFragment& fragment, std::span<const float> features) {
  std::string bytes(kMagic, sizeof(kMagic));
  Append(bytes, kVersion);
  Append(bytes, static_cast<std::uint8_t>(fragment.encoding));
  Append(bytes, fragment.panel);
  Append(bytes, fragment.epoch);
  Append(bytes, fragment.captured_unix_ns);
  Append(bytes, fragment.subject);
  Append(bytes, fragment.subjects);
  Append(bytes, fragment.width);
  Append(bytes, fragment.first);
  Append(bytes, fragment.count);
  Append(bytes, fragment.scale);
  for (const float feature : features.first(fragment.count)) {
    if (fragment.encoding == UdpEncoding::kFloat32) {
      Append(bytes, feature / fragment.scale);
      continue;
    }
    using Limits = std::numeric_limits<std::int16_t>;
    const float word = std::nearbyint(feature / fragment.scale);
    Append(bytes, static_cast<std::int16_t>(std::clamp<float>(word, Limits::min(), Limits::max())));
  }
  return bytes;
}

}  // namespace tributary::source
