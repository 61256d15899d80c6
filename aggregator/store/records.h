// The store's records. Documents are the caller's bytes; the store does not parse them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/store/durable_file.h"

namespace tributary::store {

struct RunRecord {
  std::string name;
  std::string config;    // as given by the caller
  std::string document;  // the run's state
  std::int64_t started_unix_ns = 0;
  std::uint32_t model_round = 0;  // the run has its present model since then
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

// A model among those of all runs.
struct PlacedModel {
  std::string run;
  ModelRecord model;
};

// An accepted update of the present round.
struct SubmissionRecord {
  std::string node;
  std::string document;
  FileFacts file;
};

// The elements of an update to keep: small ones share a file, a large one has its own.
struct ArrivedUpdate {
  std::string_view bytes;  // the caller's; if there is no file
  std::optional<DurableFile> file = {};
};

// A line of a run's history. The store numbers the lines, and counts their changes.
struct HistoryRecord {
  std::int64_t number = 0;
  std::int64_t revision = 0;  // the history's revision when the line was written or changed
  std::uint32_t round = 0;
  std::string document;
};

}  // namespace tributary::store
