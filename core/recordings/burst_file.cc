#include "core/recordings/burst_file.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/radio/burst.h"
#include "core/radio/sigmf_meta.h"
#include "core/radio/sigmf_samples.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::recordings {
namespace {

const char* FaultText(radio::BurstFault fault) {
  switch (fault) {
    case radio::BurstFault::kNotFinite:
      return "is not finite";
    case radio::BurstFault::kZero:
      return "has no power";
    case radio::BurstFault::kClipped:
      break;
  }
  return "is clipped: more than a quarter of its components have the same magnitude";
}

constexpr std::size_t kMaxRecordingBytes = std::size_t{16} << 30;

// As [n, 2, 128].
absl::StatusOr<parameters::NpyArray> ReadSigmfBursts(const std::string& path) {
  ASSIGN_OR_RETURN(const auto metadata, runtime::ReadFile(path, radio::kMaxSigmfMetaBytes));
  ASSIGN_OR_RETURN(const radio::SigmfMeta meta, WithContext(path, radio::ParseSigmfMeta(metadata)));
  ASSIGN_OR_RETURN(const auto data, runtime::ReadFile(radio::SigmfDataFile(path), kMaxRecordingBytes));
  ASSIGN_OR_RETURN(std::vector<float> bursts, WithContext(path, radio::CutSigmfBursts(meta, data)));
  const std::uint64_t count = bursts.size() / radio::kBurstFeatures;
  return parameters::NpyArray{.shape = {count, 2, radio::kBurstSamples}, .values = std::move(bursts)};
}

absl::StatusOr<parameters::NpyArray> ReadNpyBursts(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, runtime::ReadFile(path, kMaxRecordingBytes));
  ASSIGN_OR_RETURN(parameters::NpyArray array, WithContext(path, parameters::DecodeNpy(file)));
  if (array.shape.size() != 3 || array.shape[1] != 2 || array.shape[2] != radio::kBurstSamples) {
    return absl::InvalidArgumentError(fmt::format("{}: the array has the shape [{}], not [n, 2, {}]", path,
                                                  fmt::join(array.shape, ", "), radio::kBurstSamples));
  }
  return array;
}

}  // namespace

absl::StatusOr<parameters::NpyArray> ReadBursts(const std::string& path) {
  ASSIGN_OR_RETURN(parameters::NpyArray array,
                   radio::SigmfDataFile(path).empty() ? ReadNpyBursts(path) : ReadSigmfBursts(path));
  for (std::size_t n = 0; n < array.shape[0]; ++n) {
    const auto burst =
        std::span(array.values).subspan(n * radio::kBurstFeatures).first<radio::kBurstFeatures>();
    if (const auto fault = radio::NormaliseBurst(burst)) {
      return absl::InvalidArgumentError(fmt::format("{}: burst {} {}", path, n, FaultText(*fault)));
    }
  }
  return array;
}

}  // namespace tributary::recordings
