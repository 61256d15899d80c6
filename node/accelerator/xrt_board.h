// An opened board with its xclbin. Only this class turns XRT's exceptions into errors.
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "fmt/format.h"
#include "node/accelerator/create.h"
#include "node/accelerator/xrt_xclbin.h"

namespace tributary::accelerator {

// The error for an exception of XRT: PermissionDenied, ResourceExhausted, NotFound, FailedPrecondition or
// Unavailable, with the step under way and the remedy.
absl::Status XrtError(std::string_view doing, const std::exception& exception);

// Calls `call`, which may throw.
template <typename Call>
absl::Status GuardXrt(std::string_view doing, const Call& call) {
  try {
    call();
    return absl::OkStatus();
  } catch (const std::exception& exception) {
    return XrtError(doing, exception);
  }
}

// FailedPrecondition if the options ask for another UUID.
absl::Status CheckXclbinUuid(const XclbinSummary& xclbin, const XrtOptions& options);

// One thread. Kernels, buffers and runs must be destroyed before it.
class XrtBoard {
 public:
  // Reads and loads the xclbin, and compares its UUID with the options and with the board's.
  static absl::StatusOr<std::unique_ptr<XrtBoard>> Open(const XrtOptions& options);

  // Takes up to `count` free compute units of a kernel, each for us alone. NotFound if the xclbin has none;
  // ResourceExhausted if all are taken.
  absl::StatusOr<std::vector<xrt::kernel>> TakeUnits(std::string_view kernel, std::size_t count);

  xrt::device& device() { return device_; }
  // "device 0, xclbin <uuid>", for messages.
  const std::string& name() const { return name_; }

 private:
  XrtBoard() = default;

  xrt::device device_;
  xrt::uuid uuid_;
  XclbinSummary xclbin_;
  std::string name_;
};

}  // namespace tributary::accelerator
