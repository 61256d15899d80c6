// Rows of the database as records.
#pragma once

#include <cstdint>

#include "aggregator/store/database.h"
#include "aggregator/store/records.h"

namespace tributary::store {

// From three columns: file, bytes, crc32c.
inline FileFacts ReadFacts(const Statement& row, int column) {
  return {row.Text(column), static_cast<std::uint64_t>(row.Integer(column + 1)),
          static_cast<std::uint32_t>(row.Integer(column + 2))};
}

// From kModelColumns.
inline ModelRecord ReadModel(const Statement& row) {
  return {static_cast<std::uint32_t>(row.Integer(0)),
          row.Blob(1),
          static_cast<std::uint64_t>(row.Integer(2)),
          row.Integer(3),
          ReadFacts(row, 4),
          ReadFacts(row, 7)};
}

}  // namespace tributary::store
