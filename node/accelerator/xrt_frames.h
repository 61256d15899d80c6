// Sends frames through the compute units of one kernel of fpga/rtl/kernel, through XRT.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/xrt_board.h"

namespace tributary::accelerator {

// The host's description of a kernel. Words have 64 bits.
struct XrtKernel {
  std::string name;                       // in the xclbin
  std::size_t input_words = 0;            // of a frame, at most
  std::size_t output_words = 0;           // of a frame
  std::vector<std::uint64_t> parameters;  // loaded each time that the board is opened; empty: none
};

// Cuts a batch into runs of a few frames. While the compute units execute some, the host prepares and
// transfers the next. All buffers are allocated when the board is opened. If a run times out, it is aborted
// and the board is opened and loaded again before the next batch. A failed batch leaves nothing running. One
// thread, except for counters().
class XrtFrames {
 public:
  // The frames [first, first + count) of the batch, in words.
  using Fill = absl::FunctionRef<void(std::size_t first, std::size_t count, std::span<std::uint64_t> words)>;
  using Take =
      absl::FunctionRef<void(std::size_t first, std::size_t count, std::span<const std::uint64_t> words)>;

  // Opens the board and loads the parameters into its compute units. Errors: those of XrtBoard::Open and
  // TakeUnits, and of a run.
  static absl::StatusOr<std::unique_ptr<XrtFrames>> Create(XrtKernel kernel, const XrtOptions& options);
  ~XrtFrames();

  // Runs a batch. `input_words` per frame (at most the kernel's) and `configuration` (its register) are the
  // same for all frames. Errors: DeadlineExceeded for a run that did not end, Internal for one that failed on
  // the board's bus, Unavailable while the board cannot be opened again; those of XRT. After an error part of
  // the batch may have been taken.
  absl::Status Run(std::size_t frames, std::size_t input_words, std::uint32_t configuration, Fill fill,
                   Take take);

  // Loads other parameters, as many as before, into every compute unit. Errors: as Run. After one the board
  // is opened again with these parameters: no later batch is computed with the old ones.
  absl::Status Load(std::vector<std::uint64_t> parameters);

  // "device 0, xclbin <uuid>, 2 compute units".
  std::string description() const;
  Accelerator::Counters counters() const;

 private:
  // Input and output of one run, and the run that is bound to them.
  struct Slot {
    xrt::bo input, output;
    xrt::run run;
    std::span<std::uint64_t> input_words, output_words;
    std::size_t first = 0, frames = 0;  // of the batch
    bool running = false;               // as far as the host knows
  };
  struct Unit {
    xrt::kernel kernel;
    xrt::bo parameters;
    std::array<Slot, 2> slots;
  };

  XrtFrames(XrtKernel kernel, const XrtOptions& options);

  absl::Status OpenBoard();
  absl::Status AllocateUnit(xrt::kernel kernel);
  absl::Status LoadParameters(Unit& unit);
  absl::Status ReopenIfDue();
  void LeaveAlone();
  void Close();

  absl::Status RunBatch(std::size_t frames, std::size_t input_words, std::uint32_t configuration, Fill fill,
                        Take take);
  absl::Status Start(Slot& slot, std::size_t input_words, std::uint32_t configuration);
  absl::Status Collect(Slot& slot, Take take);
  absl::Status Wait(Slot& slot, std::chrono::milliseconds timeout);
  // False if a run could not be aborted.
  bool AbortAll();
  void Abandon();

  XrtKernel kernel_;
  const XrtOptions options_;

  std::unique_ptr<XrtBoard> board_;
  std::vector<Unit> units_;  // after board_: destroyed before it
  std::chrono::steady_clock::time_point next_open_{};
  std::chrono::milliseconds open_interval_;

  std::atomic<std::uint64_t> runs_{0}, failed_runs_{0}, timeouts_{0}, reopened_{0};
};

}  // namespace tributary::accelerator
