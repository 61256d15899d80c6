// Sends frames through the compute units of one kernel of fpga/rtl/kernel, through XRT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/xrt_units.h"

namespace tributary::accelerator {

// The host's description of a kernel. Words have 64 bits.
struct XrtKernel {
  std::string name;                       // in the xclbin
  std::size_t input_words = 0;            // of a frame, at most
  std::size_t output_words = 0;           // of a frame
  std::vector<std::uint64_t> parameters;  // loaded each time that the board is opened; empty: none
};

// Cuts a batch into runs of a few frames, which are a job of XrtUnits. One thread, except for counters().
class XrtFrames {
 public:
  // The frames [first, first + count) of the batch, in words.
  using Fill = absl::FunctionRef<void(std::size_t first, std::size_t count, std::span<std::uint64_t> words)>;
  using Take =
      absl::FunctionRef<void(std::size_t first, std::size_t count, std::span<const std::uint64_t> words)>;

  // Opens the board and loads the parameters into its compute units. Errors: those of XrtUnits::Open and Add.
  static absl::StatusOr<std::unique_ptr<XrtFrames>> Create(XrtKernel kernel, const XrtOptions& options);

  // Runs a batch. `input_words` per frame (at most the kernel's) and `configuration` (its register) are the
  // same for all frames. Errors: those of XrtUnits::Run.
  absl::Status Run(std::size_t frames, std::size_t input_words, std::uint32_t configuration, Fill fill,
                   Take take);

  // As XrtUnits::Load.
  absl::Status Load(std::vector<std::uint64_t> parameters) {
    return units_->Load(*job_, std::move(parameters));
  }

  std::string description() const { return units_->description(); }
  Accelerator::Counters counters() const { return units_->counters(); }

 private:
  XrtFrames(std::unique_ptr<XrtUnits> units, XrtUnits::Job* job, std::size_t output_words,
            std::size_t frames_per_run)
      : units_(std::move(units)), job_(job), output_words_(output_words), frames_per_run_(frames_per_run) {}

  const std::unique_ptr<XrtUnits> units_;
  XrtUnits::Job* const job_;
  const std::size_t output_words_;  // of a frame
  const std::size_t frames_per_run_;
};

}  // namespace tributary::accelerator
