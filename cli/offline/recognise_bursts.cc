#include "cli/offline/recognise_bursts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/failure.h"
#include "cli/model/model_source.h"
#include "core/nn/optimise/cross_entropy.h"
#include "core/parameters/npy.h"
#include "core/radio/burst.h"
#include "core/recordings/burst_file.h"
#include "core/status/macros.h"
#include "node/accelerator/create.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kBurstBatch = 64;

}  // namespace

absl::Status RecogniseBursts(const std::string& model, const std::string& iq, fpga::NumberFormat format,
                             const std::string& out) {
  ASSIGN_OR_RETURN(const auto loaded, LoadModulationModel(model));
  ASSIGN_OR_RETURN(const auto bursts, recordings::ReadBursts(iq));
  ASSIGN_OR_RETURN(const auto accelerator, accelerator::CreateAccelerator(
                                               {.format = format, .max_batch = kBurstBatch}, loaded.network));
  const std::size_t count = bursts.shape[0];
  std::vector<float> results(count * nn::kModulationClasses);
  for (std::size_t first = 0; first < count; first += kBurstBatch) {
    const std::size_t size = std::min(kBurstBatch, count - first);
    const auto batch =
        std::span(results).subspan(first * nn::kModulationClasses, size * nn::kModulationClasses);
    RETURN_IF_ERROR(accelerator->Infer(
        std::span(bursts.values).subspan(first * radio::kBurstFeatures, size * radio::kBurstFeatures), size,
        batch));
    for (std::size_t n = 0; n < size; ++n) {
      const auto row = batch.subspan(n * nn::kModulationClasses, nn::kModulationClasses);
      nn::LogSoftmax(row, loaded.network.temperature, row);
    }
  }
  const std::array<std::uint64_t, 2> shape = {count, nn::kModulationClasses};
  return WriteOutput(out, parameters::EncodeNpy(shape, results));
}

}  // namespace tributary::cli
