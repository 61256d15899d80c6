#include "aggregator/server/door_log.h"

#include <cstdint>

#include "core/runtime/printable.h"

namespace tributary::server {

void DoorLog::Refused(ConnectionFault fault, const std::string& peer) {
  const auto more = LinesOf(fault).Admit(clock_.SteadyNs());
  if (!more) return;
  runtime::LogWarning("connection from {} refused ({}): {}{}", peer, ConnectionFaultName(fault),
                      ConnectionFaultText(fault), *more);
}

void DoorLog::GaveUp(std::size_t gone) {
  constexpr ConnectionFault kFault = ConnectionFault::kGaveUp;
  const auto more = LinesOf(kFault).Admit(clock_.SteadyNs());
  if (!more) return;
  runtime::LogWarning("{} gave up ({}): {}{}", runtime::Counted(gone, "connection"),
                      ConnectionFaultName(kFault), ConnectionFaultText(kFault), *more);
}

void DoorLog::CutAsSilent(const std::string& peer) {
  const auto more = silent_.limit.Admit(clock_.SteadyNs());
  if (!more) return;
  runtime::LogWarning("connection from {} cut: it has made no call, as too many others{}", peer, *more);
}

void DoorLog::CutForMemory(std::size_t connections) {
  const auto more = memory_.limit.Admit(clock_.SteadyNs());
  if (!more) return;
  runtime::LogError("memory has nearly run out: {} cut{}", runtime::Counted(connections, "connection"),
                    *more);
}

void DoorLog::Floods(const std::string& address, const Quarantine::Stay& stay) {
  const auto more = floods_.limit.Admit(clock_.SteadyNs());
  if (!more) return;
  runtime::LogWarning("{} floods this port ({}: {}): new connections from there get no answer for {} s{}",
                      address, ConnectionFaultName(stay.fault), ConnectionFaultText(stay.fault),
                      stay.length_s, *more);
}

void DoorLog::LeftOut() {
  const std::int64_t now_ns = clock_.SteadyNs();
  for (std::size_t i = 0; i < kConnectionFaults; ++i) {
    const auto fault = static_cast<ConnectionFault>(i);
    const std::uint64_t more = LinesOf(fault).TakeLeftOut(now_ns);
    if (more == 0) continue;
    runtime::LogWarning("{} more refused ({}): {}", runtime::Counted(more, "connection"),
                        ConnectionFaultName(fault), ConnectionFaultText(fault));
  }
}

}  // namespace tributary::server
