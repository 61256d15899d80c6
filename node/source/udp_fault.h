// Why a datagram was not used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::source {

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
  kLate,       // its slot has been handed on
  kDuplicate,  // features that are there already
  kNotFinite,  // a feature
};
inline constexpr std::size_t kUdpFaults = 14;

// "header", "magic" …: the label of a metric.
std::string_view UdpFaultName(UdpFault fault);

struct UdpRefusal {
  UdpFault fault = UdpFault::kHeader;
  std::string message;  // what was found and what is expected
};

}  // namespace tributary::source
