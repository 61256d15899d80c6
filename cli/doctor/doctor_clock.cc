#include <fmt/format.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>

#include "cli/doctor/doctor.h"
#include "core/runtime/clock.h"
#include "core/wire/peer.h"
#include "node/checks/machine_checks.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {
namespace {

constexpr int kExchanges = 16;  // the first one pays for the connection
constexpr std::chrono::seconds kClockPatience(3);

double Microseconds(std::int64_t ns) { return 1e-3 * static_cast<double>(ns); }

absl::StatusOr<ClockOffset> AskAggregator(const ConnectionArguments& connection) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, Connect(connection));
  const auto stub = v1::FleetService::NewStub(channel);
  const auto ask = [&]() -> absl::StatusOr<std::int64_t> {
    grpc::ClientContext context;
    SetDeadline(context, kClockPatience);
    v1::ListNodesResponse response;
    const grpc::Status status = stub->ListNodes(&context, v1::ListNodesRequest(), &response);
    if (!status.ok()) return wire::PeerStatus(status);
    if (response.answered_unix_ns() == 0) {
      return absl::UnimplementedError("it does not tell its time: it is of an earlier version");
    }
    return response.answered_unix_ns();
  };
  return MeasureClockOffset(
      ask, [] { return runtime::SystemClock().UnixNs(); }, kExchanges);
}

}  // namespace

absl::StatusOr<ClockOffset> MeasureClockOffset(const std::function<absl::StatusOr<std::int64_t>()>& ask,
                                               const std::function<std::int64_t()>& now_unix_ns,
                                               int exchanges) {
  ClockOffset best{0, std::numeric_limits<std::int64_t>::max()};
  for (int i = 0; i < exchanges; ++i) {
    const std::int64_t asked = now_unix_ns();
    ASSIGN_OR_RETURN(const std::int64_t theirs, ask());
    const std::int64_t answered = now_unix_ns();
    const std::int64_t half = (answered - asked) / 2;
    // Our own clock may be stepped in between.
    if (half < 0 || half >= best.uncertainty_ns) continue;
    best = {theirs - (asked + half), half};
  }
  if (best.uncertainty_ns == std::numeric_limits<std::int64_t>::max()) {
    return absl::AbortedError("this clock was set back while it was compared");
  }
  return best;
}

checks::CheckLine JudgeOffset(const std::string& aggregator, const absl::StatusOr<ClockOffset>& offset,
                              estimate::SlotLength slot) {
  if (!offset.ok()) {
    const std::string found = fmt::format("{}: {}", aggregator, std::string(offset.status().message()));
    if (absl::IsUnimplemented(offset.status())) {
      return {"clock offset", checks::Finding::kWarning, found, "Update the aggregator"};
    }
    return {"clock offset", checks::Finding::kFault, found,
            "Is the aggregator running and reachable; do --certificate, --key and --ca fit it?"};
  }
  const std::string found =
      fmt::format("the clock of the aggregator at {} is {:.1f} us {}, +/- {:.1f} us", aggregator,
                  std::abs(Microseconds(offset->offset_ns)), offset->offset_ns < 0 ? "behind" : "ahead",
                  Microseconds(offset->uncertainty_ns));
  const std::int64_t off_ns = std::abs(offset->offset_ns), limit_ns = slot.ns() / 2;
  // Beyond doubt only where the uncertainty does not reach the limit.
  if (off_ns - offset->uncertainty_ns > limit_ns) {
    return {"clock offset", checks::Finding::kFault, found, checks::kDiscipline};
  }
  if (off_ns + offset->uncertainty_ns > limit_ns) {
    return {"clock offset", checks::Finding::kWarning, found,
            fmt::format("More than half a slot of {} is possible: measure again on a quiet network",
                        slot.Text())};
  }
  return {"clock offset", checks::Finding::kOk, found};
}

checks::CheckLine CheckOffset(const ConnectionArguments& connection, estimate::SlotLength slot) {
  return JudgeOffset(connection.aggregator, AskAggregator(connection), slot);
}

}  // namespace tributary::cli
