#include "node/source/udp_datagram.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tributary::source {
namespace {

static_assert(std::endian::native == std::endian::little, "the header is copied as it is");
static_assert(offsetof(UdpFragment, payload) == kUdpHeaderBytes, "without padding");

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

std::string_view UdpFaultName(UdpFault fault) {
  constexpr std::array<std::string_view, kUdpFaults> kNames = {
      "header", "magic",    "version", "encoding", "size", "scale",     "sender",    "panel",
      "width",  "subjects", "epoch",   "captured", "late", "duplicate", "not_finite"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::variant<UdpFragment, UdpRefusal> DecodeUdpFragment(std::span<const std::byte> datagram) {
  if (datagram.size() < kUdpHeaderBytes) {
    return Refuse(UdpFault::kHeader, "{} bytes, the header has {}", datagram.size(), kUdpHeaderBytes);
  }
  UdpFragment fragment;
  std::memcpy(static_cast<void*>(&fragment), datagram.data(), kUdpHeaderBytes);
  fragment.payload = datagram.subspan(kUdpHeaderBytes);
  if (fragment.magic != UdpFragment().magic) {
    return Refuse(UdpFault::kMagic, "found {:02x}, expected 54 52 42 43 (\"TRBC\")",
                  fmt::join(fragment.magic, " "));
  }
  if (fragment.version != UdpFragment().version) {
    return Refuse(UdpFault::kFormatVersion, "found {}, expected {}", fragment.version, UdpFragment().version);
  }
  if (fragment.encoding > UdpEncoding::kInt16) {
    return Refuse(UdpFault::kEncoding, "found {}, expected 0 (float32) or 1 (int16)",
                  static_cast<int>(fragment.encoding));
  }
  if (fragment.subjects == 0) return Refuse(UdpFault::kSubjects, "found 0, expected at least 1");
  if (fragment.count == 0) return Refuse(UdpFault::kSize, "count is 0, expected at least 1");
  if (std::size_t{fragment.first} + fragment.count > fragment.width) {
    return Refuse(UdpFault::kSize, "features {} to {} of {}", fragment.first, fragment.first + fragment.count,
                  fragment.width);
  }
  if (fragment.payload.size() != fragment.count * SizeOf(fragment.encoding)) {
    return Refuse(UdpFault::kSize, "payload of {} bytes for {} features of {} bytes", fragment.payload.size(),
                  fragment.count, SizeOf(fragment.encoding));
  }
  if (!(std::isfinite(fragment.scale) && fragment.scale > 0.0f)) {
    return Refuse(UdpFault::kScale, "found {}", fragment.scale);
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
  std::string bytes(reinterpret_cast<const char*>(&fragment), kUdpHeaderBytes);
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
