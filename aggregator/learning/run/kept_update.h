// An accepted update: what its node said of it, and where its elements are.
#pragma once

#include <cstdint>

#include "aggregator/learning/round/submission.h"
#include "aggregator/store/durable_file.h"

namespace tributary::learning {

struct KeptUpdate {
  SubmissionHeader header;
  double weight = 0;  // by which it is added
  double norm = 0;    // L2, of the elements as they arrived; 0 for words that are masked or summed already
  std::uint64_t payload_bytes = 0;
  store::FileFacts file;
};

}  // namespace tributary::learning
