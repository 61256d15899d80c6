#include "node/accelerator/encoder_input_gradient.h"

#include <algorithm>
#include <utility>

#include "core/status/macros.h"
#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_layout.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kTapsOfKernel = 9;
constexpr std::size_t kMostRunImages = 8;  // more save nothing: the weights are few

std::uint32_t Blocks(std::size_t channels, const fpga::TensorUnitSize& unit) {
  return fpga::TensorHalfBlocks(static_cast<std::uint32_t>(channels), unit);
}

// Images below each other take so many.
std::size_t RowsOf(std::size_t images, std::size_t side) { return images * (side + 1) - 1; }

// 0: none.
std::size_t RunImages(const ConvolutionShape& shape, std::size_t batch, const fpga::TensorUnitSize& unit) {
  const std::size_t planes = Blocks(shape.outputs, unit) + 2 * Blocks(shape.inputs, unit);
  const std::size_t rows =
      std::min<std::size_t>(unit.activations / (planes * shape.side), fpga::kTensorMaxSide);
  return std::min({batch, kMostRunImages, (rows + 1) / (shape.side + 1)});
}

}  // namespace

std::string EncoderInputGradient::WhyNot(const ConvolutionShape& shape, const fpga::TensorUnitSize& unit) {
  if (!unit.bfloat16) return "the unit has no bfloat16";
  if (RunImages(shape, 1, unit) == 0) return "the gradient of an image exceeds the activation memory";
  return "";
}

EncoderInputGradient::EncoderInputGradient(const ConvolutionShape& shape, std::size_t batch,
                                           const fpga::TensorUnitSize& unit)
    : shape_(shape), batch_(batch), unit_(unit), run_images_(RunImages(shape, batch, unit)) {}

absl::StatusOr<std::unique_ptr<EncoderInputGradient>> EncoderInputGradient::Create(
    const ConvolutionShape& shape, std::size_t batch, const TensorTarget& target) {
  if (const std::string why = WhyNot(shape, target.size()); !why.empty()) {
    return absl::InvalidArgumentError(why);
  }
  std::unique_ptr<EncoderInputGradient> gradient(new EncoderInputGradient(shape, batch, target.size()));
  const std::vector<float> none(shape.outputs * shape.inputs * kTapsOfKernel);
  ASSIGN_OR_RETURN(std::vector<std::uint64_t> program, gradient->Program(none));
  const std::size_t runs = (batch + gradient->run_images_ - 1) / gradient->run_images_;
  ASSIGN_OR_RETURN(gradient->job_, target.MakeJob(std::move(program), gradient->Buffers(), runs));
  return gradient;
}

std::uint64_t EncoderInputGradient::Bytes(const ConvolutionShape& shape, std::size_t batch,
                                          const TensorTarget& target) {
  const fpga::TensorUnitSize& unit = target.size();
  const EncoderInputGradient gradient(shape, batch, unit);
  const std::uint64_t strip_rows = unit.pixels / shape.side;
  const std::uint64_t strips =
      (RowsOf(gradient.run_images_, shape.side) + strip_rows - 1) / std::max<std::uint64_t>(strip_rows, 1);
  const std::uint64_t tile = std::uint64_t{unit.lanes} * unit.lanes / 16;
  const std::uint64_t block = unit.half_lanes() + kTapsOfKernel * Blocks(shape.outputs, unit) * tile;
  const std::uint64_t program = 3 * fpga::kTensorCommandWords +
                                strips * (fpga::kTensorCommandWords + Blocks(shape.inputs, unit) * block);
  const fpga::TensorBuffers buffers = gradient.Buffers();
  constexpr std::uint64_t kCopies = 2;  // of a program while its words become more
  const std::uint64_t weights = shape.outputs * shape.inputs * kTapsOfKernel;
  return (sizeof(float) + sizeof(std::uint16_t)) * weights + 8 * kCopies * program +
         target.JobBytes(program + buffers.input_words + buffers.output_words);
}

std::size_t EncoderInputGradient::Pixels() const { return RowsOf(run_images_, shape_.side) * shape_.side; }

fpga::TensorBuffers EncoderInputGradient::Buffers() const {
  const std::size_t results = fpga::TensorQuarterBlocks(static_cast<std::uint32_t>(shape_.inputs), unit_);
  return {Blocks(shape_.outputs, unit_) * Pixels() * unit_.vector_words(),
          results * Pixels() * unit_.vector_words()};
}

