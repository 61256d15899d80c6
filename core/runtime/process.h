// A process from its first line to its last: tuning, signals, systemd's notifications, exit status.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

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

// Settings that gRPC's hot path depends on. Call first in main(), before any thread is started.
//
// malloc keeps freed memory instead of returning it page by page: the first touch of a page costs 1.2 us
// (measured), a tenth of a round trip. Debian builds Abseil without NDEBUG, so its mutexes search for
// deadlocks at every lock, in a graph that all threads share; gRPC locks some dozen times per message. This
// also raises the limit of open files to the system's maximum.
void TuneProcess();

// Call first in main(). Silences gRPC's own lines on standard error, several a second for a wrong
// certificate: we log their statuses once. GRPC_VERBOSITY in the environment wins.
void QuietLibraries();

// Bytes that malloc keeps although they were freed, also those that it has returned since. Takes it some
// microseconds, after a rush a millisecond.
std::uint64_t FreedBytes();

// Returns memory that malloc keeps to the system, which takes milliseconds. Call it after a rare and large
// piece of work: a round of federated learning, a model received.
void ReturnFreedMemory();

// Blocks SIGTERM, SIGINT and SIGHUP in this thread and in all that it starts, and ignores SIGPIPE. Call first
// in main().
void BlockSignals();

// While it lives, SIGTERM and SIGINT end the process at once with kExitOk, after a line on standard error: a
// file that loads, or a device that opens, may take longer than systemd waits. It must end before anything is
// taken or answered, which a clean stop accounts for; needs BlockSignals. The store and the files that
// we write bear an end at any moment.
class EndsWhileStarting {
 public:
  explicit EndsWhileStarting(std::string program);

 private:
  std::jthread thread_;
};

// Sends READY to systemd, then waits on the calling (main) thread. Runs `reload` at each SIGHUP; at SIGTERM
// or SIGINT sends STOPPING and returns. Feeds systemd's watchdog, if the unit asks for it, while `healthy`
// returns true. `finished` (a finite recording at its end) ends the wait, too. It and `tick` are called ten
// times a second.
void RunUntilStopped(const std::function<void()>& reload, const std::function<bool()>& healthy,
                     const std::function<bool()>& finished, const std::function<void()>& tick);

// Call last in main(): flushes standard output. If it has failed since the start (full disk), says so on
// standard error and returns kExitCantCreate instead of success; a failing exit code stays, and so does the
// code of a program whose reader has gone.
int FinishOutput(std::string_view program, int exit_code);

}  // namespace tributary::runtime
