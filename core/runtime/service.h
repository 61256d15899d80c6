// A daemon's life: signals and systemd's notification protocol.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

namespace tributary::runtime {

// sysexits.h: systemd and scripts see these.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitData = 65;
inline constexpr int kExitNoInput = 66;
inline constexpr int kExitUnavailable = 69;
inline constexpr int kExitCantCreate = 73;
inline constexpr int kExitConfig = 78;

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in all that it starts, and ignores SIGPIPE. Call first
// in main().
void BlockSignals();

// Sends READY to systemd, then waits on the calling (main) thread. Runs `reload` at each SIGHUP; at SIGTERM
// or SIGINT sends STOPPING and returns. Feeds systemd's watchdog, if the unit asks for it, while `healthy`
// returns true. `finished` (a finite recording at its end) ends the wait, too; it is called ten times a
// second.
void RunUntilStopped(const std::function<void()>& reload, const std::function<bool()>& healthy,
                     const std::function<bool()>& finished);

// Sets the text in `systemctl status`.
void NotifyStatus(std::string_view status);

}  // namespace tributary::runtime
