// Any bytes as a file of a network: what decodes also encodes, with the same identity.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/nn/beacon/beacon_network.h"
#include "core/nn/geometry/range_fix.h"
#include "core/nn/geometry/range_geometry.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/nn/positioning/positioning_network.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace tributary::nn;
  const std::string_view file(reinterpret_cast<const char*>(bytes), size);
  if (const auto network = DecodePositioning(file); network.ok()) {
    const auto again = DecodePositioning(EncodePositioning(*network));
    if (!again.ok() || again->sha256 != network->sha256) std::abort();
  }
  if (const auto geometry = DecodeRangeGeometry(file); geometry.ok()) {
    const auto again = DecodeRangeGeometry(EncodeRangeGeometry(*geometry));
    if (!again.ok() || again->sha256 != geometry->sha256) std::abort();
    // Whatever the values: no fix, or a finite one.
    const std::vector<double> ranges_m(geometry->inputs(), 3.0);
    if (geometry->inputs() <= 64) {
      if (const auto fix = FixOf(*geometry, ranges_m); fix && !std::isfinite(fix->position_m[0]))
        std::abort();
    }
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
