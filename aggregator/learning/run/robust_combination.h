// The robust strategies see every update of a round at once.
#pragma once

#include <span>

#include "absl/status/status.h"
#include "aggregator/learning/rules/strategy.h"
#include "aggregator/learning/run/run_document.h"
#include "aggregator/store/store.h"

namespace tributary {

struct StoredUpdate {
  const SubmissionDocument& document;
  const FileFacts& file;
};

// Loads all updates (memory O(updates × model) while it lasts), scales down those whose norm exceeds
// `clip_norm` (0: none) and combines them. Errors: those of the store and of Strategy::Combine.
absl::Status CombineRobustly(const Strategy& strategy, const Store& store,
                             std::span<const StoredUpdate> updates, double clip_norm,
                             std::span<float> combined);

}  // namespace tributary
