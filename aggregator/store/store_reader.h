// Reads pages of the store, for any caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/store/database.h"
#include "aggregator/store/records.h"
#include "core/runtime/mutex.h"

namespace tributary::store {

// Thread-safe. Reads through its own connection while the store's thread writes. The next call sees what a
// transaction has committed. Errors: those of Database.
class StoreReader {
 public:
  // `store` is open.
  static absl::StatusOr<std::unique_ptr<StoreReader>> Open(const std::string& folder);

  // The last `count` lines of a run's history before line `number` (0: the newest), in the order of events.
  absl::StatusOr<std::vector<HistoryRecord>> LinesBefore(std::string_view run, std::int64_t number,
                                                         std::size_t count) const;
  // The first `count` lines written or changed after that revision, in the order of the changes.
  absl::StatusOr<std::vector<HistoryRecord>> LinesAfter(std::string_view run, std::int64_t revision,
                                                        std::size_t count) const;
  // The newest one, or none yet.
  absl::StatusOr<std::vector<HistoryRecord>> LastCommitted(std::string_view run) const {
    return Lines("committed = 1 AND number > ?2 ORDER BY number DESC", run, 0, 1);
  }
  absl::StatusOr<std::vector<HistoryRecord>> LastEvaluated(std::string_view run) const {
    return Lines("evaluated = 1 AND number > ?2 ORDER BY number DESC", run, 0, 1);
  }

  // Ascending by round, from the first one at or after `round`.
  absl::StatusOr<std::vector<ModelRecord>> Models(std::string_view run, std::uint32_t round,
                                                  std::size_t count) const;
  // The newest one with these parameters, of any run; nothing: there is none. By an index: it takes as long
  // with many models as with few.
  absl::StatusOr<std::optional<PlacedModel>> NewestModel(std::string_view sha256) const;

 private:
  explicit StoreReader(Database database) : database_(std::move(database)) {}
  absl::StatusOr<std::vector<HistoryRecord>> Lines(std::string_view condition, std::string_view run,
                                                   std::int64_t bound, std::size_t count) const;

  mutable runtime::Mutex mutex_;
  mutable Database database_ GUARDED_BY(mutex_);
};

}  // namespace tributary::store
