#include "cli/offline/recognise_bursts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "core/nn/optimise/cross_entropy.h"
#include "core/parameters/npy.h"
#include "core/radio/burst.h"
#include "core/radio/sigmf_meta.h"
#include "core/radio/sigmf_samples.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kBurstBatch = 64;

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
absl::StatusOr<parameters::NpyArray> ReadSigmf(const std::string& path) {
  ASSIGN_OR_RETURN(const auto metadata, runtime::ReadFile(path, radio::kMaxSigmfMetaBytes));
  ASSIGN_OR_RETURN(const radio::SigmfMeta meta, WithContext(path, radio::ParseSigmfMeta(metadata)));
  ASSIGN_OR_RETURN(const auto data, runtime::ReadFile(radio::SigmfDataFile(path), kMaxRecordingBytes));
  ASSIGN_OR_RETURN(std::vector<float> bursts, WithContext(path, radio::CutSigmfBursts(meta, data)));
  const std::uint64_t count = bursts.size() / radio::kBurstFeatures;
  return parameters::NpyArray{.shape = {count, 2, radio::kBurstSamples}, .values = std::move(bursts)};
}

absl::StatusOr<parameters::NpyArray> ReadNpy(const std::string& path) {
  ASSIGN_OR_RETURN(const auto file, runtime::ReadFile(path, kMaxRecordingBytes));
  ASSIGN_OR_RETURN(parameters::NpyArray array, WithContext(path, parameters::DecodeNpy(file)));
  if (array.shape.size() != 3 || array.shape[1] != 2 || array.shape[2] != radio::kBurstSamples) {
    return absl::InvalidArgumentError(fmt::format("{}: the array has the shape [{}], not [n, 2, {}]", path,
                                                  fmt::join(array.shape, ", "), radio::kBurstSamples));
  }
  return array;
}

// Scaled to unit power.
absl::StatusOr<parameters::NpyArray> ReadBursts(const std::string& path) {
  ASSIGN_OR_RETURN(parameters::NpyArray array,
                   radio::SigmfDataFile(path).empty() ? ReadNpy(path) : ReadSigmf(path));
  for (std::size_t n = 0; n < array.shape[0]; ++n) {
    const auto burst =
        std::span(array.values).subspan(n * radio::kBurstFeatures).first<radio::kBurstFeatures>();
    if (const auto fault = radio::NormaliseBurst(burst)) {
      return absl::InvalidArgumentError(fmt::format("{}: burst {} {}", path, n, FaultText(*fault)));
    }
  }
  return array;
}

}  // namespace

absl::Status RecogniseBursts(const std::string& model, const std::string& iq, fpga::NumberFormat format,
                             const std::string& out) {
  constexpr std::size_t kClasses = nn::kModulationClasses;
  ASSIGN_OR_RETURN(const auto loaded, LoadModulationModel(model));
  ASSIGN_OR_RETURN(const auto bursts, ReadBursts(iq));
  ASSIGN_OR_RETURN(const auto accelerator, accelerator::CreateAccelerator(
                                               {.format = format, .max_batch = kBurstBatch}, loaded.network));
  const std::size_t count = bursts.shape[0];
  std::vector<float> results(count * kClasses);
  for (std::size_t first = 0; first < count; first += kBurstBatch) {
    const std::size_t size = std::min(kBurstBatch, count - first);
    const auto batch = std::span(results).subspan(first * kClasses, size * kClasses);
    RETURN_IF_ERROR(accelerator->Infer(
        std::span(bursts.values).subspan(first * radio::kBurstFeatures, size * radio::kBurstFeatures), size,
        batch));
    for (std::size_t n = 0; n < size; ++n) {
      const auto row = batch.subspan(n * kClasses, kClasses);
      nn::LogSoftmax(row, loaded.network.temperature, row);
    }
  }
  const std::array<std::uint64_t, 2> shape = {count, kClasses};
  return WriteOutput(out, parameters::EncodeNpy(shape, results));
}

}  // namespace tributary::cli
