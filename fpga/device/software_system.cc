// The entry point for libxrt_coreutil: the object below registers itself when the library is opened.
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>
#include <vector>

#include "fpga/device/board.h"
#include "fpga/device/software_device.h"
#include "fpga/device/xrt_core_interface.h"

namespace tributary::device {
namespace {

// The faults of TRIBUTARY_DEVICE_FAULTS. A malformed list is an error.
FaultPlan FaultsFromEnvironment() {
  const char* text = std::getenv("TRIBUTARY_DEVICE_FAULTS");
  absl::StatusOr<FaultPlan> plan = FaultPlan::Parse(text == nullptr ? "" : text);
  if (!plan.ok()) throw std::runtime_error(std::string(plan.status().message()));
  return *plan;
}

// One board, index 0. It exists while somebody has it open; the first opening reads its faults. Openings are
// kept until the process ends: threads of coreutil may still use a closed one.
class SoftwareSystem final : public xrt_core::system {
 public:
  std::pair<unsigned, unsigned> get_total_devices(bool) const override {
    const unsigned count = FaultsFromEnvironment().no_device ? 0 : 1;
    return {count, count};
  }

  std::shared_ptr<xrt_core::device> get_userpf_device(unsigned index) const override {
    const FaultPlan faults = FaultsFromEnvironment();
    if (index != 0 || faults.no_device) throw std::system_error(ENODEV, std::generic_category(), "no device");
    if (faults.no_permission) {
      throw std::system_error(EACCES, std::generic_category(), "cannot open the device node");
    }
    std::shared_ptr<Opening> opening = std::make_shared<Opening>();
    {
      const std::scoped_lock lock(mutex_);
      opening->board = board_.lock();
      if (opening->board == nullptr) board_ = opening->board = std::make_shared<Board>(faults);
      openings_.push_back(opening);
    }
    // Calls back the function below.
    return xrt_core::get_userpf_device(opening.get(), index);
  }

  std::shared_ptr<xrt_core::device> get_userpf_device(xclDeviceHandle handle, unsigned index) const override {
    auto* opening = static_cast<Opening*>(handle);
    opening->device = std::make_shared<SoftwareDevice>(index, handle, std::move(opening->board));
    return opening->device;
  }

  std::shared_ptr<xrt_core::device> get_mgmtpf_device(unsigned) const override {
    throw std::system_error(ENOTSUP, std::generic_category(),
                            "the software device has no management function");
  }

 private:
  struct Opening {
    std::shared_ptr<Board> board;  // until the device has it
    std::shared_ptr<SoftwareDevice> device;
  };

  mutable std::mutex mutex_;
  mutable std::weak_ptr<Board> board_;
  mutable std::vector<std::shared_ptr<Opening>> openings_;
};

// Never destroyed: coreutil calls until the very end of the process.
[[maybe_unused]] SoftwareSystem* const registered = new SoftwareSystem;

}  // namespace
}  // namespace tributary::device
