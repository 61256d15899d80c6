#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "core/nn/modulation/modulation_inference.h"
#include "fmt/format.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

class CpuModulation final : public Accelerator {
 public:
  CpuModulation(const nn::ModulationNetwork& network, std::size_t max_batch)
      : Accelerator({.inputs = nn::kModulationInput.size(),
                     .outputs = nn::kModulationClasses,
                     .max_batch = max_batch}),
        inference_(network) {}

  std::string description() const override {
    return fmt::format("cpu ({}, {})", fpga::NumberFormatName(fpga::NumberFormat::kFloat),
                       inference_.network().architecture->name);
  }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    inference_.Run(features, batch, outputs);
    return absl::OkStatus();
  }

  nn::ModulationInference inference_;
};

}  // namespace

Created CreateCpuModulation(const nn::ModulationNetwork& network, fpga::NumberFormat format,
                            std::size_t max_batch) {
  if (format != fpga::NumberFormat::kFloat) {
    return absl::InvalidArgumentError(fmt::format(
        "format: a modulation network runs in \"float\", not in \"{}\"", fpga::NumberFormatName(format)));
  }
  return std::make_unique<CpuModulation>(network, max_batch);
}

}  // namespace tributary::accelerator
