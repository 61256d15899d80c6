#include "node/accelerator/xrt_frames.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "core/runtime/printable.h"
#include "core/status/macros.h"
#include "fpga/model/kernel_interface.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kBufferMultiple = 4096;  // of a buffer's size, for the board's allocator and caches
constexpr int kMaxBackoff = 100;               // of the interval between attempts to open the board

xrt::bo Allocate(XrtBoard& board, const xrt::kernel& kernel, int argument, std::size_t words) {
  const std::size_t bytes = (8 * words + kBufferMultiple - 1) / kBufferMultiple * kBufferMultiple;
  return {board.device(), std::max(bytes, kBufferMultiple), xrt::bo::flags::cacheable,
          static_cast<xrt::memory_group>(kernel.group_id(argument))};
}

// XRT waits without a limit for a run that it aborts. A driver that cannot end it must not block the panel.
// False: the run has not ended in time, and a thread still waits for it.
bool AbortWithin(std::chrono::milliseconds timeout, xrt::run run) {
  auto ended = std::make_shared<std::promise<void>>();
  const std::future<void> end = ended->get_future();
  std::thread([run = std::move(run), ended]() mutable {
    // A board that has disappeared cannot abort either; nothing more can be done.
    (void)GuardXrt("aborting a run", [&] { run.abort(); });
    run = {};  // destroyed before its kernel and buffers
    ended->set_value();
  }).detach();
  return end.wait_for(timeout) == std::future_status::ready;
}

std::span<std::uint64_t> Words(xrt::bo& buffer) { return {buffer.map<std::uint64_t*>(), buffer.size() / 8}; }

}  // namespace

absl::StatusOr<std::unique_ptr<XrtFrames>> XrtFrames::Create(XrtKernel kernel, const XrtOptions& options) {
  std::unique_ptr<XrtFrames> created(new XrtFrames(std::move(kernel), options));
  RETURN_IF_ERROR(created->OpenBoard());
  return created;
}

XrtFrames::XrtFrames(XrtKernel kernel, const XrtOptions& options)
    : kernel_(std::move(kernel)), options_(options), open_interval_(options.reopen_interval) {}

XrtFrames::~XrtFrames() { Close(); }

std::string XrtFrames::description() const {
  if (board_ == nullptr) return fmt::format("device {}, not open", options_.device);
  return fmt::format("{}, {}", board_->name(), runtime::Counted(units_.size(), "compute unit"));
}

Accelerator::Counters XrtFrames::counters() const {
  return {.runs = runs_, .failed_runs = failed_runs_, .timeouts = timeouts_, .reopened = reopened_};
}

absl::Status XrtFrames::OpenBoard() {
  ASSIGN_OR_RETURN(board_, XrtBoard::Open(options_));
  absl::StatusOr<std::vector<xrt::kernel>> kernels = board_->TakeUnits(kernel_.name, options_.compute_units);
  absl::Status status = kernels.status();
  if (kernels.ok() && kernels->size() < options_.compute_units) {
    spdlog::warn("{}: of {} of {}, {} free", board_->name(),
                 runtime::Counted(options_.compute_units, "compute unit"), kernel_.name, kernels->size());
  }
  for (std::size_t i = 0; status.ok() && i < kernels->size(); ++i) status = AllocateUnit((*kernels)[i]);
  for (std::size_t i = 0; status.ok() && i < units_.size(); ++i) status = LoadParameters(units_[i]);
  if (!status.ok()) {
    if (kernels.ok()) kernels->clear();
    Close();
  }
  return status;
}

absl::Status XrtFrames::AllocateUnit(xrt::kernel kernel) {
  return GuardXrt(fmt::format("allocating buffers on {}", board_->name()), [&] {
    Unit unit;
    unit.kernel = std::move(kernel);
    unit.parameters = Allocate(*board_, unit.kernel, fpga::kParametersArgument, kernel_.parameters.size());
    for (Slot& slot : unit.slots) {
      const std::size_t frames = options_.frames_per_run;
      slot.input = Allocate(*board_, unit.kernel, fpga::kInputArgument, frames * kernel_.input_words);
      slot.output = Allocate(*board_, unit.kernel, fpga::kOutputArgument,
                             frames * kernel_.output_words + fpga::KernelReport::kWords);
      slot.input_words = Words(slot.input);
      slot.output_words = Words(slot.output);
      slot.run = xrt::run(unit.kernel);
      slot.run.set_arg(fpga::kInputArgument, slot.input);
      slot.run.set_arg(fpga::kOutputArgument, slot.output);
      slot.run.set_arg(fpga::kParametersArgument, unit.parameters);
      slot.run.set_arg(fpga::kParameterWordsArgument, 0u);
      slot.run.set_arg(fpga::kSeedArgument, 0u);
    }
    units_.push_back(std::move(unit));
  });
}