absl::StatusOr<std::vector<std::uint64_t>> EncoderInputGradient::Program(
    std::span<const float> weights) const {
  const std::size_t rows = RowsOf(run_images_, shape_.side), strip_rows = unit_.pixels / shape_.side;
  const auto pixels = static_cast<std::uint32_t>(Pixels());
  const auto results = Blocks(shape_.outputs, unit_) * pixels;  // their address
  const auto inputs = static_cast<std::uint32_t>(shape_.inputs);
  const auto outputs = static_cast<std::uint32_t>(shape_.outputs);
  std::vector<std::uint16_t> turned(weights.size());  // [inputs × outputs × 3 × 3]
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t tap = i % kTapsOfKernel, pair = i / kTapsOfKernel;
    const std::size_t o = pair / inputs, c = pair % inputs;
    turned[(c * outputs + o) * kTapsOfKernel + kTapsOfKernel - 1 - tap] = fpga::Bfloat16Of(weights[i]);
  }
  fpga::TensorProgramBuilder builder(unit_);
  builder.Load(0, 0, results);
  for (std::size_t row = 0; row < rows; row += strip_rows) {
    fpga::TensorCommand command = {
        .flags = fpga::kTensorFloat32,
        .input_address = 0,
        .input_plane = pixels,
        .input_height = static_cast<std::uint16_t>(rows),
        .input_width = static_cast<std::uint16_t>(shape_.side),
        .origin_y = static_cast<std::int16_t>(static_cast<int>(row) - 1),
        .origin_x = -1,
        .output_height = static_cast<std::uint16_t>(std::min(strip_rows, rows - row)),
        .output_width = static_cast<std::uint16_t>(shape_.side),
        .kernel_height = 3,
        .kernel_width = 3,
        .stride_y = 1,
        .stride_x = 1,
        .output_address = results + static_cast<std::uint32_t>(row * shape_.side),
        .output_plane = pixels};
    fpga::SetBfloatOutput({}, command);
    RETURN_IF_ERROR(builder.ConvolveBfloat(command, inputs, outputs, turned, std::vector<float>(inputs)));
  }
  const fpga::TensorBuffers buffers = Buffers();
  builder.Store(results, 0, static_cast<std::uint32_t>(buffers.output_words / unit_.vector_words()));
  builder.End();
  RETURN_IF_ERROR(fpga::CheckTensorProgram(builder.words(), unit_, buffers));
  return builder.words();
}

absl::Status EncoderInputGradient::Compute(std::span<const float> weights, const nn::Planes& y_gradient,
                                           nn::Planes& x_gradient) {
  if (!std::ranges::equal(weights, weights_)) {
    weights_.clear();
    ASSIGN_OR_RETURN(std::vector<std::uint64_t> program, Program(weights));
    RETURN_IF_ERROR(job_->Load(std::move(program)));
    weights_.assign(weights.begin(), weights.end());
  }
  const std::size_t side = shape_.side, n = unit_.half_lanes(), vector_words = unit_.vector_words();
  // Calls found(image, its first pixel among those of the run) for each image of the run.
  const auto for_images = [&](std::size_t run, auto found) {
    const std::size_t first = run * run_images_;
    for (std::size_t i = 0; i < std::min(run_images_, batch_ - first); ++i) {
      found(first + i, i * (side + 1) * side);
    }
  };
  const auto fill = [&](std::size_t run, std::span<std::uint64_t> words) {
    std::ranges::fill(words, 0);
    const nn::PlaneShape& planes = y_gradient.shape();
    for_images(run, [&](std::size_t image, std::size_t first) {
      for (std::size_t o = 0; o < shape_.outputs; ++o) {
        const float* const plane = y_gradient.channel(o) + image;
        const std::size_t vector = o / n * Pixels() + first;
        for (std::size_t i = 0; i < side * side; ++i) {
          const float value = plane[i / side * planes.pitch() + i % side * planes.lanes()];
          words[(vector + i) * vector_words + o % n / 4] |= std::uint64_t{fpga::Bfloat16Of(value)}
                                                            << (16 * (o % 4));
        }
      }
    });
  };
  const auto take = [&](std::size_t run, std::span<const std::uint64_t> words) {
    const std::vector<float> found =
        fpga::UnpackFloatTensor(words, static_cast<std::uint32_t>(shape_.inputs), unit_);
    const nn::PlaneShape& planes = x_gradient.shape();
    for_images(run, [&](std::size_t image, std::size_t first) {
      for (std::size_t c = 0; c < shape_.inputs; ++c) {
        float* const plane = x_gradient.channel(c) + image;
        for (std::size_t i = 0; i < side * side; ++i) {
          plane[i / side * planes.pitch() + i % side * planes.lanes()] = found[c * Pixels() + first + i];
        }
      }
    });
  };
  ASSIGN_OR_RETURN(counted_cycles_, job_->Run((batch_ + run_images_ - 1) / run_images_, fill, take));
  return absl::OkStatus();
}

}  // namespace tributary::accelerator
