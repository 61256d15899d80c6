// Any bytes as a file of a network: what decodes also encodes, with the same identity.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/nn/beacon/beacon_network.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/positioning/positioning_network.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::nn;
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  if (const auto network = DecodePositioning(file); network.ok()) {
    const auto again = DecodePositioning(EncodePositioning(*network));
    if (!again.ok() || again->sha256 != network->sha256) std::abort();
  }
  if (const auto network = DecodeBeacon(file); network.ok()) {
    const auto again = DecodeBeacon(EncodeBeacon(*network));
    if (!again.ok() || again->sha256 != network->sha256) std::abort();
  }
  if (const auto network = DecodeModulation(file); network.ok()) {
    const auto again = DecodeModulation(EncodeModulation(*network));
    if (!again.ok() || again->sha256 != network->sha256) std::abort();
  }
  return 0;
}
