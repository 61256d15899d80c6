#include "node/accelerator/xrt_board.h"

#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>
#include <utility>

namespace tributary::accelerator {
namespace {

absl::Status ErrorOf(int code, const std::string& text) {
  switch (code) {
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(fmt::format(
          "{}. Install deploy/udev/70-tributary-fpga.rules and add this user to the group fpga", text));
    case ENODEV:
    case ENXIO:
      return absl::UnavailableError(
          fmt::format("{}. No such board: is the zocl driver loaded, is `device` right?", text));
    case ENOENT:
      return absl::NotFoundError(fmt::format("{}. Is this the xclbin of this board?", text));
    case ENOMEM:
      return absl::ResourceExhaustedError(
          fmt::format("{}. The board's contiguous memory is exhausted: boot with a larger cma=", text));
    case EBUSY:
      return absl::ResourceExhaustedError(
          fmt::format("{}. Another process or panel uses the board: stop it, or use one xclbin", text));
    case EINVAL:
      return absl::UnavailableError(fmt::format(
          "{}. If another process loaded its xclbin onto the board, stop it and start this one again", text));
    default:
      return absl::UnavailableError(fmt::format("{}. `tributary doctor` checks the board", text));
  }
}

}  // namespace

absl::Status XrtError(std::string_view doing, const std::exception& exception) {
  const std::string text = fmt::format("{}: {}", doing, exception.what());
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return ErrorOf(ENOMEM, text);
  if (const auto* error = dynamic_cast<const std::system_error*>(&exception)) {
    return ErrorOf(std::abs(error->code().value()), text);
  }
  return ErrorOf(0, text);
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
  if (!xclbin.ok()) {
    return absl::Status(xclbin.status().code(),
                        fmt::format("{}: {}", device, std::string(xclbin.status().message())));
  }
  if (absl::Status status = CheckXclbinUuid(*xclbin, options); !status.ok()) {
    return absl::Status(status.code(), fmt::format("{}: {}", device, std::string(status.message())));
  }
  std::unique_ptr<XrtBoard> board(new XrtBoard);
  board->xclbin_ = *std::move(xclbin);
  board->name_ = fmt::format("{}, xclbin {}", device, board->xclbin_.uuid);
  absl::Status status =
      GuardXrt(fmt::format("opening {}", device), [&] { board->device_ = xrt::device(options.device); });
  if (!status.ok()) return status;
  status = GuardXrt(fmt::format("loading {} on {}", options.xclbin, device),
                    [&] { board->uuid_ = board->device_.load_xclbin(options.xclbin); });
  if (!status.ok()) return status;
  std::string loaded;
  status = GuardXrt(fmt::format("asking {} for its xclbin", device),
                    [&] { loaded = board->device_.get_xclbin_uuid().to_string(); });
  if (!status.ok()) return status;
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
