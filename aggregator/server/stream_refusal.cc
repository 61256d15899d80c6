#include "aggregator/server/stream_refusal.h"

namespace tributary::server {

std::string_view StreamFaultName(StreamFault fault) {
  constexpr std::array<std::string_view, kStreamFaults> kNames = {
      "malformed",        "too_large",    "hello_missing", "hello_repeated", "hello_timeout",
      "unknown_site",     "unknown_leaf", "source_taken",  "model_differs",  "slot_differs",
      "identity_differs", "out_of_order", "superseded",    "too_many"};
  return kNames[static_cast<std::size_t>(fault)];
}

}  // namespace tributary::server
