// Layers of a graph as programs of the tensor unit, whatever executes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/graph/quantised/section_runner.h"
#include "fpga/model/tensor_program.h"
#include "node/accelerator/accelerator.h"
#include "node/accelerator/float_layers.h"
#include "node/accelerator/tensor_compiler.h"
#include "node/accelerator/tensor_job.h"

namespace tributary::accelerator {

// Packs the tensors of each image for the unit, and unpacks what it gives.
class TensorSection final : public graph::SectionRunner {
 public:
  // `job` has the program's words, which are `program_words`.
  TensorSection(TensorProgram program, std::size_t program_words, const fpga::TensorUnitSize& size,
                std::uint64_t memory_bytes, std::unique_ptr<TensorJob> job)
      : program_(std::move(program)),
        program_words_(program_words),
        size_(size),
        memory_bytes_(memory_bytes),
        job_(std::move(job)) {}

  std::uint64_t memory_bytes() const override { return memory_bytes_; }
  graph::SectionCycles cycles() const override;
  std::uint64_t counted_cycles() const override { return counted_cycles_; }
  // Other weights, biases and factors for the layers that it was made of. Errors: InvalidArgument for tensors
  // of other shapes or a program of another length; those of TensorJob::Load.
  absl::Status Reload(const graph::QuantisedSection& section);

  // Errors: those of TensorJob::Run.
  absl::Status Run(std::span<const graph::View> inputs, std::span<const graph::View> outputs) override;

 private:
  const TensorProgram program_;  // without its words
  const std::size_t program_words_;
  const fpga::TensorUnitSize size_;
  const std::uint64_t memory_bytes_;
  const std::unique_ptr<TensorJob> job_;
  std::uint64_t counted_cycles_ = 0;
};

// Whether the unit has the precision; and the unit with it.
constexpr bool Has(const fpga::TensorUnitSize& unit, FloatLayers floats) {
  return floats == FloatLayers::kBfloat16  ? unit.bfloat16
         : floats == FloatLayers::kFloat32 ? unit.float32
                                           : true;
}
constexpr fpga::TensorUnitSize With(fpga::TensorUnitSize unit, FloatLayers floats) {
  unit.bfloat16 = unit.bfloat16 || floats == FloatLayers::kBfloat16;
  unit.float32 = unit.float32 || floats == FloatLayers::kFloat32;
  return unit;
}

class TensorTarget : public graph::SectionTarget {
 public:
  std::uint64_t products_per_cycle() const final { return std::uint64_t{size_.lanes} * size_.lanes; }
  std::string WhyNot(const graph::QuantisedLayer& layer, const graph::QuantisedTensor& input,
                     const graph::QuantisedTensor& output) const final;
  absl::StatusOr<std::unique_ptr<graph::SectionRunner>> Prepare(graph::QuantisedSection section,
                                                                std::uint64_t memory_bytes) const final {
    return PrepareTensors(section, memory_bytes);
  }
  std::string_view float_arithmetic() const final {
    return floats_ == FloatLayers::kProcessor ? std::string_view() : NameOf(floats_);
  }
  absl::StatusOr<std::unique_ptr<graph::SectionRunner>> PrepareFloats(graph::FloatLayer&& layer,
                                                                      std::uint64_t memory_bytes) const final;
  // The same as Prepare, for who changes its weights.
  absl::StatusOr<std::unique_ptr<TensorSection>> PrepareTensors(const graph::QuantisedSection& section,
                                                                std::uint64_t memory_bytes) const;

  // Makes a program ready that its caller wrote. At most `runs` of it are asked for at a time. Errors: those
  // of the device.
  virtual absl::StatusOr<std::unique_ptr<TensorJob>> MakeJob(std::vector<std::uint64_t> program,
                                                             const fpga::TensorBuffers& buffers,
                                                             std::size_t runs) const = 0;

  // Bytes of a job whose program and buffers take so many words.
  std::uint64_t JobBytes(std::uint64_t words) const { return memory_.own_bytes + BytesPerWord() * words; }
  const fpga::TensorUnitSize& size() const { return size_; }

  // Counts of the device, if there is one.
  virtual Accelerator::Counters counters() const { return {}; }

 protected:
  // The memory of a job beside the words of its program and buffers, and how many copies of these it has.
  struct Memory {
    std::uint64_t own_bytes = 0, copies = 1;
  };
  // At most two copies for each unit: the buffers of both slots; its program, and the one to load again from.
  static Memory OfABoard(std::size_t units) { return {.own_bytes = 0, .copies = 2 * units}; }
  // `floats`: a precision that the unit has.
  TensorTarget(const fpga::TensorUnitSize& size, const Memory& memory, FloatLayers floats)
      : size_(size), memory_(memory), floats_(floats) {}

 private:
  std::uint64_t BytesPerWord() const { return 8 * memory_.copies; }
  const fpga::TensorUnitSize size_;
  const Memory memory_;
  const FloatLayers floats_;
};

}  // namespace tributary::accelerator
