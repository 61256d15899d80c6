#include "node/accelerator/tensor_target.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_unit.h"
#include "node/accelerator/tensor_compiler.h"
#include "node/accelerator/tensor_support.h"

namespace tributary::accelerator {
namespace {

class TensorModelSection : public graph::SectionRunner {
 public:
  TensorModelSection(TensorProgram program, const fpga::TensorUnitSize& size)
      : program_(std::move(program)),
        unit_(size),
        input_(program_.input_words),
        output_(program_.output_words) {}

  std::uint64_t memory_bytes() const override {
    return 8 * (program_.words.size() + input_.size() + output_.size()) +
           std::uint64_t{unit_.size().activations} * unit_.size().lanes;
  }

  graph::SectionCycles cycles() const override {
    graph::SectionCycles cycles{.layers = program_.layer_cycles,
                                .transfers = program_.transfer_cycles * program_.images};
    for (std::uint64_t& layer : cycles.layers) layer *= program_.images;
    return cycles;
  }

  absl::Status Run(std::span<const graph::View> inputs, std::span<const graph::View> outputs) override {
    for (std::size_t image = 0; image < program_.images; ++image) {
      for (std::size_t i = 0; i < inputs.size(); ++i) Pack(inputs[i], image, program_.inputs[i]);
      const fpga::TensorRun run = unit_.Run(program_.words, input_, output_);
      if (run.status != fpga::TensorStatus::kOk) {
        return absl::InternalError(fmt::format("the tensor unit ended at command {} with status {}",
                                               run.command, static_cast<int>(run.status)));
      }
      for (std::size_t o = 0; o < outputs.size(); ++o) Unpack(program_.outputs[o], image, outputs[o]);
    }
    return absl::OkStatus();
  }

 private:
  // An image of an array in ONNX's order.
  static std::span<std::int8_t> ImageOf(const graph::View& view, std::size_t image,
                                        const TensorPlace& place) {
    const std::size_t elements = std::size_t{place.channels} * place.pixels;
    return view.As<std::int8_t>().subspan(image * elements, elements);
  }

  void Pack(const graph::View& view, std::size_t image, const TensorPlace& place) {
    const std::vector<std::uint64_t> words =
        fpga::PackTensor(ImageOf(view, image, place), place.channels, unit_.size());
    std::ranges::copy(words, input_.begin() + place.word);
  }

  void Unpack(const TensorPlace& place, std::size_t image, const graph::View& view) const {
    const std::vector<std::int8_t> values =
        fpga::UnpackTensor(std::span(output_).subspan(place.word, place.words), place.channels, unit_.size());
    std::ranges::copy(values, ImageOf(view, image, place).begin());
  }

  TensorProgram program_;
  fpga::TensorUnit unit_;
  std::vector<std::uint64_t> input_, output_;
};

}  // namespace

std::string TensorModelTarget::WhyNot(const graph::QuantisedLayer& layer, const graph::QuantisedTensor& input,
                                      const graph::QuantisedTensor& output) const {
  return WhyNotOnTensorUnit(layer, input, output, size_);
}

absl::StatusOr<std::unique_ptr<graph::SectionRunner>> TensorModelTarget::Prepare(
    graph::QuantisedSection section, std::uint64_t memory_bytes) const {
  const std::uint64_t chip = std::uint64_t{size_.activations} * size_.lanes;
  const std::uint64_t left = memory_bytes > chip ? memory_bytes - chip : 0;
  ASSIGN_OR_RETURN(TensorProgram program, CompileForTensorUnit(section, size_, left / 8));
  return std::make_unique<TensorModelSection>(std::move(program), size_);
}

}  // namespace tributary::accelerator
