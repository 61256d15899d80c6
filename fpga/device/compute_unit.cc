#include "fpga/device/compute_unit.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <utility>

#include "fpga/model/kernel_interface.h"

namespace tributary::device {
namespace {

// Clocks between two checks of the interrupt and of an abort.
constexpr int kClocksPerLook = 64;
constexpr std::size_t kControlWords = 4;

}  // namespace

ComputeUnit::ComputeUnit(std::unique_ptr<KernelModel> kernel) : kernel_(std::move(kernel)) {
  kernel_->WriteRegister(fpga::KernelRegister::kGlobalInterrupt, 1);
  kernel_->WriteRegister(fpga::KernelRegister::kInterruptEnable, 1);
  thread_ = std::thread([this] { Loop(); });
}

ComputeUnit::~ComputeUnit() {
  std::deque<KernelRun> dropped;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    abort_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  for (const KernelRun& run : dropped) run.on_outcome(KernelRun::Outcome::kAborted);
  thread_.join();
}

std::size_t ComputeUnit::load() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size() + (running_ != nullptr ? 1 : 0);
}

void ComputeUnit::Start(KernelRun run) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(run));
  }
  wake_.notify_all();
}

void ComputeUnit::Abort(const void* client, std::optional<std::uint32_t> packet) {
  const auto meant = [&](const KernelRun& run) {
    return run.client == client && (!packet.has_value() || run.packet == *packet);
  };
  std::vector<KernelRun> dropped;
  {
    std::unique_lock lock(mutex_);
    const auto first = std::stable_partition(queue_.begin(), queue_.end(), std::not_fn(meant));
    std::move(first, queue_.end(), std::back_inserter(dropped));
    queue_.erase(first, queue_.end());
    if (running_ != nullptr && meant(*running_)) {
      abort_ = true;
      wake_.notify_all();
      if (!packet.has_value()) wake_.wait(lock, [&] { return running_ == nullptr || !meant(*running_); });
    }
  }
  for (const KernelRun& run : dropped) run.on_outcome(KernelRun::Outcome::kAborted);
}

std::uint32_t ComputeUnit::ReadRegister(std::uint32_t offset) {
  const std::scoped_lock lock(kernel_mutex_);
  return kernel_->ReadRegister(offset);
}

void ComputeUnit::WriteRegister(std::uint32_t offset, std::uint32_t value) {
  const std::scoped_lock lock(kernel_mutex_);
  kernel_->WriteRegister(offset, value);
}

void ComputeUnit::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    KernelRun run = std::move(queue_.front());
    queue_.pop_front();
    running_ = &run;
    abort_ = false;
    lock.unlock();
    const KernelRun::Outcome outcome = Execute(run);
    run.on_outcome(outcome);
    lock.lock();
    running_ = nullptr;
    wake_.notify_all();
  }
}

KernelRun::Outcome ComputeUnit::Execute(const KernelRun& run) {
  if (run.hang_hard || run.hang) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return run.hang_hard ? stopping_ : abort_.load(); });
    return KernelRun::Outcome::kAborted;
  }
  const auto reported = std::chrono::steady_clock::now() + run.hold;
  {
    const std::scoped_lock lock(kernel_mutex_);
    if (run.read_error) kernel_->memory_port().FailNextRead();
    if (run.write_error) kernel_->memory_port().FailNextWrite();
    for (std::size_t word = kControlWords; word < run.registers.size(); ++word) {
      kernel_->WriteRegister(static_cast<std::uint32_t>(4 * word), run.registers[word]);
    }
    kernel_->WriteRegister(fpga::KernelRegister::kControl, fpga::KernelControl::kStart);
  }
  for (;;) {
    const std::scoped_lock lock(kernel_mutex_);
    if (abort_) {
      kernel_->Reset();
      kernel_->WriteRegister(fpga::KernelRegister::kGlobalInterrupt, 1);
      kernel_->WriteRegister(fpga::KernelRegister::kInterruptEnable, 1);
      return KernelRun::Outcome::kAborted;
    }
    for (int clock = 0; clock < kClocksPerLook && !kernel_->interrupt(); ++clock) kernel_->Step();
    if (!kernel_->interrupt()) continue;
    kernel_->WriteRegister(fpga::KernelRegister::kInterruptStatus, 1);
    if ((kernel_->ReadRegister(fpga::KernelRegister::kControl) & fpga::KernelControl::kDone) != 0) break;
  }
  {
    const std::scoped_lock lock(kernel_mutex_);
    kernel_->WriteRegister(fpga::KernelRegister::kControl, fpga::KernelControl::kContinue);
  }
  std::unique_lock lock(mutex_);
  const bool aborted = wake_.wait_until(lock, reported, [this] { return abort_.load(); });
  return aborted ? KernelRun::Outcome::kAborted : KernelRun::Outcome::kCompleted;
}

}  // namespace tributary::device
