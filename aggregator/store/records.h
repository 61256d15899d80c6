// What the store keeps. Documents are the caller's own text: the store does not look into them.
#pragma once

#include <cstdint>
#include <string>

#include "aggregator/store/durable_file.h"

namespace tributary {

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

// An accepted update of the round under way.
struct SubmissionRecord {
  std::string node;
  std::string document;
  FileFacts file;
};

// A line of a run's history; its number orders it and is given by the store.
struct HistoryRecord {
  std::int64_t number = 0;
  std::uint32_t round = 0;
  std::string document;
};

}  // namespace tributary
