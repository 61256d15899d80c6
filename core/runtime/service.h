// A daemon's life: signals and systemd's notification protocol.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

namespace tributary::runtime {

// sysexits.h: what systemd and scripts see.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitData = 65;
inline constexpr int kExitNoInput = 66;
inline constexpr int kExitUnavailable = 69;
inline constexpr int kExitCantCreate = 73;
inline constexpr int kExitConfig = 78;

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and all that it starts, and ignores SIGPIPE. Call first in
// main().
void BlockSignals();

// Tells systemd READY, then waits on the calling (main) thread: runs `reload` at each SIGHUP, returns at
// SIGTERM or SIGINT after telling systemd STOPPING. Feeds systemd's watchdog if the unit asks for it, as long
// as `healthy` says so. `finished` ends the wait too (a finite recording at its end); it is asked ten times a
// second.
void RunUntilStopped(const std::function<void()>& reload, const std::function<bool()>& healthy,
                     const std::function<bool()>& finished);

// Free text for `systemctl status`.
void NotifyStatus(std::string_view status);

}  // namespace tributary::runtime
