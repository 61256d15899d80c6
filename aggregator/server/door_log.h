// What the front door says, so seldom that no flood fills the log.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "aggregator/server/connection_fault.h"
#include "aggregator/server/quarantine.h"
#include "core/runtime/clock.h"
#include "core/runtime/log.h"

namespace tributary::server {

// One thread's.
class DoorLog {
 public:
  // `clock` outlives it.
  explicit DoorLog(const runtime::Clock& clock) : clock_(clock) {}

  void Refused(ConnectionFault fault, const std::string& peer);
  // So many went while they waited.
  void GaveUp(std::size_t gone);
  // This connection made room for others.
  void CutAsSilent(const std::string& peer);
  void CutForMemory(std::size_t connections);
  void Floods(const std::string& address, const Quarantine::Stay& stay);
  // Call it now and then: tells the number of refusals that a limit has suppressed and after which none came.
  void LeftOut();

 private:
  struct Lines {
    runtime::LogLimit limit{10, 10'000'000'000};
  };

  runtime::LogLimit& LinesOf(ConnectionFault fault) {
    return refused_[static_cast<std::size_t>(fault)].limit;
  }

  const runtime::Clock& clock_;
  Lines silent_, memory_, floods_;
  std::array<Lines, kConnectionFaults> refused_;  // a flood for one reason hides no other
};

}  // namespace tributary::server
