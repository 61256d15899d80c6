// Calls of gRPC that the gate refused, gathered for the audit log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "aggregator/access/audit_log.h"
#include "core/runtime/mutex.h"

namespace tributary::access {

// One line for each name, call and minute, however often the name asks. Names and calls beyond kMostKinds in
// a minute share a line. Thread-safe.
class RefusedCalls {
 public:
  static constexpr std::size_t kMostKinds = 256;

  void Count(const std::string& name, std::string_view method, const absl::Status& refusal,
             std::int64_t now_ns);
  // Call ten times a second: adds the lines of a minute that is over to the log; null: forgets them. `all`:
  // also those of the present minute, before the log is closed.
  void Tell(AuditLog* audit, std::int64_t now_ns, bool all = false);

 private:
  struct Kind {
    std::uint64_t count = 0;
    absl::Status first;
  };

  runtime::Mutex mutex_;
  std::int64_t began_ns_ GUARDED_BY(mutex_) = 0;
  std::map<std::pair<std::string, std::string>, Kind> kinds_ GUARDED_BY(mutex_);  // by name and method
};

}  // namespace tributary::access
