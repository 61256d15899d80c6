#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fpga/model/modulation_image.h"
#include "fpga/model/modulation_import.h"
#include "fpga/model/modulation_int8.h"
#include "fpga/model/positioning_image.h"
#include "node/accelerator/create.h"
#include "node/accelerator/xrt_fallback.h"
#include "node/accelerator/xrt_frames.h"
#include "node/accelerator/xrt_xclbin.h"

namespace tributary::accelerator {
namespace {

// A frame is a burst.
class XrtModulation final : public Accelerator {
 public:
  XrtModulation(fpga::Int8Modulation words, std::size_t max_batch, std::unique_ptr<XrtFrames> frames)
      : Accelerator(
            {.inputs = fpga::kModulationInputs, .outputs = fpga::kModulationClasses, .max_batch = max_batch}),
        words_(std::move(words)),
        frames_(std::move(frames)),
        finite_(max_batch) {}

  std::string description() const override { return fmt::format("xrt (int8, {})", frames_->description()); }
  Counters counters() const override { return frames_->counters(); }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    const auto fill = [&](std::size_t first, std::size_t count, std::span<std::uint64_t> words) {
      std::array<std::int8_t, fpga::kModulationInputs> samples;
      for (std::size_t i = 0; i < count; ++i) {
        const auto burst = features.subspan((first + i) * fpga::kModulationInputs, fpga::kModulationInputs);
        const bool finite = std::ranges::all_of(burst, [](float sample) { return std::isfinite(sample); });
        finite_[first + i] = finite;
        std::ranges::transform(burst, samples.begin(), [&](float sample) {
          return finite ? fpga::QuantiseSample(words_, sample) : std::int8_t{0};
        });
        fpga::ModulationBurstWords(
            samples, words.subspan(i * fpga::kModulationInputWords, fpga::kModulationInputWords));
      }
    };
    const auto take = [&](std::size_t first, std::size_t count, std::span<const std::uint64_t> words) {
      std::array<std::int32_t, fpga::kModulationClasses> logits;
      for (std::size_t i = 0; i < count; ++i) {
        fpga::PositioningResults(
            words.subspan(i * fpga::kModulationOutputWords, fpga::kModulationOutputWords), logits);
        std::ranges::transform(logits, &outputs[(first + i) * fpga::kModulationClasses],
                               [&](std::int32_t logit) {
                                 return finite_[first + i] ? static_cast<float>(logit) * words_.logit_unit
                                                           : std::numeric_limits<float>::quiet_NaN();
                               });
      }
    };
    return frames_->Run(batch, fpga::kModulationInputWords, 0, fill, take);
  }

  const fpga::Int8Modulation words_;
  const std::unique_ptr<XrtFrames> frames_;
  std::vector<char> finite_;  // [max_batch]
};

// The first kernel of which the xclbin has a compute unit. If it has none or cannot be read,
// XrtFrames::Create says so.
const fpga::ModulationKernel& KernelOf(const XrtOptions& options) {
  const absl::StatusOr<XclbinSummary> xclbin = ReadXclbin(options.xclbin);
  const auto has_unit = [&](const fpga::ModulationKernel& kernel) {
    return xclbin.ok() && HasUnit(*xclbin, kernel.name);
  };
  const auto* found = std::ranges::find_if(fpga::kModulationKernels, has_unit);
  return found == fpga::kModulationKernels.end() ? fpga::kModulationKernels.front() : *found;
}

}  // namespace

Created CreateXrtModulation(const nn::ModulationNetwork& network, std::size_t max_batch,
                            const XrtOptions& options) {
  const auto create_board = [&]() -> Created {
    ASSIGN_OR_RETURN(fpga::Int8Modulation words, fpga::MakeInt8Modulation(fpga::ImportModulation(network)));
    const fpga::ModulationKernel& kernel = KernelOf(options);
    ASSIGN_OR_RETURN(std::vector<std::uint64_t> parameters,
                     fpga::ModulationParameterWords(words, kernel.parallelism));
    ASSIGN_OR_RETURN(auto frames, XrtFrames::Create({std::string(kernel.name), fpga::kModulationInputWords,
                                                     fpga::kModulationOutputWords, std::move(parameters)},
                                                    options));
    return std::make_unique<XrtModulation>(std::move(words), max_batch, std::move(frames));
  };
  return WithFallback<XrtFallback<Accelerator>, Accelerator>(create_board(), options, [&] {
    return CreateCpuModulation(network, fpga::NumberFormat::kInt8, max_batch);
  });
}

}  // namespace tributary::accelerator
