#include "node/accelerator/xrt_positioning.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "fpga/model/kernel_interface.h"
#include "fpga/model/positioning_image.h"
#include "node/accelerator/positioning_kernels.h"

namespace tributary {
namespace {

constexpr std::size_t kInputs = PositioningModel::kInputs;
constexpr std::size_t kOutputs = PositioningModel::kOutputs;
constexpr std::size_t kInputWords = kInputs / 8;
constexpr std::size_t kOutputWords = (kOutputs + 1) / 2;
constexpr std::size_t kBufferMultiple = 4096;  // of a buffer's size, for the board's allocator and caches
constexpr int kMaxBackoff = 100;               // of the interval between attempts to open the board

std::size_t BufferBytes(std::size_t words) {
  return (8 * words + kBufferMultiple - 1) / kBufferMultiple * kBufferMultiple;
}

xrt::bo Allocate(XrtBoard& board, const xrt::kernel& kernel, int argument, std::size_t words) {
  return {board.device(), BufferBytes(words), xrt::bo::flags::cacheable,
          static_cast<xrt::memory_group>(kernel.group_id(argument))};
}

std::span<std::uint64_t> Words(xrt::bo& buffer) { return {buffer.map<std::uint64_t*>(), buffer.size() / 8}; }

}  // namespace

absl::StatusOr<std::unique_ptr<XrtPositioning>> XrtPositioning::Create(const PositioningNetwork& network,
                                                                       std::size_t max_batch,
                                                                       const XrtOptions& options) {
  if (max_batch == 0 || options.compute_units == 0 || options.frames_per_run == 0) {
    return absl::InvalidArgumentError(
        "positioning on xrt: batch, compute units and frames per run are at least 1");
  }
  absl::StatusOr<PositioningModel> model = PositioningModel::Create(network, NumberFormat::kInt8Int16);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::vector<std::uint64_t>> parameters = PositioningParameterWords(model->fixed());
  if (!parameters.ok()) return parameters.status();
  std::unique_ptr<XrtPositioning> created(
      new XrtPositioning(*std::move(model), *std::move(parameters), max_batch, options));
  if (absl::Status status = created->OpenBoard(); !status.ok()) return status;
  return created;
}

XrtPositioning::XrtPositioning(PositioningModel model, std::vector<std::uint64_t> parameters,
                               std::size_t max_batch, XrtOptions options)
    : model_(std::move(model)),
      parameters_(std::move(parameters)),
      max_batch_(max_batch),
      options_(std::move(options)),
      open_interval_(options_.reopen_interval),
      finite_(max_batch) {}

XrtPositioning::~XrtPositioning() { Close(); }

Accelerator::Shape XrtPositioning::shape() const {
  return {.inputs = kInputs, .outputs = kOutputs, .max_batch = max_batch_};
}

std::string XrtPositioning::description() const {
  if (board_ == nullptr) return fmt::format("xrt (device {}, not open)", options_.device);
  return fmt::format("xrt (int8_16, {}, {} compute units)", board_->name(), units_.size());
}

Accelerator::Counters XrtPositioning::counters() const {
  return {.runs = runs_, .failed_runs = failed_runs_, .timeouts = timeouts_, .reopened = reopened_};
}

absl::Status XrtPositioning::OpenBoard() {
  absl::StatusOr<std::unique_ptr<XrtBoard>> board = XrtBoard::Open(options_);
  if (!board.ok()) return board.status();
  board_ = *std::move(board);
  absl::StatusOr<std::vector<xrt::kernel>> kernels = board_->TakeUnits(kKernel, options_.compute_units);
  absl::Status status = kernels.status();
  for (std::size_t i = 0; status.ok() && i < kernels->size(); ++i) status = AllocateUnit((*kernels)[i]);
  for (std::size_t i = 0; status.ok() && i < units_.size(); ++i) status = LoadParameters(units_[i]);
  if (!status.ok()) {
    if (kernels.ok()) kernels->clear();
    Close();
  }
  return status;
}

absl::Status XrtPositioning::AllocateUnit(xrt::kernel kernel) {
  return GuardXrt(fmt::format("allocating buffers on {}", board_->name()), [&] {
    Unit unit;
    unit.kernel = std::move(kernel);
    unit.parameters = Allocate(*board_, unit.kernel, kParametersArgument, parameters_.size());
    for (Slot& slot : unit.slots) {
      const std::size_t frames = options_.frames_per_run;
      slot.input = Allocate(*board_, unit.kernel, kInputArgument, frames * kInputWords);
      slot.output =
          Allocate(*board_, unit.kernel, kOutputArgument, frames * kOutputWords + KernelReport::kWords);
      slot.input_words = Words(slot.input);
      slot.output_words = Words(slot.output);
      slot.run = xrt::run(unit.kernel);
      slot.run.set_arg(kInputArgument, slot.input);
      slot.run.set_arg(kOutputArgument, slot.output);
      slot.run.set_arg(kParametersArgument, unit.parameters);
      slot.run.set_arg(kFramesArgument, 0u);
      slot.run.set_arg(kParameterWordsArgument, 0u);
      slot.run.set_arg(kConfigurationArgument, 0u);
      slot.run.set_arg(kSeedArgument, 0u);
    }
    units_.push_back(std::move(unit));
  });
}

absl::Status XrtPositioning::LoadParameters(Unit& unit) {
  Slot& slot = unit.slots[0];
  const absl::Status started = GuardXrt(fmt::format("loading parameters into {}", board_->name()), [&] {
    std::ranges::copy(parameters_, Words(unit.parameters).begin());
    unit.parameters.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    slot.output_words[0] = 0;
    slot.output.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    slot.run.set_arg(kParameterWordsArgument, static_cast<std::uint32_t>(parameters_.size()));
    slot.run.start();
  });
  if (!started.ok()) return started;
  if (absl::Status status = Wait(slot, 0, options_.load_timeout); !status.ok()) return status;
  return GuardXrt("preparing runs", [&] { slot.run.set_arg(kParameterWordsArgument, 0u); });
}

void XrtPositioning::Close() {
  AbortAll();
  units_.clear();
  board_.reset();
}

// Leaves no run behind whose buffers could go away.
void XrtPositioning::AbortAll() {
  for (Unit& unit : units_) {
    for (Slot& slot : unit.slots) {
      if (std::exchange(slot.frames, 0) == 0) continue;
      // A board that has disappeared cannot abort either; there is nothing more to do then.
      (void)GuardXrt("aborting a run", [&] { slot.run.abort(); });
    }
  }
}

absl::Status XrtPositioning::ReopenIfDue() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_open_) {
    return absl::UnavailableError(
        fmt::format("device {} is not open; it is tried again soon", options_.device));
  }
  next_open_ = now + open_interval_;
  if (absl::Status status = OpenBoard(); !status.ok()) {
    open_interval_ = std::min(2 * open_interval_, kMaxBackoff * options_.reopen_interval);
    return status;
  }
  open_interval_ = options_.reopen_interval;
  ++reopened_;
  return absl::OkStatus();
}

