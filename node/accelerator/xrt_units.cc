#include "node/accelerator/xrt_units.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kBufferMultiple = 4096;  // of a buffer's size, for the board's allocator and caches
constexpr int kMaxBackoff = 100;               // of the interval between attempts to open the board

xrt::bo AllocateWords(XrtBoard& board, const xrt::kernel& kernel, int argument, std::size_t words) {
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

// Input and output of one run, and the run that is bound to them.
struct XrtUnits::Slot {
  xrt::bo input, output;
  xrt::run run;
  std::span<std::uint64_t> input_words, output_words;
  std::size_t batch_run = 0;  // which of the batch
  Call call = {};
  bool running = false;  // as far as the host knows

  std::span<const std::uint64_t> report() const { return output_words.subspan(call.output_words); }
};

// What a job has on one unit.
struct XrtUnits::Bound {
  xrt::bo parameters;
  std::vector<Slot> slots;
};

class XrtUnits::Job {
 public:
  explicit Job(XrtJob job) : wanted(std::move(job)) {}

  XrtJob wanted;
  std::vector<Bound> bound;  // on each unit; empty while the board is not open
};

absl::StatusOr<std::unique_ptr<XrtUnits>> XrtUnits::Open(XrtKernelKind kernel, const XrtOptions& options) {
  std::unique_ptr<XrtUnits> units(new XrtUnits(std::move(kernel), options));
  RETURN_IF_ERROR(units->OpenBoard());
  return units;
}

XrtUnits::XrtUnits(XrtKernelKind kernel, const XrtOptions& options)
    : kernel_(std::move(kernel)), options_(options), open_interval_(options.reopen_interval) {}

XrtUnits::~XrtUnits() { Close(); }

std::string XrtUnits::description() const {
  if (board_ == nullptr) return fmt::format("device {}, not open", options_.device);
  return fmt::format("{}, {}", board_->name(), runtime::Counted(kernels_.size(), "compute unit"));
}

Accelerator::Counters XrtUnits::counters() const {
  return {.runs = runs_,
          .failed_runs = failed_runs_,
          .timeouts = timeouts_,
          .reopened = reopened_,
          .cycles = cycles_};
}

absl::Status XrtUnits::OpenBoard() {
  ASSIGN_OR_RETURN(board_, XrtBoard::Open(options_));
  absl::StatusOr<std::vector<xrt::kernel>> kernels = board_->TakeUnits(kernel_.name, options_.compute_units);
  absl::Status status = kernels.status();
  if (kernels.ok()) kernels_ = *std::move(kernels);
  if (status.ok() && kernels_.size() < options_.compute_units) {
    runtime::LogWarning("{}: of {} of {}, {} free", board_->name(),
                        runtime::Counted(options_.compute_units, "compute unit"), kernel_.name,
                        kernels_.size());
  }
  for (std::size_t i = 0; status.ok() && i < jobs_.size(); ++i) status = Bind(*jobs_[i]);
  if (!status.ok()) Close();
  return status;
}

absl::StatusOr<XrtUnits::Job*> XrtUnits::Add(XrtJob job) {
  if (board_ == nullptr) RETURN_IF_ERROR(ReopenIfDue());
  Job* const added = jobs_.emplace_back(std::make_unique<Job>(std::move(job))).get();
  if (const absl::Status status = Bind(*added); !status.ok()) {
    Remove(added);
    return status;
  }
  return added;
}

void XrtUnits::Remove(Job* job) {
  if (!AbortAll()) Abandon();
  std::erase_if(jobs_, [job](const std::unique_ptr<Job>& each) { return each.get() == job; });
}

absl::Status XrtUnits::Bind(Job& job) {
  for (const xrt::kernel& kernel : kernels_) RETURN_IF_ERROR(Allocate(kernel, job));
  for (Bound& bound : job.bound) RETURN_IF_ERROR(LoadParameters(job, bound));
  return absl::OkStatus();
}

absl::Status XrtUnits::Allocate(const xrt::kernel& kernel, Job& job) {
  return GuardXrt(fmt::format("allocating buffers on {}", board_->name()), [&] {
    const XrtJob& wanted = job.wanted;
    Bound bound;
    bound.parameters = AllocateWords(*board_, kernel, fpga::kParametersArgument, wanted.parameters.size());
    const auto parameter_words = static_cast<std::uint32_t>(wanted.parameters.size());
    for (std::size_t s = 0; s < wanted.slots; ++s) {
      Slot& slot = bound.slots.emplace_back();
      slot.input = AllocateWords(*board_, kernel, fpga::kInputArgument, wanted.input_words);
      slot.output =
          AllocateWords(*board_, kernel, fpga::kOutputArgument, wanted.output_words + kernel_.report_words);
      slot.input_words = Words(slot.input);
      slot.output_words = Words(slot.output);
      slot.run = xrt::run(kernel);
      slot.run.set_arg(fpga::kInputArgument, slot.input);
      slot.run.set_arg(fpga::kOutputArgument, slot.output);
      slot.run.set_arg(fpga::kParametersArgument, bound.parameters);
      slot.run.set_arg(fpga::kParameterWordsArgument, kernel_.parameters_stay ? 0u : parameter_words);
    }
    job.bound.push_back(std::move(bound));
  });
}

absl::Status XrtUnits::LoadParameters(const Job& job, Bound& bound) {
  const std::vector<std::uint64_t>& parameters = job.wanted.parameters;
  if (parameters.empty()) return absl::OkStatus();
  Slot& slot = bound.slots[0];
  RETURN_IF_ERROR(GuardXrt(fmt::format("loading parameters into {}", board_->name()), [&] {
    std::ranges::copy(parameters, Words(bound.parameters).begin());
    bound.parameters.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    slot.run.set_arg(fpga::kParameterWordsArgument, static_cast<std::uint32_t>(parameters.size()));
  }));
  if (!kernel_.parameters_stay) return absl::OkStatus();
  RETURN_IF_ERROR(Start(slot, {}));
  RETURN_IF_ERROR(Wait(slot, options_.load_timeout));
  return GuardXrt("preparing runs", [&] { slot.run.set_arg(fpga::kParameterWordsArgument, 0u); });
}

absl::Status XrtUnits::Load(Job& job, std::vector<std::uint64_t> parameters) {
  job.wanted.parameters = std::move(parameters);
  if (board_ == nullptr) return ReopenIfDue();
  absl::Status status;
  for (std::size_t i = 0; status.ok() && i < job.bound.size(); ++i) {
    status = LoadParameters(job, job.bound[i]);
  }
  if (!status.ok()) {
    // Some units may have the new parameters and others not.
    Close();
    LeaveAlone();
  }
  return status;
}

void XrtUnits::Close() {
  if (!AbortAll()) return Abandon();
  for (const std::unique_ptr<Job>& job : jobs_) job->bound.clear();
  kernels_.clear();
  board_.reset();
}

// Leaves no run whose buffers could go away.
bool XrtUnits::AbortAll() {
  for (const std::unique_ptr<Job>& job : jobs_) {
    for (Bound& bound : job->bound) {
      for (Slot& slot : bound.slots) {
        if (std::exchange(slot.running, false) && !AbortWithin(options_.abort_timeout, slot.run))
          return false;
      }
    }
  }
  return true;
}

// A kernel may still write to the buffers, and XRT still waits for them: they must stay until the process
// ends.
void XrtUnits::Abandon() {
  runtime::LogError(
      "{}: a run could not be aborted and keeps its compute units until this process ends. Power the "
      "board off and on, then start again",
      board_->name());
  new std::vector<xrt::kernel>(std::exchange(kernels_, {}));
  for (const std::unique_ptr<Job>& job : jobs_) new std::vector<Bound>(std::exchange(job->bound, {}));
  static_cast<void>(board_.release());
}

// A board that opens and then hangs is as bad as one that does not open: only a computed batch shortens the
// interval again.
void XrtUnits::LeaveAlone() {
  next_open_ = std::chrono::steady_clock::now() + open_interval_;
  open_interval_ = std::min(2 * open_interval_, kMaxBackoff * options_.reopen_interval);
}

absl::Status XrtUnits::ReopenIfDue() {
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

absl::Status XrtUnits::Start(Slot& slot, const Call& call) {
  return GuardXrt(fmt::format("starting a run on {}", board_->name()), [&] {
    slot.call = call;
    slot.output_words[call.output_words] = 0;
    slot.output.sync(XCL_BO_SYNC_BO_TO_DEVICE, 8 * (call.output_words + kernel_.report_words), 0);
    if (call.input_words > 0) slot.input.sync(XCL_BO_SYNC_BO_TO_DEVICE, 8 * call.input_words, 0);
    slot.run.set_arg(fpga::kFramesArgument, call.frames);
    slot.run.set_arg(fpga::kConfigurationArgument, call.configuration);
    slot.run.set_arg(fpga::kSeedArgument, call.seed);
    // Do not set `running` if start throws: XRT would wait forever for a run that never began.
    slot.run.start();
    slot.running = true;
  });
}

// Once the run has ended, slot.running is false.
absl::Status XrtUnits::Wait(Slot& slot, std::chrono::milliseconds timeout) {
  ert_cmd_state state = ERT_CMD_STATE_MAX;
  RETURN_IF_ERROR(GuardXrt(fmt::format("waiting for {}", board_->name()), [&] {
    state = slot.run.wait(timeout);
    if (state != ERT_CMD_STATE_TIMEOUT) slot.running = false;
    if (state == ERT_CMD_STATE_COMPLETED) {
      slot.output.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 8 * (slot.call.output_words + kernel_.report_words), 0);
    }
  }));
  if (state == ERT_CMD_STATE_TIMEOUT) {
    ++timeouts_;
    return absl::DeadlineExceededError(
        fmt::format("{}: a run did not end within {} ms. It is aborted and the xclbin loaded again; if that "
                    "repeats, power the board off and on",
                    board_->name(), timeout.count()));
  }
  return CheckReport(slot, state);
}

absl::Status XrtUnits::CheckReport(const Slot& slot, int state) {
  const std::span<const std::uint64_t> words = slot.report().first(kernel_.report_words);
  const fpga::KernelReport report{words[0], words[1]};
  const bool ended = state == ERT_CMD_STATE_COMPLETED && report.valid();
  if (ended && !report.read_failed() && !report.write_failed() && report.frames_done() == slot.call.frames) {
    return absl::OkStatus();
  }
  ++failed_runs_;
  return absl::InternalError(
      fmt::format("{}: a run of {} ended in state {} with {}{}{} frames done{}: its results are dropped. "
                  "`tributary doctor` checks the board",
                  board_->name(), runtime::Counted(slot.call.frames, "frame"), state,
                  report.read_failed() ? "a failed read, " : "",
                  report.write_failed() ? "a failed write, " : "", report.valid() ? report.frames_done() : 0,
                  ended && kernel_.explain != nullptr ? kernel_.explain(words) : ""));
}

absl::Status XrtUnits::RunBatch(Job& job, std::size_t runs, Fill fill, Take take) {
  const std::size_t units = job.bound.size(), slots = job.wanted.slots;
  // Slots are taken unit by unit, so that neighbouring runs go to different units.
  const auto slot_of = [&](std::size_t run) -> Slot& {
    return job.bound[run % units].slots[run / units % slots];
  };
  const auto collect = [&](Slot& slot) {
    RETURN_IF_ERROR(Wait(slot, options_.run_timeout));
    cycles_ += slot.report()[1];
    take(slot.batch_run, slot.output_words.first(slot.call.output_words), slot.report()[1]);
    return absl::OkStatus();
  };
  for (std::size_t run = 0; run < runs; ++run) {
    Slot& slot = slot_of(run);
    if (slot.running) RETURN_IF_ERROR(collect(slot));
    slot.batch_run = run;
    RETURN_IF_ERROR(Start(slot, fill(run, slot.input_words)));
    ++runs_;
  }
  for (std::size_t run = runs - std::min(runs, units * slots); run < runs; ++run) {
    RETURN_IF_ERROR(collect(slot_of(run)));
  }
  return absl::OkStatus();
}

absl::Status XrtUnits::Run(Job& job, std::size_t runs, Fill fill, Take take) {
  if (board_ == nullptr) RETURN_IF_ERROR(ReopenIfDue());
  const absl::Status status = RunBatch(job, runs, fill, take);
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
