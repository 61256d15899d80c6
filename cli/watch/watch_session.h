// A watch under way: one thread reads and counts every slot, any other looks now and then.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "cli/watch/truth.h"
#include "cli/watch/watch_statistics.h"
#include "cli/watch/watch_table.h"
#include "core/link/watcher.h"
#include "core/runtime/clock.h"
#include "core/runtime/mutex.h"

namespace tributary::cli {

class WatchSession {
 public:
  struct Options {
    link::WatchOptions watch;
    double seconds = 0;        // from the first slot; 0: until stopped
    bool print_slots = false;  // each slot as a line of JSON on standard output
  };

  // `truth` may be null; it and the clock outlive the session.
  WatchSession(Options options, std::shared_ptr<grpc::Channel> channel, const Truth* truth,
               const runtime::Clock& clock);
  ~WatchSession();

  // The session has ended by itself: its time is over, or it failed.
  bool done() const;
  void Stop();
  // Valid once the session has ended.
  absl::Status status() const;

  // Empty until the first slot has come.
  std::optional<WatchView> View();

 private:
  void Run(std::stop_token stop);
  bool TimeIsOver(std::int64_t steady_ns) const REQUIRES(mutex_);
  void Take(const wire::WatchedSlot& slot, const std::vector<std::string>& leaves, std::stop_source& enough);

  const Options options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const Truth* const truth_;
  const runtime::Clock& clock_;

  mutable runtime::Mutex mutex_;
  WatchStatistics statistics_ GUARDED_BY(mutex_);
  wire::WatchedSlot latest_ GUARDED_BY(mutex_);
  std::size_t leaves_ GUARDED_BY(mutex_) = 0;
  std::int64_t latest_latency_ns_ GUARDED_BY(mutex_) = 0;
  std::int64_t first_steady_ns_ GUARDED_BY(mutex_) = 0;
  std::string note_ GUARDED_BY(mutex_);
  std::optional<absl::Status> status_ GUARDED_BY(mutex_);

  // The viewer's: for the rate since the last second.
  std::uint64_t viewed_fused_ = 0;
  double viewed_seconds_ = 0;
  double recent_fused_per_s_ = 0;

  std::jthread thread_;  // last: it uses everything above
};

}  // namespace tributary::cli