absl::Status XrtFrames::LoadParameters(Unit& unit) {
  if (kernel_.parameters.empty()) return absl::OkStatus();
  Slot& slot = unit.slots[0];
  slot.frames = 0;
  RETURN_IF_ERROR(GuardXrt(fmt::format("loading parameters into {}", board_->name()), [&] {
    std::ranges::copy(kernel_.parameters, Words(unit.parameters).begin());
    unit.parameters.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    slot.run.set_arg(fpga::kParameterWordsArgument, static_cast<std::uint32_t>(kernel_.parameters.size()));
  }));
  RETURN_IF_ERROR(Start(slot, 0, 0));
  RETURN_IF_ERROR(Wait(slot, options_.load_timeout));
  return GuardXrt("preparing runs", [&] { slot.run.set_arg(fpga::kParameterWordsArgument, 0u); });
}

absl::Status XrtFrames::Load(std::vector<std::uint64_t> parameters) {
  kernel_.parameters = std::move(parameters);
  if (board_ == nullptr) return ReopenIfDue();
  absl::Status status;
  for (std::size_t i = 0; status.ok() && i < units_.size(); ++i) status = LoadParameters(units_[i]);
  if (!status.ok()) {
    // Some units may have the new parameters and others not.
    Close();
    LeaveAlone();
  }
  return status;
}

void XrtFrames::Close() {
  if (!AbortAll()) return Abandon();
  units_.clear();
  board_.reset();
}

// Leaves no run whose buffers could go away.
bool XrtFrames::AbortAll() {
  for (Unit& unit : units_) {
    for (Slot& slot : unit.slots) {
      if (std::exchange(slot.running, false) && !AbortWithin(options_.abort_timeout, slot.run)) return false;
    }
  }
  return true;
}

// A kernel may still write to the units, and XRT still waits for them: they must stay until the process ends.
void XrtFrames::Abandon() {
  spdlog::error(
      "{}: a run could not be aborted and keeps its compute units until this process ends. Power the "
      "board off and on, then start again",
      board_->name());
  new std::vector<Unit>(std::move(units_));
  units_.clear();
  board_.release();
}

// A board that opens and then hangs is as bad as one that does not open: only a computed batch shortens the
// interval again.
void XrtFrames::LeaveAlone() {
  next_open_ = std::chrono::steady_clock::now() + open_interval_;
  open_interval_ = std::min(2 * open_interval_, kMaxBackoff * options_.reopen_interval);
}

absl::Status XrtFrames::ReopenIfDue() {
  if (std::chrono::steady_clock::now() < next_open_) {
    return absl::UnavailableError(
        fmt::format("device {} is not open; it is tried again soon", options_.device));
  }
  if (absl::Status status = OpenBoard(); !status.ok()) {
    LeaveAlone();
    return status;
  }
  ++reopened_;
  return absl::OkStatus();
}

absl::Status XrtFrames::Start(Slot& slot, std::size_t input_words, std::uint32_t configuration) {
  return GuardXrt(fmt::format("starting a run on {}", board_->name()), [&] {
    const std::size_t report = slot.frames * kernel_.output_words;
    slot.output_words[report] = 0;
    slot.output.sync(XCL_BO_SYNC_BO_TO_DEVICE, 8 * (report + fpga::KernelReport::kWords), 0);
    if (slot.frames > 0) slot.input.sync(XCL_BO_SYNC_BO_TO_DEVICE, 8 * slot.frames * input_words, 0);
    slot.run.set_arg(fpga::kFramesArgument, static_cast<std::uint32_t>(slot.frames));
    slot.run.set_arg(fpga::kConfigurationArgument, configuration);
    // Do not set `running` if start throws: XRT would wait forever for a run that never began.
    slot.run.start();
    slot.running = true;
  });
}

