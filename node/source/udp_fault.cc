#include "node/source/udp_fault.h"

#include <array>

namespace tributary::source {

std::string_view UdpFaultName(UdpFault fault) {
  constexpr std::array<std::string_view, kUdpFaults> kNames = {
      "header", "magic", "version",  "encoding", "size", "scale",     "sender",
      "panel",  "width", "subjects", "epoch",    "late", "duplicate", "not_finite"};
  return kNames[static_cast<std::size_t>(fault)];
}

}  // namespace tributary::source
