// Who computes the layers of a graph: the processor, or an accelerator beside it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/graph/array.h"
#include "core/graph/float_layer.h"
#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

// Clock cycles of a run, where they are counted.
struct SectionCycles {
  std::vector<std::uint64_t> layers = {};  // in the section's order; 0: done along with another layer
  std::uint64_t transfers = 0;             // of inputs and outputs
};

// A section that is ready to run. One thread at a time.
class SectionRunner {
 public:
  virtual ~SectionRunner() = default;

  // Arrays in ONNX's order of elements, one for each of the section's inputs and outputs.
  virtual absl::Status Run(std::span<const View> inputs, std::span<const View> outputs) = 0;
  // From now on keeps how long each layer of a run takes, in the section's order, if it can tell them apart.
  virtual void KeepTimes() {}
  virtual std::span<const std::chrono::nanoseconds> layer_times() const { return {}; }
  virtual std::uint64_t memory_bytes() const = 0;
  // As planned.
  virtual SectionCycles cycles() const { return {}; }
  // Those of the last run, as the accelerator counted them; 0: it does not count.
  virtual std::uint64_t counted_cycles() const { return 0; }
};

// Outlives the sections that it prepared. It takes quantised layers, and some take layers in floats, too.
class SectionTarget {
 public:
  virtual ~SectionTarget() = default;

  virtual std::string_view name() const = 0;                      // as a plan shows it: "processor"
  virtual std::uint64_t products_per_cycle() const { return 0; }  // at most; 0: not counted
  // Why it does not compute the layer, which reads and gives these; empty if it does.
  virtual std::string WhyNot(const QuantisedLayer& layer, const QuantisedTensor& input,
                             const QuantisedTensor& output) const = 0;
  // Errors: ResourceExhausted, before anything is allocated, if more than `memory_bytes` or the target's own
  // memory are needed, and InvalidArgument for a section that it cannot compute: then the processor does. Any
  // other error is a failure of the target.
  virtual absl::StatusOr<std::unique_ptr<SectionRunner>> Prepare(QuantisedSection section,
                                                                 std::uint64_t memory_bytes) const = 0;

  // How it computes layers in floats, "bfloat16" or "float32"; empty: it takes none.
  virtual std::string_view float_arithmetic() const { return {}; }
  // A section of one such layer, which reads and writes arrays of float32. Errors: as Prepare.
  virtual absl::StatusOr<std::unique_ptr<SectionRunner>> PrepareFloats(FloatLayer&& /*layer*/,
                                                                       std::uint64_t /*memory_bytes*/) const {
    return absl::InvalidArgumentError("it computes quantised layers only");
  }
};

// Computes every layer that FindQuantisedLayers finds.
class ProcessorTarget : public SectionTarget {
 public:
  std::string_view name() const override { return "processor"; }
  std::string WhyNot(const QuantisedLayer&, const QuantisedTensor&, const QuantisedTensor&) const override {
    return {};
  }
  absl::StatusOr<std::unique_ptr<SectionRunner>> Prepare(QuantisedSection section,
                                                         std::uint64_t memory_bytes) const override;
};

}  // namespace tributary::graph
