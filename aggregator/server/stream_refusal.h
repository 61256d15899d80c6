// Why the aggregator refused or ended a whole stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace tributary::server {

enum class StreamFault : std::uint8_t {
  kMalformed,      // bytes that are not a ReportRequest, a hello with a bad field
  kTooLarge,       // a message beyond max_message_bytes
  kHelloMissing,   // the first message has none
  kHelloRepeated,  // a later message has one
  kHelloTimeout,   // none within the time allowed
  kUnknownSite,
  kUnknownLeaf,  // the engine refuses a declared source
  kSourceTaken,  // another connected node reports it
  kModelDiffers,
  kSlotDiffers,
  kIdentityDiffers,  // the node's name is not its certificate's
  kOutOfOrder,       // a sequence that does not ascend
  kSuperseded,       // a newer stream of the same node
  kTooMany,          // nodes or streams
  kNotAllowed,       // the certificate's name owns other sources, or has lost its role
};
inline constexpr std::size_t kStreamFaults = 15;

// "malformed", "too_large" …: the label of a metric.
constexpr std::string_view StreamFaultName(StreamFault fault) {
  constexpr std::array<std::string_view, kStreamFaults> kNames = {
      "malformed",        "too_large",    "hello_missing", "hello_repeated", "hello_timeout",
      "unknown_site",     "unknown_leaf", "source_taken",  "model_differs",  "slot_differs",
      "identity_differs", "out_of_order", "superseded",    "too_many",       "not_allowed"};
  return kNames[static_cast<std::size_t>(fault)];
}

// The end of a stream: counted by `fault`, sent to the peer as `status`.
struct StreamRefusal {
  StreamFault fault = StreamFault::kMalformed;
  absl::Status status;
};

}  // namespace tributary::server
