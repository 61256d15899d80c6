#include "aggregator/store/store_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "aggregator/store/store_folder.h"
#include "aggregator/store/tables.h"
#include "core/status/macros.h"

namespace tributary::store {

absl::StatusOr<std::unique_ptr<StoreReader>> StoreReader::Open(const std::string& folder) {
  ASSIGN_OR_RETURN(Database database, Database::OpenToRead(fmt::format("{}/{}", folder, kDatabase)));
  return std::unique_ptr<StoreReader>(new StoreReader(std::move(database)));
}

absl::StatusOr<std::vector<HistoryRecord>> StoreReader::Lines(std::string_view condition,
                                                              std::string_view run, std::int64_t bound,
                                                              std::size_t count) const {
  const runtime::MutexLock lock(mutex_);
  const auto read = [](const Row& row) {
    return HistoryRecord{row.Number(0), row.Number(1), row.Number<std::uint32_t>(2), row.Bytes(3)};
  };
  return database_.Query(
      read,
      fmt::format("SELECT number, revision, round, document FROM history WHERE run = ?1 AND {} LIMIT ?3",
                  condition),
      run, bound, count);
}

absl::StatusOr<std::vector<HistoryRecord>> StoreReader::LinesBefore(std::string_view run, std::int64_t number,
                                                                    std::size_t count) const {
  ASSIGN_OR_RETURN(auto lines, Lines("(?2 = 0 OR number < ?2) ORDER BY number DESC", run, number, count));
  std::ranges::reverse(lines);
  return lines;
}

absl::StatusOr<std::vector<HistoryRecord>> StoreReader::LinesAfter(std::string_view run,
                                                                   std::int64_t revision,
                                                                   std::size_t count) const {
  return Lines("revision > ?2 ORDER BY revision", run, revision, count);
}

absl::StatusOr<std::vector<ModelRecord>> StoreReader::Models(std::string_view run, std::uint32_t round,
                                                             std::size_t count) const {
  const runtime::MutexLock lock(mutex_);
  return database_.Query(
      ReadModel,
      fmt::format("SELECT {} FROM model WHERE run = ? AND round >= ? ORDER BY round LIMIT ?", kModelColumns),
      run, round, count);
}

absl::StatusOr<std::optional<PlacedModel>> StoreReader::NewestModel(std::string_view sha256) const {
  const runtime::MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(std::vector<PlacedModel> found,
                   database_.Query(
                       [](const Row& row) {
                         return PlacedModel{row.Bytes(10), ReadModel(row)};
                       },
                       fmt::format("SELECT {}, run FROM model WHERE sha256 = ? "
                                   "ORDER BY created_unix_ns DESC LIMIT 1",
                                   kModelColumns),
                       Blob{sha256}));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

}  // namespace tributary::store
