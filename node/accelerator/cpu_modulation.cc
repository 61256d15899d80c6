#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "core/nn/modulation/modulation_network.h"
#include "core/status/macros.h"
#include "fmt/format.h"
#include "fpga/model/modulation_import.h"
#include "fpga/model/modulation_int8.h"
#include "node/accelerator/create.h"
#include "node/accelerator/modulation_kernels.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kBurstInputs = nn::kModulationInput.size();
constexpr std::size_t kLogits = nn::kModulationClasses;

class CpuModulation : public Accelerator {
 public:
  CpuModulation(const nn::ModulationNetwork& network, fpga::NumberFormat format, std::size_t max_batch)
      : Accelerator({.inputs = kBurstInputs, .outputs = kLogits, .max_batch = max_batch}),
        description_(
            fmt::format("cpu ({}, {})", fpga::NumberFormatName(format), network.architecture->name)) {}

  std::string description() const override { return description_; }

 private:
  const std::string description_;
};

class FloatModulation final : public CpuModulation {
 public:
  FloatModulation(const nn::ModulationNetwork& network, std::size_t max_batch)
      : CpuModulation(network, fpga::NumberFormat::kFloat, max_batch),
        packed_(PackFloatModulation(fpga::ImportModulation(network))) {}

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    RunFloatModulation(packed_, features.data(), batch, outputs.data());
    return absl::OkStatus();
  }

  PackedFloatModulation packed_;
};

class Int8Modulation final : public CpuModulation {
 public:
  Int8Modulation(const nn::ModulationNetwork& network, const fpga::Int8Modulation& words,
                 std::size_t max_batch)
      : CpuModulation(network, fpga::NumberFormat::kInt8, max_batch), packed_(PackModulation(words)) {}

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    RunModulation(packed_, features.data(), batch, outputs.data());
    return absl::OkStatus();
  }

  PackedModulation packed_;
};

}  // namespace

Created CreateCpuModulation(const nn::ModulationNetwork& network, fpga::NumberFormat format,
                            std::size_t max_batch) {
  if (format == fpga::NumberFormat::kFloat) return std::make_unique<FloatModulation>(network, max_batch);
  if (format == fpga::NumberFormat::kInt8) {
    ASSIGN_OR_RETURN(const fpga::Int8Modulation words,
                     fpga::MakeInt8Modulation(fpga::ImportModulation(network)));
    return std::make_unique<Int8Modulation>(network, words, max_batch);
  }
  return absl::InvalidArgumentError(
      fmt::format("format: a modulation network runs in \"float\" or \"int8\", not in \"{}\"",
                  fpga::NumberFormatName(format)));
}

}  // namespace tributary::accelerator
