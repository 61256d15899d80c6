// The software board: memory, the loaded xclbin and its compute units, shared by all who opened it.
#pragma once

#include <xclbin.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "fpga/device/compute_unit.h"
#include "fpga/device/device_memory.h"
#include "fpga/device/fault_plan.h"

namespace tributary::device {

// Any thread may call. Errors are std::system_error, as XRT's callers expect.
class Board {
 public:
  using Uuid = std::array<std::uint8_t, 16>;

  explicit Board(const FaultPlan& faults) : faults_(faults), memory_(faults.memory_bytes) {}

  // Loads an xclbin: EINVAL for a malformed one, ENOENT for a kernel that is not in the catalogue, EBUSY
  // while another one is in use. Loading the present one again changes nothing.
  void Load(const axlf& image);

  // A unit in use keeps the xclbin loaded. EINVAL if the board holds another xclbin; EBUSY for a unit that
  // another user has exclusively, or for exclusive use of a shared unit. Numbers beyond the units (XRT's
  // virtual unit) only keep the xclbin.
  void OpenContext(const Uuid& xclbin, std::uint32_t unit, bool shared);
  void CloseContext(std::uint32_t unit);

  // Gives a run to the least loaded of the units whose bits are set.
  void Start(std::span<const std::uint32_t> unit_mask, KernelRun run);
  bool Abort(const void* client, std::uint32_t packet);
  void AbortAll(const void* client);

  ComputeUnit& unit(std::uint32_t index);
  DeviceMemory& memory() { return memory_; }

  // ENODEV once the device has disappeared.
  void Check() const;

 private:
  KernelRun::Fault FaultOf(std::uint64_t run) const;
  std::chrono::microseconds HoldOf(const KernelRun& run) const;

  const FaultPlan faults_;
  DeviceMemory memory_;

  mutable std::mutex mutex_;
  bool loaded_ = false;
  Uuid uuid_{};
  struct Use {
    std::uint32_t users = 0;
    bool exclusive = false;
  };
  std::map<std::uint32_t, Use> uses_;  // by unit
  std::uint64_t runs_ = 0;
  bool gone_ = false;
  std::vector<std::unique_ptr<ComputeUnit>> units_;  // last: their threads end first
};

}  // namespace tributary::device
