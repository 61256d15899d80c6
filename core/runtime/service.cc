#include "core/runtime/service.h"

#include <signal.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <cstdint>
#include <string>

namespace tributary::runtime {
namespace {

sigset_t HandledSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

void BlockSignals() {
  const sigset_t signals = HandledSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void RunUntilStopped(const std::function<void()>& reload, const std::function<bool()>& healthy,
                     const std::function<bool()>& finished) {
  const sigset_t signals = HandledSignals();
  std::uint64_t watchdog_us = 0;
  sd_watchdog_enabled(0, &watchdog_us);
  sd_notify(0, "READY=1");
  constexpr timespec kPoll{0, 100'000'000};
  while (!finished()) {
    const int signal_number = sigtimedwait(&signals, nullptr, &kPoll);
    if (signal_number == SIGTERM || signal_number == SIGINT) break;
    if (signal_number == SIGHUP) {
      sd_notify(0, "RELOADING=1");
      reload();
      sd_notify(0, "READY=1");
    }
    if (watchdog_us > 0 && healthy()) sd_notify(0, "WATCHDOG=1");
  }
  sd_notify(0, "STOPPING=1");
}

void NotifyStatus(std::string_view status) { sd_notify(0, ("STATUS=" + std::string(status)).c_str()); }

}  // namespace tributary::runtime
