#include "aggregator/store/store_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregator/store/row.h"
#include "aggregator/store/store_place.h"
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
  ASSIGN_OR_RETURN(Statement rows,
                   database_.Prepare(fmt::format("SELECT number, revision, round, document FROM "
                                                 "history WHERE run = ?1 AND {} LIMIT ?3",
                                                 condition)));
  rows.BindText(1, run).Bind(2, bound).Bind(3, static_cast<std::int64_t>(count));
  std::vector<HistoryRecord> lines;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return lines;
    lines.push_back(
        {rows.Integer(0), rows.Integer(1), static_cast<std::uint32_t>(rows.Integer(2)), rows.Blob(3)});
  }
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

absl::StatusOr<std::optional<HistoryRecord>> StoreReader::LastCommitted(std::string_view run) const {
  ASSIGN_OR_RETURN(auto lines, Lines("committed = 1 AND number > ?2 ORDER BY number DESC", run, 0, 1));
  return lines.empty() ? std::nullopt : std::optional(std::move(lines.front()));
}

absl::StatusOr<std::optional<HistoryRecord>> StoreReader::LastEvaluated(std::string_view run) const {
  ASSIGN_OR_RETURN(auto lines, Lines("evaluated = 1 AND number > ?2 ORDER BY number DESC", run, 0, 1));
  return lines.empty() ? std::nullopt : std::optional(std::move(lines.front()));
}

absl::StatusOr<std::vector<ModelRecord>> StoreReader::Models(std::string_view run, std::uint32_t round,
                                                             std::size_t count) const {
  const runtime::MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(
      Statement rows,
      database_.Prepare(fmt::format(
          "SELECT {} FROM model WHERE run = ? AND round >= ? ORDER BY round LIMIT ?", kModelColumns)));
  rows.BindText(1, run).Bind(2, std::int64_t{round}).Bind(3, static_cast<std::int64_t>(count));
  std::vector<ModelRecord> models;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return models;
    models.push_back(ReadModel(rows));
  }
}

}  // namespace tributary::store
