// Who did what: one line of JSON for each operation, in a file that only grows.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/runtime/clock.h"
#include "core/runtime/descriptor.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::access {

// Who asks for an operation. No secret.
struct Caller {
  std::string name = {};        // of the certificate or token; empty: not known
  std::string way = {};         // "certificate", "token", "session", "anonymous", "file"
  std::string from = {};        // "192.0.2.7:5000"; empty: not known
  std::string credential = {};  // the token's id
};

struct AuditEvent {
  Caller caller;
  std::string action;   // "StartRun", or for HTTP what the table of calls says
  std::string subject;  // the run, the token …
  absl::Status outcome;
};

// Any thread adds; a thread of its own writes, so that a slow disk holds nobody up. Events beyond
// kMostWaiting, and those that the disk does not take, are counted and said. A line is on its way to the disk
// (write, no sync) within the second. At kMostBytes the file becomes FILE.1 and a new one begins.
class AuditLog {
 public:
  static constexpr std::size_t kMostWaiting = 1'024;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;

  // Appends to the file, which its owner alone may read. Errors: PermissionDenied or NotFound, with the path.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path, const runtime::Clock& clock,
                                                        std::uint64_t most_bytes = kMostBytes);
  // Writes what waits.
  ~AuditLog();

  void Add(const AuditEvent& event);
  std::uint64_t written() const { return written_; }
  std::uint64_t lost() const { return lost_; }

 private:
  AuditLog(std::string path, const runtime::Clock& clock, std::uint64_t most_bytes)
      : path_(std::move(path)), clock_(clock), most_bytes_(most_bytes) {}
  absl::Status OpenFile();
  void Run(const std::stop_token& stop);
  void Write(const std::string& line);
  absl::Status TryToWrite(const std::string& line);

  const std::string path_;
  const runtime::Clock& clock_;
  const std::uint64_t most_bytes_;
  // The thread that writes.
  runtime::Descriptor file_{-1};
  std::uint64_t bytes_ = 0;
  bool failing_ = false;

  std::atomic<std::uint64_t> written_ = 0, lost_ = 0;
  runtime::Mutex mutex_;
  std::deque<std::string> waiting_ GUARDED_BY(mutex_);
  std::condition_variable_any news_;
  std::jthread thread_;
};

// Its counts as metrics; null: all are 0.
void CollectAudit(const AuditLog* log, runtime::Reading& reading);

}  // namespace tributary::access
