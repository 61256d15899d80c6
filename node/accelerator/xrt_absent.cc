// Stands for xrt_create.cc in a build without XRT.
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

absl::Status Absent() {
  return absl::UnimplementedError(
      "accelerator: \"xrt\": this program was built without XRT. Install libxrt-dev and build again");
}

}  // namespace

std::string XclbinUuid(const XrtOptions&) { return ""; }

absl::Status CheckXrt(const std::vector<std::string_view>&, const XrtOptions&) { return Absent(); }

Created CreateXrtPositioning(const nn::PositioningNetwork&, std::size_t, const XrtOptions&) {
  return Absent();
}

Created CreateXrtModulation(const nn::ModulationNetwork&, std::size_t, const XrtOptions&) { return Absent(); }

CreatedBeacon CreateXrtBeacon(const nn::BeaconNetwork&, std::size_t, const XrtOptions&) { return Absent(); }

Created CreateXrtFusion(std::size_t, std::size_t, const XrtOptions&) { return Absent(); }

Created CreateXrtGraph(const graph::GraphModel&, std::size_t, const XrtOptions&) { return Absent(); }

absl::StatusOr<std::unique_ptr<graph::SectionTarget>> OpenXrtTensorUnit(const XrtOptions&) {
  return Absent();
}

absl::StatusOr<EncoderBoard> OpenXrtEncoderBoard(const XrtOptions&) { return Absent(); }

}  // namespace tributary::accelerator
