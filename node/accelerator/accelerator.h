// Runs the network: on the CPU by the integer model, or on the programmable logic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"

namespace tributary::accelerator {

// Owned and called by one panel thread. All implementations give the same numbers, but for graphs: the tensor
// unit rounds with fewer bits than the processor.
class Accelerator {
 public:
  struct Shape {
    std::size_t inputs;   // features per subject
    std::size_t outputs;  // of the network's last layer
    std::size_t max_batch;
  };

  // Counts since creation. Those of a device are zero without one, those of graphs without a graph.
  struct Counters {
    std::uint64_t runs = 0;         // started
    std::uint64_t failed_runs = 0;  // ended with an error
    std::uint64_t timeouts = 0;     // did not end in time
    std::uint64_t reopened = 0;     // times that the device was opened again after a failure
    std::uint64_t fallbacks = 0;    // batches that the processor computed instead
    std::uint64_t cycles = 0;       // of the device's clock, as its runs reported them
    // Nodes of computed graphs, in all and on the device.
    std::uint64_t nodes = 0, delegated_nodes = 0;
    std::uint64_t products = 0, delegated_products = 0;  // multiply-accumulates likewise

    friend Counters operator+(const Counters& a, const Counters& b) {
      return {.runs = a.runs + b.runs,
              .failed_runs = a.failed_runs + b.failed_runs,
              .timeouts = a.timeouts + b.timeouts,
              .reopened = a.reopened + b.reopened,
              .fallbacks = a.fallbacks + b.fallbacks,
              .cycles = a.cycles + b.cycles,
              .nodes = a.nodes + b.nodes,
              .delegated_nodes = a.delegated_nodes + b.delegated_nodes,
              .products = a.products + b.products,
              .delegated_products = a.delegated_products + b.delegated_products};
    }
  };

  explicit Accelerator(const Shape& shape) : shape_(shape) {}
  virtual ~Accelerator() = default;

  const Shape& shape() const { return shape_; }

  // For logs and `tributary doctor`: e.g. "cpu (int8_16, AVX3_DL)".
  virtual std::string description() const = 0;

  // Any thread may call.
  virtual Counters counters() const { return {}; }

  // Runs the network on `batch` subjects: features [batch × inputs] as the source gives them, outputs [batch
  // × outputs], dequantised, before the head's softplus. Errors: InvalidArgument for wrong sizes; Internal,
  // Unavailable or DeadlineExceeded from a device. `outputs` is unspecified after an error.
  absl::Status Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs);

 private:
  // Infer, once the sizes are those of the shape.
  virtual absl::Status Run(std::span<const float> features, std::size_t batch, std::span<float> outputs) = 0;

  const Shape shape_;
};

}  // namespace tributary::accelerator
