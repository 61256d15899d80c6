// A panel's ONNX graph: features to outputs, a subject at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "core/graph/graph_model.h"
#include "node/accelerator/accelerator.h"

namespace tributary::accelerator {

// "12 of 14 nodes and 99.7 % of the multiply-accumulates on the tensor unit": what the session delegates.
std::string DelegatedText(const graph::Session& session);

// FailedPrecondition, with the first node at fault and why, for a session that delegates nothing.
absl::Status CheckDelegated(const graph::Session& session);

// One thread, except for counters(). Probabilities become logarithms. uint8 inputs are rounded and clipped.
class GraphRun {
 public:
  GraphRun(const graph::GraphModel& model, std::unique_ptr<graph::Session> session);

  // features: [batch × inputs], outputs: [batch × outputs] of the model. Errors: those of Session::Run.
  absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs);

  const graph::Session& session() const { return *session_; }
  // Those of graphs.
  Accelerator::Counters counters() const;

 private:
  void TakeFeatures(std::span<const float> features);

  const std::size_t inputs_, outputs_, output_;
  const bool probabilities_;
  const std::unique_ptr<graph::Session> session_;
  graph::Array input_;
  std::atomic<std::uint64_t> runs_{0};
};

}  // namespace tributary::accelerator
