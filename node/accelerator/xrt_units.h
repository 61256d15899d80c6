// The compute units of one kernel of fpga/rtl/kernel, through XRT.
#pragma once

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
#include "fpga/model/kernel_interface.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/xrt_board.h"

namespace tributary::accelerator {

// Words have 64 bits.
struct XrtKernelKind {
  std::string name;  // in the xclbin
  // Parameters stay in a unit, and one run loads them; else every run reads them.
  bool parameters_stay = true;
  std::size_t report_words = fpga::KernelReport::kWords;
  // What the report says beyond the two words of every kernel, for an error's text; null: nothing.
  std::string (*explain)(std::span<const std::uint64_t> report) = nullptr;
};

// What runs on the units: buffers and parameters that it keeps from run to run.
struct XrtJob {
  std::size_t input_words = 0, output_words = 0;  // of a run, at most; the report comes on top
  std::size_t slots = 2;  // for each unit: the host prepares one while the unit computes another
  std::vector<std::uint64_t> parameters = {};  // empty: none
};

// Runs jobs on the units in turn. While the units compute some runs, the host prepares and transfers the
// next. Buffers are allocated when a job is added and each time that the board is opened again. If a run
// times out, it is aborted, and the board is opened and loaded again before the next batch. A failed batch
// leaves nothing running. One thread, except for counters().
class XrtUnits {
 public:
  class Job;

  // The arguments of a run, and how much of the job's buffers it uses.
  struct Call {
    std::size_t input_words = 0, output_words = 0;
    std::uint32_t frames = 0, configuration = 0, seed = 0;
  };
  // Writes the input of a run of the batch. / Reads its output; `cycles` are those of the kernel's report.
  using Fill = absl::FunctionRef<Call(std::size_t run, std::span<std::uint64_t> input)>;
  using Take =
      absl::FunctionRef<void(std::size_t run, std::span<const std::uint64_t> output, std::uint64_t cycles)>;

  // Opens the board and takes its units. Errors: those of XrtBoard::Open and TakeUnits.
  static absl::StatusOr<std::unique_ptr<XrtUnits>> Open(XrtKernelKind kernel, const XrtOptions& options);
  ~XrtUnits();

  // Allocates the job's buffers and loads its parameters. Errors: those of XRT and of a run. The job is the
  // units' until Remove.
  absl::StatusOr<Job*> Add(XrtJob job);
  void Remove(Job* job);

  // Computes a batch. Errors: DeadlineExceeded for a run that did not end, Internal for one that the kernel
  // says failed, Unavailable while the board cannot be opened again; those of XRT. After an error part of the
  // batch may have been taken.
  absl::Status Run(Job& job, std::size_t runs, Fill fill, Take take);

  // Loads other parameters, as many as before, into every unit. Errors: as Run. After one the board is opened
  // again with these parameters: no later batch is computed with the old ones.
  absl::Status Load(Job& job, std::vector<std::uint64_t> parameters);

  // Compute units, while the board is open.
  std::size_t count() const { return kernels_.size(); }
  // "device 0, xclbin <uuid>, 2 compute units".
  std::string description() const;
  Accelerator::Counters counters() const;

 private:
  struct Slot;
  struct Bound;

  XrtUnits(XrtKernelKind kernel, const XrtOptions& options);

  absl::Status OpenBoard();
  absl::Status ReopenIfDue();
  void LeaveAlone();
  void Close();
  // False if a run could not be aborted.
  bool AbortAll();
  void Abandon();

  absl::Status Bind(Job& job);
  absl::Status Allocate(const xrt::kernel& kernel, Job& job);
  absl::Status LoadParameters(const Job& job, Bound& bound);
  absl::Status RunBatch(Job& job, std::size_t runs, Fill fill, Take take);
  absl::Status Start(Slot& slot, const Call& call);
  absl::Status Wait(Slot& slot, std::chrono::milliseconds timeout);
  absl::Status CheckReport(const Slot& slot, int state);

  const XrtKernelKind kernel_;
  const XrtOptions options_;

  std::unique_ptr<XrtBoard> board_;
  std::vector<xrt::kernel> kernels_;        // after board_: destroyed before it
  std::vector<std::unique_ptr<Job>> jobs_;  // their buffers before the kernels
  std::chrono::steady_clock::time_point next_open_{};
  std::chrono::milliseconds open_interval_;

  std::atomic<std::uint64_t> runs_{0}, failed_runs_{0}, timeouts_{0}, reopened_{0}, cycles_{0};
};

}  // namespace tributary::accelerator
