#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/status/context.h"
#include "core/status/macros.h"
#include "fpga/model/fusion_model.h"
#include "fpga/model/positioning_image.h"
#include "fpga/model/positioning_model.h"
#include "node/accelerator/create.h"
#include "node/accelerator/fusion_accelerator.h"
#include "node/accelerator/positioning_kernels.h"
#include "node/accelerator/xrt_board.h"
#include "node/accelerator/xrt_fallback.h"
#include "node/accelerator/xrt_frames.h"

namespace tributary::accelerator {
namespace {

using Model = fpga::FixedPositioning;

constexpr std::size_t kInputWords = Model::kInputs / 8;
constexpr std::size_t kOutputWords = (Model::kOutputs + 1) / 2;

// A frame is a subject.
class XrtPositioning final : public Accelerator {
 public:
  XrtPositioning(Model model, std::size_t max_batch, std::unique_ptr<XrtFrames> frames)
      : Accelerator({.inputs = Model::kInputs, .outputs = Model::kOutputs, .max_batch = max_batch}),
        model_(std::move(model)),
        frames_(std::move(frames)),
        finite_(max_batch) {}

  std::string description() const override {
    return fmt::format("xrt (int8_16, {})", frames_->description());
  }
  Counters counters() const override { return frames_->counters(); }

 private:
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) override {
    const auto fill = [&](std::size_t first, std::size_t count, std::span<std::uint64_t> words) {
      auto* bytes = reinterpret_cast<std::int8_t*>(words.data());
      for (std::size_t i = first; i < first + count; ++i, bytes += Model::kInputs) {
        finite_[i] = PrepareInput(model_.input, &features[i * Model::kInputs], bytes);
        if (!finite_[i]) std::fill_n(bytes, Model::kInputs, std::int8_t{0});
      }
    };
    const float unit = std::ldexp(1.0f, -model_.output_fraction);
    const auto take = [&](std::size_t first, std::size_t count, std::span<const std::uint64_t> words) {
      std::array<std::int32_t, Model::kOutputs> results;
      for (std::size_t i = 0; i < count; ++i) {
        fpga::PositioningResults(words.subspan(i * kOutputWords, kOutputWords), results);
        std::ranges::transform(results, &outputs[(first + i) * Model::kOutputs], [&](std::int32_t result) {
          return finite_[first + i] ? unit * static_cast<float>(result)
                                    : std::numeric_limits<float>::quiet_NaN();
        });
      }
    };
    return frames_->Run(batch, kInputWords, 0, fill, take);
  }

  const Model model_;
  const std::unique_ptr<XrtFrames> frames_;
  std::vector<char> finite_;  // [max_batch]
};

// A frame of the kernel is a subject; the subjects of a run have equally many tuples.
class XrtFusion final : public FusionAccelerator {
 public:
  XrtFusion(std::size_t panels, std::size_t max_batch, std::unique_ptr<XrtFrames> frames)
      : FusionAccelerator(panels, max_batch), frames_(std::move(frames)) {}

  std::string description() const override { return fmt::format("xrt (fusion, {})", frames_->description()); }
  Counters counters() const override { return frames_->counters(); }

 private:
  absl::Status Fuse(std::span<const fpga::FusionTuple> tuples, std::size_t panels,
                    std::span<fpga::FusionTuple> fused) override {
    const auto fill = [&](std::size_t first, std::size_t count, std::span<std::uint64_t> words) {
      fpga::FusionTupleWords(tuples.subspan(first * panels, count * panels), words);
    };
    const auto take = [&](std::size_t first, std::size_t count, std::span<const std::uint64_t> words) {
      fpga::FusionTuplesFromWords(words, fused.subspan(first, count));
    };
    return frames_->Run(fused.size(), panels * fpga::kFusionTupleWords,
                        fpga::FusionConfiguration(panels, /*raw=*/false), fill, take);
  }

  const std::unique_ptr<XrtFrames> frames_;
};

absl::Status CheckXclbin(const std::vector<std::string_view>& kernels, const XrtOptions& options) {
  const absl::StatusOr<XclbinSummary> xclbin = ReadXclbin(options.xclbin);
  if (!xclbin.ok()) return WithContext("xclbin", xclbin.status());
  RETURN_IF_ERROR(WithContext("xclbin_uuid", CheckXclbinUuid(*xclbin, options)));
  const auto has_unit = [&](std::string_view kernel) { return HasUnit(*xclbin, kernel); };
  if (std::ranges::any_of(kernels, has_unit)) return absl::OkStatus();
  return absl::NotFoundError(fmt::format("xclbin: {} has no compute unit of {}. Build the xclbin with it",
                                         options.xclbin, fmt::join(kernels, " or ")));
}

}  // namespace

std::string XclbinUuid(const XrtOptions& options) {
  const absl::StatusOr<XclbinSummary> summary = ReadXclbin(options.xclbin);
  return summary.ok() ? summary->uuid : "";
}

absl::Status CheckXrt(const std::vector<std::string_view>& kernels, const XrtOptions& options) {
  const absl::Status status = CheckXclbin(kernels, options);
  return options.fall_back_to_cpu && !absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
}

Created CreateXrtPositioning(const nn::PositioningNetwork& network, std::size_t max_batch,
                             const XrtOptions& options) {
  const auto create_board = [&]() -> Created {
    ASSIGN_OR_RETURN(Model model, fpga::MakeFixedPositioning(network, fpga::NumberFormat::kInt8Int16));
    ASSIGN_OR_RETURN(auto frames, XrtFrames::Create({std::string(kXrtPositioningKernel), kInputWords,
                                                     kOutputWords, fpga::PositioningParameterWords(model)},
                                                    options));
    return std::make_unique<XrtPositioning>(std::move(model), max_batch, std::move(frames));
  };
  return WithFallback<XrtFallback<Accelerator>, Accelerator>(create_board(), options, [&] {
    return CreateCpuPositioning(network, fpga::NumberFormat::kInt8Int16, max_batch);
  });
}

Created CreateXrtFusion(std::size_t panels, std::size_t max_batch, const XrtOptions& options) {
  const auto create_board = [&]() -> Created {
    RETURN_IF_ERROR(FusionAccelerator::Check(panels, max_batch));
    ASSIGN_OR_RETURN(
        auto frames,
        XrtFrames::Create(
            {std::string(kXrtFusionKernel), panels * fpga::kFusionTupleWords, fpga::kFusionTupleWords, {}},
            options));
    return std::make_unique<XrtFusion>(panels, max_batch, std::move(frames));
  };
  return WithFallback<XrtFallback<Accelerator>, Accelerator>(
      create_board(), options, [&] { return CreateCpuFusion(panels, max_batch); });
}

}  // namespace tributary::accelerator