// Once the run has ended, slot.running is false.
absl::Status XrtFrames::Wait(Slot& slot, std::chrono::milliseconds timeout) {
  const std::size_t report_word = slot.frames * kernel_.output_words;
  ert_cmd_state state = ERT_CMD_STATE_MAX;
  RETURN_IF_ERROR(GuardXrt(fmt::format("waiting for {}", board_->name()), [&] {
    state = slot.run.wait(timeout);
    if (state != ERT_CMD_STATE_TIMEOUT) slot.running = false;
    if (state == ERT_CMD_STATE_COMPLETED) {
      slot.output.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 8 * (report_word + fpga::KernelReport::kWords), 0);
    }
  }));
  if (state == ERT_CMD_STATE_TIMEOUT) {
    ++timeouts_;
    return absl::DeadlineExceededError(
        fmt::format("{}: a run did not end within {} ms. It is aborted and the xclbin loaded again; if that "
                    "repeats, power the board off and on",
                    board_->name(), timeout.count()));
  }
  const fpga::KernelReport report{slot.output_words[report_word], slot.output_words[report_word + 1]};
  if (state != ERT_CMD_STATE_COMPLETED || !report.valid() || report.read_failed() || report.write_failed() ||
      report.frames_done() != slot.frames) {
    ++failed_runs_;
    return absl::InternalError(fmt::format(
        "{}: a run of {} frames ended in state {} with {}{}{} frames done: its results are dropped. "
        "`tributary doctor` checks the board",
        board_->name(), slot.frames, static_cast<int>(state), report.read_failed() ? "a failed read, " : "",
        report.write_failed() ? "a failed write, " : "", report.valid() ? report.frames_done() : 0));
  }
  return absl::OkStatus();
}

absl::Status XrtFrames::Collect(Slot& slot, Take take) {
  RETURN_IF_ERROR(Wait(slot, options_.run_timeout));
  take(slot.first, slot.frames, slot.output_words.first(slot.frames * kernel_.output_words));
  return absl::OkStatus();
}

absl::Status XrtFrames::RunBatch(std::size_t frames, std::size_t input_words, std::uint32_t configuration,
                                 Fill fill, Take take) {
  const std::size_t slots = units_.size() * units_[0].slots.size();
  // Slots are taken unit by unit, so that neighbouring runs go to different units.
  const auto slot_of = [&](std::size_t run) -> Slot& {
    return units_[run % units_.size()].slots[run / units_.size() % units_[0].slots.size()];
  };
  const std::size_t runs = (frames + options_.frames_per_run - 1) / options_.frames_per_run;
  for (std::size_t run = 0; run < runs; ++run) {
    Slot& slot = slot_of(run);
    if (slot.running) RETURN_IF_ERROR(Collect(slot, take));
    slot.first = run * options_.frames_per_run;
    slot.frames = std::min(options_.frames_per_run, frames - slot.first);
    fill(slot.first, slot.frames, slot.input_words.first(slot.frames * input_words));
    RETURN_IF_ERROR(Start(slot, input_words, configuration));
    ++runs_;
  }
  for (std::size_t run = runs - std::min(runs, slots); run < runs; ++run) {
    RETURN_IF_ERROR(Collect(slot_of(run), take));
  }
  return absl::OkStatus();
}

absl::Status XrtFrames::Run(std::size_t frames, std::size_t input_words, std::uint32_t configuration,
                            Fill fill, Take take) {
  if (board_ == nullptr) RETURN_IF_ERROR(ReopenIfDue());
  const absl::Status status = RunBatch(frames, input_words, configuration, fill, take);
  if (status.ok()) {
    open_interval_ = options_.reopen_interval;
    return status;
  }
  // After a run that failed on the bus the board still works. After anything else do not trust it: open and
  // load it again before the next batch.
  if (!absl::IsInternal(status)) {
    Close();
    LeaveAlone();
  } else if (!AbortAll()) {
    Abandon();
    LeaveAlone();
  }
  return status;
}

}  // namespace tributary::accelerator
