// The software board: memory, the loaded xclbin and its compute units, shared by all who opened it.
#pragma once

#include <xclbin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "fpga/device/compute_unit.h"
#include "fpga/device/device_memory.h"

namespace tributary::device {

// Errors are std::system_error, as XRT's callers expect.
[[noreturn]] void Throw(int error, const std::string& text);

// Faults of the software device, for tests of its users. Counts runs from 1 over all compute units since the
// first user opened the device.
struct FaultPlan {
  // A list "name[=value],…"; names as the members below, a value that is not given is 1. Errors:
  // InvalidArgument naming the word.
  static absl::StatusOr<FaultPlan> Parse(const std::string& text);

  std::optional<std::uint64_t> no_device;
  std::optional<std::uint64_t> no_permission;
  std::optional<std::uint64_t> wrong_uuid;      // the board holds another xclbin than the one just loaded
  std::optional<std::uint64_t> slow_interrupt;  // completions are noticed 500 ms late
  std::optional<std::uint64_t> hang;            // this run never ends
  std::optional<std::uint64_t> hang_hard;       // nor can it be aborted
  std::optional<std::uint64_t> hang_after;      // neither this run nor a later one ends
  std::optional<std::uint64_t> read_error;      // answers the first read burst of this run with an error
  std::optional<std::uint64_t> write_error;
  std::optional<std::uint64_t> disappear;  // from this run on, every call fails
  std::optional<std::uint64_t>
      frame_us;  // delays the end of a run by this time for each of its frames, at most a second
  std::optional<std::uint64_t> memory_bytes;
};

// Any thread may call.
class Board {
 public:
  using Uuid = std::array<std::uint8_t, 16>;

  explicit Board(const FaultPlan& faults)
      : faults_(faults), memory_(faults.memory_bytes.value_or(std::size_t{256} << 20)) {}

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
  // As ComputeUnit::Abort.
  void Abort(const void* client, std::optional<std::uint32_t> packet);

  ComputeUnit& unit(std::uint32_t index);
  DeviceMemory& memory() { return memory_; }

  // ENODEV once the device has disappeared.
  void Check() const;

 private:
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
