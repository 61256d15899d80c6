// The counts of a learner. Docs and dashboards use these names.
#pragma once

#include <cstdint>
#include <string>

#include "core/link/federation_client.h"
#include "core/runtime/metrics.h"
#include "core/runtime/mutex.h"

namespace tributary::learner {

struct LearnerCounters {
  std::uint64_t samples = 0;    // that the trainer has; 0: not known yet
  std::uint64_t accepted = 0;   // updates that the aggregator took
  std::uint64_t masked = 0;     // of these: masked by secure aggregation
  std::uint64_t refused = 0;    // updates that it refused
  std::uint64_t withdrawn = 0;  // rounds that it no longer wanted
  std::uint64_t failed = 0;     // rounds that this node could not do
  std::uint64_t steps = 0;
  double seconds = 0;       // of training
  std::uint32_t round = 0;  // of the last accepted update
  double loss = 0;          // of the last training
  double spread = 0;
  std::uint64_t buffered = 0;        // images in the bounded buffer, after the last accepted round
  std::uint64_t dropped_images = 0;  // images that it found not novel enough
  // The last task's: what its training takes at its peak, and what this node has for training.
  std::uint64_t needed_bytes = 0;
  std::uint64_t available_bytes = 0;
};

// Written by the learner's thread, read by any.
class LearnerMetrics {
 public:
  explicit LearnerMetrics(runtime::Metrics& metrics) : metrics_(metrics) {}

  // Registers everything; `client` and this object outlive the last reader.
  void Register(const link::FederationClient& client);

  void Publish(const LearnerCounters& counters);
  // Rare, so looked up each time. A newer aggregator may give a reason that this program does not know.
  runtime::Counter& Refused(const std::string& reason);
  runtime::Counter& Declined(v1::DeclineReason reason);

  LearnerCounters counters() const;

 private:
  runtime::Metrics& metrics_;
  mutable runtime::Mutex mutex_;
  LearnerCounters counters_ GUARDED_BY(mutex_);
};

}  // namespace tributary::learner
