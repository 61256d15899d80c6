// What the store keeps. Documents are the caller's own bytes: the store does not look into them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/store/durable_file.h"

namespace tributary::store {

struct RunRecord {
  std::string name;
  std::string config;    // as it was given
  std::string document;  // where the run stands
  std::int64_t started_unix_ns = 0;
  std::uint32_t model_round = 0;  // after which the run has its present model
};

// The model after a round; round 0: the initial one.
struct ModelRecord {
  std::uint32_t round = 0;
  std::string sha256;  // 32 bytes, of the parameters
  std::uint64_t element_count = 0;
  std::int64_t created_unix_ns = 0;
  FileFacts file;
  FileFacts strategy_state;  // with an empty name: there is none
};

// Its columns of the database, as both who writes and who only reads select them.
inline constexpr std::string_view kModelColumns =
    "round, sha256, element_count, created_unix_ns, file, bytes, crc32c, state_file, state_bytes, "
    "state_crc32c";

// An accepted update of the round under way.
struct SubmissionRecord {
  std::string node;
  std::string document;
  FileFacts file;
};

// The elements of an update that is to be kept: small ones share a file, a large one has come with its own.
struct ArrivedUpdate {
  std::string_view bytes;  // the caller's; where there is no file
  std::optional<DurableFile> file = {};
};

// A line of a run's history. The store numbers lines as they are written, and counts their changes.
struct HistoryRecord {
  std::int64_t number = 0;
  std::int64_t revision = 0;  // of the run's history when the line was written or amended
  std::uint32_t round = 0;
  std::string document;
};

}  // namespace tributary::store
