#include "node/accelerator/xrt_board.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::accelerator {
namespace {

struct Remedy {
  int error;
  absl::StatusCode code;
  const char* text;
};

constexpr const char* kAccess =
    "Install deploy/udev/70-tributary-fpga.rules and add this user to the group fpga";
constexpr const char* kNoBoard = "No such board: is the zocl driver loaded, is `device` right?";

constexpr Remedy kRemedies[] = {
    {EACCES, absl::StatusCode::kPermissionDenied, kAccess},
    {EPERM, absl::StatusCode::kPermissionDenied, kAccess},
    {ENODEV, absl::StatusCode::kUnavailable, kNoBoard},
    {ENXIO, absl::StatusCode::kUnavailable, kNoBoard},
    {ENOENT, absl::StatusCode::kNotFound, "Is this the xclbin of this board?"},
    {ENOMEM, absl::StatusCode::kResourceExhausted,
     "The board's contiguous memory is exhausted: boot with a larger cma="},
    {EBUSY, absl::StatusCode::kResourceExhausted,
     "Another process or panel uses the board: stop it, or use one xclbin"},
    {EINVAL, absl::StatusCode::kUnavailable,
     "If another process loaded its xclbin onto the board, stop it and start this one again"},
};

}  // namespace

absl::Status XrtError(std::string_view doing, const std::exception& exception) {
  int code = 0;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) code = ENOMEM;
  if (const auto* error = dynamic_cast<const std::system_error*>(&exception)) {
    code = std::abs(error->code().value());
  }
  const auto* remedy = std::ranges::find(kRemedies, code, &Remedy::error);
  const bool known = remedy != std::end(kRemedies);
  return absl::Status(known ? remedy->code : absl::StatusCode::kUnavailable,
                      fmt::format("{}: {}. {}", doing, exception.what(),
                                  known ? remedy->text : "`tributary doctor` checks the board"));
}

absl::Status CheckXclbinUuid(const XclbinSummary& xclbin, const XrtOptions& options) {
  if (options.xclbin_uuid.empty() || options.xclbin_uuid == xclbin.uuid) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("xclbin {} has UUID {}, the configuration asks for {}. Install the right one, or change "
                  "`xclbin_uuid`",
                  options.xclbin, xclbin.uuid, options.xclbin_uuid));
}

absl::StatusOr<std::unique_ptr<XrtBoard>> XrtBoard::Open(const XrtOptions& options) {
  const std::string device = fmt::format("device {}", options.device);
  absl::StatusOr<XclbinSummary> xclbin = ReadXclbin(options.xclbin);
  if (!xclbin.ok()) return WithContext(device, xclbin.status());
  RETURN_IF_ERROR(WithContext(device, CheckXclbinUuid(*xclbin, options)));
  std::unique_ptr<XrtBoard> board(new XrtBoard);
  board->xclbin_ = *std::move(xclbin);
  board->name_ = fmt::format("{}, xclbin {}", device, board->xclbin_.uuid);
  RETURN_IF_ERROR(
      GuardXrt(fmt::format("opening {}", device), [&] { board->device_ = xrt::device(options.device); }));
  RETURN_IF_ERROR(GuardXrt(fmt::format("loading {} on {}", options.xclbin, device),
                           [&] { board->uuid_ = board->device_.load_xclbin(options.xclbin); }));
  std::string loaded;
  RETURN_IF_ERROR(GuardXrt(fmt::format("asking {} for its xclbin", device),
                           [&] { loaded = board->device_.get_xclbin_uuid().to_string(); }));
  if (loaded != board->xclbin_.uuid) {
    return absl::FailedPreconditionError(
        fmt::format("{} holds xclbin {}, not {} of {}: another process loaded it. Stop that process", device,
                    loaded, board->xclbin_.uuid, options.xclbin));
  }
  return board;
}

absl::StatusOr<std::vector<xrt::kernel>> XrtBoard::TakeUnits(std::string_view kernel, std::size_t count) {
  std::vector<xrt::kernel> taken;
  absl::Status last = absl::NotFoundError(
      fmt::format("{}: no compute unit of {} in the xclbin. Build the xclbin with it", name_, kernel));
  const std::string prefix = fmt::format("{}:", kernel);
  for (const std::string& unit : xclbin_.units) {
    if (taken.size() == count) break;
    if (unit.compare(0, prefix.size(), prefix) != 0) continue;
    const std::string instance = fmt::format("{}:{{{}}}", kernel, unit.substr(prefix.size()));
    const absl::Status status = GuardXrt(fmt::format("taking {} of {}", unit, name_), [&] {
      taken.emplace_back(device_, uuid_, instance, xrt::kernel::cu_access_mode::exclusive);
    });
    if (!status.ok()) last = status;
  }
  if (taken.empty()) return last;
  return taken;
}

}  // namespace tributary::accelerator
