#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/status/macros.h"
#include "fpga/model/augmentation.h"
#include "node/accelerator/create.h"
#include "node/accelerator/xrt_tensor.h"
#include "node/accelerator/xrt_units.h"
#include "node/accelerator/xrt_xclbin.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kImageWords = fpga::kImagePixels / 8;

// A frame is an image. The sequence of choices goes on from run to run, so each run starts from its own seed,
// on any of the units.
class XrtViews final : public ViewUnit {
 public:
  static absl::StatusOr<std::unique_ptr<ViewUnit>> Open(const XrtOptions& options) {
    ASSIGN_OR_RETURN(auto units, XrtUnits::Open({.name = std::string(kXrtViewsKernel)}, options));
    const std::size_t words = kImageWords * options.frames_per_run;
    ASSIGN_OR_RETURN(XrtUnits::Job* const job, units->Add({.input_words = words, .output_words = words}));
    return std::unique_ptr<ViewUnit>(new XrtViews(std::move(units), job, options.frames_per_run));
  }

  absl::Status MakeViews(std::span<const std::uint8_t> images, std::uint32_t seed,
                         std::span<std::uint8_t> views) override {
    const std::size_t count = images.size() / fpga::kImagePixels;
    fpga::AugmentationSequence sequence(seed, {});
    // The pixels of a run, which begin at `first`.
    const auto frames = [&](std::size_t run) {
      return std::min(frames_per_run_, count - run * frames_per_run_);
    };
    const auto first = [&](std::size_t run) { return run * frames_per_run_ * fpga::kImagePixels; };
    const auto fill = [&](std::size_t run, std::span<std::uint64_t> words) {
      const std::size_t n = frames(run);
      std::memcpy(words.data(), &images[first(run)], n * fpga::kImagePixels);
      const std::uint32_t begin = sequence.seed();
      for (std::size_t i = 0; i < n; ++i) sequence.Next();
      return XrtUnits::Call{
          .input_words = n * kImageWords,
          .output_words = n * kImageWords,
          .frames = static_cast<std::uint32_t>(n),
          .configuration = fpga::AugmentConfiguration::kAugment | fpga::AugmentConfiguration::kSetSeed,
          .seed = begin};
    };
    const auto take = [&](std::size_t run, std::span<const std::uint64_t> words, std::uint64_t /*cycles*/) {
      std::memcpy(&views[first(run)], words.data(), words.size_bytes());
    };
    return units_->Run(*job_, (count + frames_per_run_ - 1) / frames_per_run_, fill, take);
  }

  Accelerator::Counters counters() const override { return units_->counters(); }

 private:
  XrtViews(std::unique_ptr<XrtUnits> units, XrtUnits::Job* job, std::size_t frames_per_run)
      : units_(std::move(units)), job_(job), frames_per_run_(frames_per_run) {}

  const std::unique_ptr<XrtUnits> units_;
  XrtUnits::Job* const job_;
  const std::size_t frames_per_run_;
};

}  // namespace

absl::StatusOr<EncoderBoard> OpenXrtEncoderBoard(const XrtOptions& options) {
  ASSIGN_OR_RETURN(const XclbinSummary xclbin, ReadXclbin(options.xclbin));
  EncoderBoard board;
  if (HasUnit(xclbin, kXrtViewsKernel)) {
    ASSIGN_OR_RETURN(board.views, XrtViews::Open(options));
  }
  const auto has_unit = [&](std::string_view kernel) { return HasUnit(xclbin, kernel); };
  if (std::ranges::any_of(kTrainingTensorKernels, has_unit)) {
    ASSIGN_OR_RETURN(board.tensors, XrtTensorTarget::Open(kTrainingTensorKernels, options));
  }
  if (board.views != nullptr || board.tensors != nullptr) return board;
  return absl::NotFoundError(fmt::format("{} has no compute unit of {} or {}. Build the xclbin with one",
                                         options.xclbin, kXrtViewsKernel, kXrtTensorKernel));
}

}  // namespace tributary::accelerator
