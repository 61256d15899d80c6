// A convolution in floats as a program of the tensor unit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/graph/float_layer.h"
#include "core/graph/quantised/section_runner.h"
#include "node/accelerator/float_layers.h"
#include "node/accelerator/tensor_section.h"

namespace tributary::accelerator {

// One run for each image: the image goes in, the results come back as float32. Images of one pixel, as the
// rows of a product, go in together, as the rows of one.
class TensorFloatLayer final : public graph::SectionRunner {
 public:
  // `layers`: a precision that the unit has. Errors: InvalidArgument says why the unit cannot;
  // ResourceExhausted, before anything is allocated, for more than `memory_bytes`; those of
  // TensorTarget::MakeJob.
  static absl::StatusOr<std::unique_ptr<TensorFloatLayer>> Create(graph::FloatLayer layer, FloatLayers layers,
                                                                  const TensorTarget& target,
                                                                  std::uint64_t memory_bytes);

  // Errors: those of TensorJob::Run.
  absl::Status Run(std::span<const graph::View> inputs, std::span<const graph::View> outputs) override;

  std::uint64_t memory_bytes() const override { return memory_bytes_; }
  graph::SectionCycles cycles() const override { return cycles_; }
  std::uint64_t counted_cycles() const override { return counted_cycles_; }

 private:
  TensorFloatLayer(const graph::FloatLayer& layer, FloatLayers layers, const fpga::TensorUnitSize& unit,
                   bool gathered);

  const FloatLayers layers_;
  const fpga::TensorUnitSize unit_;
  const std::size_t images_, inputs_, outputs_;  // channels
  const std::size_t input_pixels_, output_pixels_;
  const bool gathered_;  // rows of an image are images of the layer
  std::unique_ptr<TensorJob> job_;
  graph::SectionCycles cycles_;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t counted_cycles_ = 0;
};

}  // namespace tributary::accelerator
