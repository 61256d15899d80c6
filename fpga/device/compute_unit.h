// One instance of a kernel on the software device.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "fpga/device/kernel_model.h"

namespace tributary::device {

// A start packet in XRT's form: register contents from offset 0 (the first four words are control).
struct KernelRun {
  enum class Outcome { kCompleted, kAborted };

  const void* client = nullptr;  // the user and its packet number: for Abort
  std::uint32_t packet = 0;
  std::vector<std::uint32_t> registers;
  bool hang = false, hang_hard = false;          // never ends; cannot even be aborted
  bool read_error = false, write_error = false;  // of its first burst
  std::chrono::microseconds hold{0};        // reports the end at this time after the start at the earliest
  std::function<void(Outcome)> on_outcome;  // called once, on the unit's thread or on Abort's
};

// Owns the kernel and a thread that runs it, in the order of the queue. Any thread may call. XRT's users
// bound the queue. The destructor aborts the running and the queued runs.
class ComputeUnit {
 public:
  explicit ComputeUnit(std::unique_ptr<KernelModel> kernel);
  ~ComputeUnit();

  void Start(KernelRun run);
  // Aborts a run of the client, if this unit has it, or all of them and waits until none executes. The
  // outcome is kAborted unless the run ended first.
  void Abort(const void* client, std::optional<std::uint32_t> packet);

  std::uint32_t ReadRegister(std::uint32_t offset);
  void WriteRegister(std::uint32_t offset, std::uint32_t value);

  std::size_t load() const;  // runs queued and running

 private:
  void Loop();
  KernelRun::Outcome Execute(const KernelRun& run);

  std::mutex kernel_mutex_;
  std::unique_ptr<KernelModel> kernel_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<KernelRun> queue_;
  const KernelRun* running_ = nullptr;
  bool stopping_ = false;
  std::atomic<bool> abort_{false};

  std::thread thread_;
};

}  // namespace tributary::device
