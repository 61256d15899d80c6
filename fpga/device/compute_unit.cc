#include "fpga/device/compute_unit.h"

#include <algorithm>
#include <chrono>
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
  return queue_.size() + (running_ ? 1 : 0);
}

void ComputeUnit::Start(KernelRun run) {
  {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(run));
  }
  wake_.notify_all();
}

bool ComputeUnit::Abort(const void* client, std::uint32_t packet) {
  KernelRun dropped;
  {
    const std::scoped_lock lock(mutex_);
    if (running_ && running_client_ == client && running_packet_ == packet) {
      abort_ = true;
      wake_.notify_all();
      return true;
    }
    const auto queued = std::find_if(queue_.begin(), queue_.end(), [&](const KernelRun& run) {
      return run.client == client && run.packet == packet;
    });
    if (queued == queue_.end()) return false;
    dropped = std::move(*queued);
    queue_.erase(queued);
  }
  dropped.on_outcome(KernelRun::Outcome::kAborted);
  return true;
}

void ComputeUnit::AbortAll(const void* client) {
  std::vector<KernelRun> dropped;
  {
    std::unique_lock lock(mutex_);
    for (auto run = queue_.begin(); run != queue_.end();) {
      if (run->client != client) {
        ++run;
        continue;
      }
      dropped.push_back(std::move(*run));
      run = queue_.erase(run);
    }
    if (running_ && running_client_ == client) {
      abort_ = true;
      wake_.notify_all();
      wake_.wait(lock, [&] { return !running_ || running_client_ != client; });
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
    running_client_ = run.client;
    running_packet_ = run.packet;
    running_ = true;
    abort_ = false;
    lock.unlock();
    const KernelRun::Outcome outcome = Execute(run);
    run.on_outcome(outcome);
    lock.lock();
    running_ = false;
    wake_.notify_all();
  }
}

KernelRun::Outcome ComputeUnit::Execute(const KernelRun& run) {
  const bool hard = run.fault == KernelRun::Fault::kHangHard;
  if (hard || run.fault == KernelRun::Fault::kHang) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return hard ? stopping_ : abort_.load(); });
    return KernelRun::Outcome::kAborted;
  }
  const auto reported = std::chrono::steady_clock::now() + run.hold;
  {
    const std::scoped_lock lock(kernel_mutex_);
    if (run.fault == KernelRun::Fault::kReadError) kernel_->memory_port().FailNextRead();
    if (run.fault == KernelRun::Fault::kWriteError) kernel_->memory_port().FailNextWrite();
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