absl::Status XrtPositioning::Start(Slot& slot, std::span<const float> features, std::size_t first,
                                   std::size_t frames) {
  auto* words = reinterpret_cast<std::int8_t*>(slot.input_words.data());
  for (std::size_t i = 0; i < frames; ++i) {
    finite_[first + i] =
        PrepareInput(model_.input(), features.data() + (first + i) * kInputs, words + i * kInputs);
    if (!finite_[first + i]) std::fill_n(words + i * kInputs, kInputs, std::int8_t{0});
  }
  return GuardXrt(fmt::format("starting a run on {}", board_->name()), [&] {
    const std::size_t report = frames * kOutputWords;
    slot.output_words[report] = 0;
    slot.output.sync(XCL_BO_SYNC_BO_TO_DEVICE, 8 * (report + KernelReport::kWords), 0);
    slot.input.sync(XCL_BO_SYNC_BO_TO_DEVICE, 8 * frames * kInputWords, 0);
    slot.run.set_arg(kFramesArgument, static_cast<std::uint32_t>(frames));
    slot.run.start();
    slot.first = first;
    slot.frames = frames;
    ++runs_;
  });
}

absl::Status XrtPositioning::Wait(Slot& slot, std::size_t frames, std::chrono::milliseconds timeout) {
  const std::size_t report_word = frames * kOutputWords;
  ert_cmd_state state = ERT_CMD_STATE_MAX;
  const absl::Status waited = GuardXrt(fmt::format("waiting for {}", board_->name()), [&] {
    state = slot.run.wait(timeout);
    if (state == ERT_CMD_STATE_COMPLETED) {
      slot.output.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 8 * (report_word + KernelReport::kWords), 0);
    }
  });
  if (!waited.ok()) return waited;
  if (state == ERT_CMD_STATE_TIMEOUT) {
    ++timeouts_;
    return absl::DeadlineExceededError(
        fmt::format("{}: a run did not end within {} ms. It is aborted and the xclbin loaded again; if that "
                    "repeats, power the board off and on",
                    board_->name(), timeout.count()));
  }
  const KernelReport report{slot.output_words[report_word], slot.output_words[report_word + 1]};
  if (state != ERT_CMD_STATE_COMPLETED || !report.valid() || report.read_failed() || report.write_failed() ||
      report.frames_done() != frames) {
    ++failed_runs_;
    return absl::InternalError(fmt::format(
        "{}: a run of {} frames ended in state {} with {}{}{} frames done: its results are dropped. "
        "`tributary doctor` checks the board",
        board_->name(), frames, static_cast<int>(state), report.read_failed() ? "a failed read, " : "",
        report.write_failed() ? "a failed write, " : "", report.valid() ? report.frames_done() : 0));
  }
  return absl::OkStatus();
}

