#include "node/accelerator/xrt_frames.h"

#include <algorithm>
#include <utility>

#include "core/status/macros.h"

namespace tributary::accelerator {

absl::StatusOr<std::unique_ptr<XrtFrames>> XrtFrames::Create(XrtKernel kernel, const XrtOptions& options) {
  ASSIGN_OR_RETURN(auto units, XrtUnits::Open({.name = std::move(kernel.name)}, options));
  const std::size_t frames = options.frames_per_run;
  ASSIGN_OR_RETURN(XrtUnits::Job* const job, units->Add({.input_words = frames * kernel.input_words,
                                                         .output_words = frames * kernel.output_words,
                                                         .parameters = std::move(kernel.parameters)}));
  return std::unique_ptr<XrtFrames>(new XrtFrames(std::move(units), job, kernel.output_words, frames));
}

absl::Status XrtFrames::Run(std::size_t frames, std::size_t input_words, std::uint32_t configuration,
                            Fill fill, Take take) {
  const auto frames_of = [&](std::size_t run) {
    return std::min(frames_per_run_, frames - run * frames_per_run_);
  };
  return units_->Run(
      *job_, (frames + frames_per_run_ - 1) / frames_per_run_,
      [&](std::size_t run, std::span<std::uint64_t> input) {
        const std::size_t count = frames_of(run);
        fill(run * frames_per_run_, count, input.first(count * input_words));
        return XrtUnits::Call{.input_words = count * input_words,
                              .output_words = count * output_words_,
                              .frames = static_cast<std::uint32_t>(count),
                              .configuration = configuration};
      },
      [&](std::size_t run, std::span<const std::uint64_t> output, std::uint64_t /*cycles*/) {
        take(run * frames_per_run_, frames_of(run), output);
      });
}

}  // namespace tributary::accelerator
