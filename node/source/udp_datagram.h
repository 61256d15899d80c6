// One datagram of channel state from a front end; docs/udp-datagram.md is the reference. Pure over bytes.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/estimate/slot_length.h"

namespace tributary::source {

inline constexpr std::size_t kUdpHeaderBytes = 40;
inline constexpr std::size_t kMaxUdpDatagramBytes = 65'507;

// Why a datagram was not used.
enum class UdpFault : std::uint8_t {
  kHeader,  // shorter than the header
  kMagic,
  kFormatVersion,
  kEncoding,
  kSize,       // first, count, width and the bytes that follow do not fit together
  kScale,      // not finite or not positive
  kSender,     // another than the configured front end
  kPanel,      // another panel's
  kWidth,      // not the model's
  kSubjects,   // none, more than max_subjects, or not as in the slot's other datagrams
  kEpoch,      // too far from this machine's clock
  kCaptured,   // too far from its slot
  kLate,       // its slot has been handed on
  kDuplicate,  // features that are there already
  kNotFinite,  // a feature
};
inline constexpr std::size_t kUdpFaults = 15;

// "header", "magic" …: the label of a metric.
std::string_view UdpFaultName(UdpFault fault);

struct UdpRefusal {
  UdpFault fault = UdpFault::kHeader;
  std::string message;  // what was found and what is expected
};

template <typename... Values>
UdpRefusal Refuse(UdpFault fault, fmt::format_string<Values...> message, Values&&... values) {
  return {fault, fmt::format(message, std::forward<Values>(values)...)};
}

enum class UdpEncoding : std::uint8_t { kFloat32 = 0, kInt16 = 1 };

// A run of one subject's features in one slot: the header as it stands in the datagram, and a view of the
// rest.
struct UdpFragment {
  std::array<std::uint8_t, 4> magic = {0x54, 0x52, 0x42, 0x43};  // "TRBC"
  std::uint8_t version = 1;
  UdpEncoding encoding = UdpEncoding::kFloat32;
  std::uint16_t panel = 0;
  estimate::Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;
  std::uint32_t subject = 0;
  std::uint16_t subjects = 0;          // in this slot
  std::uint16_t width = 0;             // features per subject
  std::uint16_t first = 0;             // index of the first feature in this datagram
  std::uint16_t count = 0;             // of features in this datagram
  float scale = 1.0f;                  // a feature is the encoded number times this
  std::span<const std::byte> payload;  // a view of the datagram

  // Writes `count` features. False if one is not finite.
  bool CopyFeatures(float* features) const;
};

// Makes every check that a single datagram allows. A refusal names field and value.
std::variant<UdpFragment, UdpRefusal> DecodeUdpFragment(std::span<const std::byte> datagram);

// Encodes a datagram, for front ends in C++ and for tests: header of `fragment` (payload ignored) and
// `fragment.count` features as float32, or as int16 rounded to multiples of the scale and saturated.
std::string EncodeUdpFragment(const UdpFragment& fragment, std::span<const float> features);

}  // namespace tributary::source
