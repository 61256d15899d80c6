// One fused slot as a subscriber sees it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/estimate/epoch.h"

namespace tributary {

// n subjects of dimension d. Members are reused from slot to slot; vectors keep their capacity.
struct WatchedSlot {
  Epoch epoch = 0;
  std::int64_t captured_unix_ns = 0;  // the earliest of its contributions
  std::int64_t fused_unix_ns = 0;
  std::uint32_t revision = 0;
  std::uint32_t dimension = 2;
  std::uint32_t contributor_words = 1;      // per subject: ceil(leaves / 64)
  std::vector<std::uint32_t> subjects;      // [n]
  std::vector<float> means;                 // [n × d], m
  std::vector<float> cholesky;              // [n × d(d+1)/2], m
  std::vector<std::uint64_t> contributors;  // [n × contributor_words], bits of the site's leaves
  std::vector<float> consistency;           // [n], about 1 for consistent sources, 0 for a single one
  std::vector<float> velocities;            // [n × d], m/s, or empty
  std::uint64_t skipped_slots = 0;          // missed since the previous one
};

}  // namespace tributary
