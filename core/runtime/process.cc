#include "core/runtime/process.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace tributary::runtime {
namespace {

sigset_t HandledSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int handled : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, handled);
  return signals;
}

constexpr int kArenas = 2;      // of malloc
constexpr int kKept = 1 << 30;  // bytes at the end of an arena: all

// In the arena that malloc gives to a new thread.
void* FreeSome(void* /*unused*/) {
  void* volatile some = malloc(128 << 10);
  free(some);
  return nullptr;
}

}  // namespace

void TuneProcess() {
  mallopt(M_TRIM_THRESHOLD, kKept);
  // Chunks of models and updates (1 MiB each) come and go on many threads and would fragment the heap.
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  // Few threads allocate; gRPC's threads free what others allocated.
  mallopt(M_ARENA_MAX, kArenas);
  // Each peer's connection and each file of the store needs a descriptor: the usual 1,024 are too few.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

void QuietLibraries() { setenv("GRPC_VERBOSITY", "NONE", 0); }

std::uint64_t FreedBytes() { return mallinfo2().fordblks; }

void ReturnFreedMemory() {
  malloc_trim(0);
  // It leaves out the end of every arena but the first one. glibc returns that when 64 KiB or more are freed
  // in the arena. New threads get the arenas by turns.
  mallopt(M_TRIM_THRESHOLD, 0);
  for (int i = 0; i < kArenas; ++i) {
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, FreeSome, nullptr) == 0) pthread_join(thread, nullptr);
  }
  mallopt(M_TRIM_THRESHOLD, kKept);
}

void BlockSignals() {
  const sigset_t signals = HandledSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

EndsWhileStarting::EndsWhileStarting(std::string program)
    : thread_([program = std::move(program)](const std::stop_token& stop) {
        sigset_t signals;
        sigemptyset(&signals);
        for (const int ending : {SIGTERM, SIGINT}) sigaddset(&signals, ending);
        constexpr timespec kPoll{0, 10'000'000};
        while (!stop.stop_requested()) {
          if (sigtimedwait(&signals, nullptr, &kPoll) < 0) continue;
          sd_notify(0, "STOPPING=1");
          std::fputs(fmt::format("{}: stopped while starting\n", program).c_str(), stderr);
          _exit(kExitOk);
        }
      }) {}

void RunUntilStopped(const std::function<void()>& reload, const std::function<bool()>& healthy,
                     const std::function<bool()>& finished, const std::function<void()>& tick) {
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
    tick();
    if (watchdog_us > 0 && healthy()) sd_notify(0, "WATCHDOG=1");
  }
  sd_notify(0, "STOPPING=1");
}

int FinishOutput(std::string_view program, int exit_code) {
  errno = 0;
  std::cout.flush();
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  // Whoever reads, `head` for one, may have enough.
  const bool unread = errno == EPIPE || (poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0);
  if (!failed || exit_code != kExitOk || unread) return exit_code;
  const std::string reason = errno == 0 ? "" : fmt::format(": {}", std::strerror(errno));
  std::fputs(fmt::format("{}: standard output cannot be written{}\n", program, reason).c_str(), stderr);
  return kExitCantCreate;
}

}  // namespace tributary::runtime
