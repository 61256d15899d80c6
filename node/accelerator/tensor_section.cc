#include "node/accelerator/tensor_section.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fpga/model/tensor_layout.h"
#include "node/accelerator/tensor_floats.h"
#include "node/accelerator/tensor_support.h"

namespace tributary::accelerator {
namespace {

// An image of an array in ONNX's order.
std::span<std::int8_t> ImageOf(const graph::View& view, std::size_t image, const TensorPlace& place) {
  const std::size_t elements = std::size_t{place.channels} * place.pixels;
  return view.As<std::int8_t>().subspan(image * elements, elements);
}

}  // namespace

graph::SectionCycles TensorSection::cycles() const {
  graph::SectionCycles cycles{.layers = program_.layer_cycles,
                              .transfers = program_.transfer_cycles * program_.images};
  for (std::uint64_t& layer : cycles.layers) layer *= program_.images;
  return cycles;
}

absl::Status TensorSection::Run(std::span<const graph::View> inputs, std::span<const graph::View> outputs) {
  const auto fill = [&](std::size_t image, std::span<std::uint64_t> words) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const TensorPlace& place = program_.inputs[i];
      const std::vector<std::uint64_t> packed =
          fpga::PackTensor(ImageOf(inputs[i], image, place), place.channels, size_);
      std::ranges::copy(packed, words.begin() + place.word);
    }
  };
  const auto take = [&](std::size_t image, std::span<const std::uint64_t> words) {
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const TensorPlace& place = program_.outputs[o];
      const std::vector<std::int8_t> values =
          fpga::UnpackTensor(words.subspan(place.word, place.words), place.channels, size_);
      std::ranges::copy(values, ImageOf(outputs[o], image, place).begin());
    }
  };
  counted_cycles_ = 0;
  ASSIGN_OR_RETURN(counted_cycles_, job_->Run(program_.images, fill, take));
  return absl::OkStatus();
}

std::string TensorTarget::WhyNot(const graph::QuantisedLayer& layer, const graph::QuantisedTensor& input,
                                 const graph::QuantisedTensor& output) const {
  return WhyNotOnTensorUnit(layer, input, output, size_);
}

absl::StatusOr<std::unique_ptr<graph::SectionRunner>> TensorTarget::PrepareFloats(
    graph::FloatLayer&& layer, std::uint64_t memory_bytes) const {
  return TensorFloatLayer::Create(std::move(layer), floats_, *this, memory_bytes);
}

absl::Status TensorSection::Reload(const graph::QuantisedSection& section) {
  const std::uint64_t words = program_words_ + std::uint64_t{program_.input_words} + program_.output_words;
  ASSIGN_OR_RETURN(TensorProgram program, CompileForTensorUnit(section, size_, words));
  if (program.words.size() != program_words_ || program.images != program_.images ||
      program.inputs != program_.inputs || program.outputs != program_.outputs) {
    return absl::InvalidArgumentError("the layers are not those that the program was made of");
  }
  return job_->Load(std::move(program.words));
}

absl::StatusOr<std::unique_ptr<TensorSection>> TensorTarget::PrepareTensors(
    const graph::QuantisedSection& section, std::uint64_t memory_bytes) const {
  const std::uint64_t left = memory_bytes > memory_.own_bytes ? memory_bytes - memory_.own_bytes : 0;
  ASSIGN_OR_RETURN(TensorProgram program, CompileForTensorUnit(section, size_, left / BytesPerWord()));
  const std::size_t program_words = program.words.size();
  const fpga::TensorBuffers buffers = {program.input_words, program.output_words};
  ASSIGN_OR_RETURN(auto job, MakeJob(std::exchange(program.words, {}), buffers, program.images));
  const std::uint64_t bytes = JobBytes(program_words + buffers.input_words + buffers.output_words);
  return std::make_unique<TensorSection>(std::move(program), program_words, size_, bytes, std::move(job));
}

}  // namespace tributary::accelerator