absl::Status XrtPositioning::Collect(Slot& slot, std::span<float> outputs) {
  const absl::Status status = Wait(slot, slot.frames, options_.run_timeout);
  // A run that did not end stays marked, to be aborted.
  if (absl::IsDeadlineExceeded(status)) return status;
  const std::size_t frames = std::exchange(slot.frames, 0);
  if (!status.ok()) return status;
  const float unit = std::ldexp(1.0f, -model_.fixed().output_fraction);
  std::array<std::int32_t, kOutputs> results;
  for (std::size_t i = 0; i < frames; ++i) {
    PositioningResults(slot.output_words.subspan(i * kOutputWords, kOutputWords), results);
    for (std::size_t k = 0; k < kOutputs; ++k) {
      outputs[(slot.first + i) * kOutputs + k] = finite_[slot.first + i]
                                                     ? unit * static_cast<float>(results[k])
                                                     : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return absl::OkStatus();
}

absl::Status XrtPositioning::InferRuns(std::span<const float> features, std::size_t batch,
                                       std::span<float> outputs) {
  const std::size_t slots = units_.size() * units_[0].slots.size();
  // Slots are taken unit by unit, so that neighbouring runs go to different units.
  const auto slot_of = [&](std::size_t run) -> Slot& {
    return units_[run % units_.size()].slots[run / units_.size() % units_[0].slots.size()];
  };
  const std::size_t runs = (batch + options_.frames_per_run - 1) / options_.frames_per_run;
  for (std::size_t run = 0; run < runs; ++run) {
    Slot& slot = slot_of(run % slots);
    if (slot.frames != 0) {
      if (absl::Status status = Collect(slot, outputs); !status.ok()) return status;
    }
    const std::size_t first = run * options_.frames_per_run;
    absl::Status status = Start(slot, features, first, std::min(options_.frames_per_run, batch - first));
    if (!status.ok()) return status;
  }
  for (std::size_t run = runs - std::min(runs, slots); run < runs; ++run) {
    if (absl::Status status = Collect(slot_of(run % slots), outputs); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status XrtPositioning::Infer(std::span<const float> features, std::size_t batch,
                                   std::span<float> outputs) {
  if (batch > max_batch_ || features.size() != batch * kInputs || outputs.size() != batch * kOutputs) {
    return absl::InvalidArgumentError(
        fmt::format("positioning on xrt: batch {} of at most {} with {} features and {} outputs; {} and {} "
                    "each are expected",
                    batch, max_batch_, features.size(), outputs.size(), kInputs, kOutputs));
  }
  if (board_ == nullptr) {
    if (absl::Status status = ReopenIfDue(); !status.ok()) return status;
  }
  const absl::Status status = InferRuns(features, batch, outputs);
  if (status.ok()) return status;
  // A run that failed on the bus leaves a board that works. After anything else the board is not trusted: it
  // is opened and loaded again before the next batch.
  AbortAll();
  if (!absl::IsInternal(status)) Close();
  return status;
}

}  // namespace tributary
