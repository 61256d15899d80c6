// The positioning network on a board, through XRT.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fpga/model/positioning_model.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/xrt_board.h"
#include "node/accelerator/xrt_options.h"

namespace tributary {

// Same outputs as PositioningModel in int8_16, bit for bit. A batch is cut into runs of a few subjects; while
// the compute units execute some, the host prepares and transfers the next. All buffers are allocated when
// the board is opened. A run that times out is aborted and the board opened and loaded again; a failed batch
// leaves nothing running.
class XrtPositioning final : public Accelerator {
 public:
  static constexpr const char* kKernel = "positioning_kernel";

  // Opens the board and loads the parameters into its compute units. Errors: InvalidArgument for a network
  // that does not fit or senseless options; those of XrtBoard::Open and TakeUnits.
  static absl::StatusOr<std::unique_ptr<XrtPositioning>> Create(const PositioningNetwork& network,
                                                                std::size_t max_batch,
                                                                const XrtOptions& options);
  ~XrtPositioning() override;

  Shape shape() const override;
  std::string description() const override;
  // Errors: DeadlineExceeded for a run that did not end, Internal for one that failed on the board's bus,
  // Unavailable while the board cannot be opened again; those of XRT.
  absl::Status Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) override;
  Counters counters() const override;

 private:
  // Input and output of one run, and the run that is bound to them.
  struct Slot {
    xrt::bo input, output;
    xrt::run run;
    std::span<std::uint64_t> input_words, output_words;
    std::size_t first = 0, frames = 0;  // of the batch; frames 0: free
  };
  struct Unit {
    xrt::kernel kernel;
    xrt::bo parameters;
    std::array<Slot, 2> slots;
  };

  XrtPositioning(PositioningModel model, std::vector<std::uint64_t> parameters, std::size_t max_batch,
                 XrtOptions options);

  absl::Status OpenBoard();
  absl::Status AllocateUnit(xrt::kernel kernel);
  absl::Status LoadParameters(Unit& unit);
  absl::Status ReopenIfDue();
  void Close();

  absl::Status Start(Slot& slot, std::span<const float> features, std::size_t first, std::size_t frames);
  absl::Status Collect(Slot& slot, std::span<float> outputs);
  absl::Status InferRuns(std::span<const float> features, std::size_t batch, std::span<float> outputs);
  absl::Status Wait(Slot& slot, std::size_t frames, std::chrono::milliseconds timeout);
  void AbortAll();

  const PositioningModel model_;
  const std::vector<std::uint64_t> parameters_;
  const std::size_t max_batch_;
  const XrtOptions options_;

  std::unique_ptr<XrtBoard> board_;
  std::vector<Unit> units_;  // after board_: destroyed before it
  std::chrono::steady_clock::time_point next_open_{};
  std::chrono::milliseconds open_interval_;
  std::vector<char> finite_;  // [max_batch]

  std::atomic<std::uint64_t> runs_{0}, failed_runs_{0}, timeouts_{0}, reopened_{0};
};

}  // namespace tributary
