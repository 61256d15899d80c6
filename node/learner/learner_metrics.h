// The counts of a learner. Docs and dashboards use these names.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/link/federation_client.h"
#include "core/parameters/task_answer.h"
#include "core/runtime/metrics.h"

namespace tributary::learner {

struct LearnerCounters {
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
};

// Written by the learner's thread, read by any.
class LearnerMetrics {
 public:
  explicit LearnerMetrics(runtime::Metrics& metrics) : metrics_(metrics) {}

  // Registers everything; `client` and this object outlive the last reader.
  void Register(const link::FederationClient& client);

  void Trained(const parameters::TrainingMetrics& training);
  void Accepted(std::uint32_t round, bool masked);
  void Refused(const std::string& reason);
  void Withdrawn() { ++withdrawn_; }
  void Buffered(std::size_t images, std::uint64_t dropped);
  void Failed() { ++failed_; }
  void Declined(parameters::DeclineReason reason);

  LearnerCounters counters() const;

 private:
  runtime::Counter& RefusedFor(const std::string& reason);
  runtime::Counter& DeclinedFor(parameters::DeclineReason reason);

  runtime::Metrics& metrics_;
  std::atomic<std::uint64_t> accepted_ = 0;
  std::atomic<std::uint64_t> masked_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> withdrawn_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::atomic<std::uint64_t> buffered_ = 0;
  std::atomic<std::uint64_t> dropped_images_ = 0;
  std::atomic<std::uint64_t> steps_ = 0;
  std::atomic<double> seconds_ = 0;
  std::atomic<std::uint32_t> round_ = 0;
  std::atomic<double> loss_ = 0;
  std::atomic<double> spread_ = 0;
};

}  // namespace tributary::learner
