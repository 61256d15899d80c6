#include "node/accelerator/encoder_weight_gradient.h"

#include <algorithm>

#include "core/status/macros.h"
#include "fpga/model/tensor_bfloat.h"
#include "fpga/model/tensor_layout.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kKernelRows = 3, kKernelTaps = 9;
constexpr std::size_t kBfloatsOfWord = 4;
// The program: LOAD, then CONVOLVE with its channel words and tiles, then STORE and END.
constexpr std::size_t kFollowingAt = 2 * fpga::kTensorCommandWords;

// Planes of a CONVOLVE's float32 results.
std::size_t ResultPlanes(std::size_t outputs, const fpga::TensorUnitSize& unit) {
  return 2 * fpga::TensorHalfBlocks(static_cast<std::uint32_t>(outputs), unit);
}

// Vectors of an input: its rows, and one of zeros above and below. The first of all inputs come before the
// second of all, so that the unit goes from row to row as from block to block.
std::size_t InputVectors(const ConvolutionShape& shape) { return (shape.side + 2) * shape.side; }

// 0: none.
std::size_t RunInputs(const ConvolutionShape& shape, const fpga::TensorUnitSize& unit) {
  const std::size_t vectors = InputVectors(shape) + ResultPlanes(shape.outputs, unit) * kKernelTaps;
  return std::min({shape.inputs, std::size_t{unit.activations} / vectors,
                   std::size_t{unit.pixels} / kKernelTaps, fpga::kTensorMaxSide / kKernelRows});
}

// Values of neighbouring images as bfloat16.
void PutImages(const float* values, std::span<std::uint64_t> words) {
  for (std::uint64_t& word : words) {
    word = 0;
    for (std::size_t i = 0; i < kBfloatsOfWord; ++i) {
      word |= std::uint64_t{fpga::Bfloat16Of(*values++)} << (16 * i);
    }
  }
}

}  // namespace

std::string EncoderWeightGradient::WhyNot(const ConvolutionShape& shape, const fpga::TensorUnitSize& unit) {
  if (!unit.bfloat16) return "the unit has no bfloat16";
  if (shape.side > fpga::kTensorMaxBlocks - 1) return "more rows than the unit has blocks";
  if (RunInputs(shape, unit) == 0) return "an input with its gradient exceeds the activation memory";
  return "";
}

EncoderWeightGradient::EncoderWeightGradient(const ConvolutionShape& shape, const fpga::TensorUnitSize& unit)
    : shape_(shape),
      unit_(unit),
      run_inputs_(RunInputs(shape, unit)),
      sums_(shape.outputs * shape.inputs * kKernelTaps) {}

absl::StatusOr<std::unique_ptr<EncoderWeightGradient>> EncoderWeightGradient::Create(
    const ConvolutionShape& shape, const TensorTarget& target) {
  if (const std::string why = WhyNot(shape, target.size()); !why.empty()) {
    return absl::InvalidArgumentError(why);
  }
  std::unique_ptr<EncoderWeightGradient> gradient(new EncoderWeightGradient(shape, target.size()));
  ASSIGN_OR_RETURN(gradient->program_, gradient->Program());
  const std::size_t runs = (shape.inputs + gradient->run_inputs_ - 1) / gradient->run_inputs_;
  ASSIGN_OR_RETURN(gradient->job_, target.MakeJob(gradient->program_, gradient->Buffers(), runs));
  return gradient;
}

std::uint64_t EncoderWeightGradient::Bytes(const ConvolutionShape& shape, const TensorTarget& target) {
  const EncoderWeightGradient gradient(shape, target.size());
  const fpga::TensorUnitSize& unit = target.size();
  const std::uint64_t blocks = fpga::TensorHalfBlocks(static_cast<std::uint32_t>(shape.outputs), unit);
  const std::uint64_t tile = std::uint64_t{unit.lanes} * unit.lanes / 16;
  const std::uint64_t program = kFollowingAt + 2 * fpga::kTensorCommandWords +
                                blocks * (unit.half_lanes() + shape.side * shape.side * tile);
  const fpga::TensorBuffers buffers = gradient.Buffers();
  constexpr std::uint64_t kCopies = 2;  // its own program, and the one on its way to the unit
  return sizeof(float) * gradient.sums_.size() + 8 * kCopies * program +
         target.JobBytes(program + buffers.input_words + buffers.output_words);
}

fpga::TensorBuffers EncoderWeightGradient::Buffers() const {
  const std::size_t results = fpga::TensorQuarterBlocks(static_cast<std::uint32_t>(shape_.outputs), unit_) *
                              kKernelTaps * run_inputs_;
  return {run_inputs_ * InputVectors(shape_) * unit_.vector_words(), results * unit_.vector_words()};
}

// Output (row, column) of a block of rows is tap (row / inputs, column) of input row % inputs.
absl::StatusOr<std::vector<std::uint64_t>> EncoderWeightGradient::Program() const {
  const auto side = static_cast<std::uint16_t>(shape_.side);
  const auto rows = static_cast<std::uint16_t>(kKernelRows * run_inputs_);
  const auto outputs = static_cast<std::uint32_t>(shape_.outputs);
  const auto results = static_cast<std::uint32_t>(run_inputs_ * InputVectors(shape_));  // their address
  fpga::TensorCommand command = {.flags = fpga::kTensorFloat32,
                                 .input_address = 0,
                                 .input_plane = static_cast<std::uint32_t>(run_inputs_ * shape_.side),
                                 .input_height = rows,
                                 .input_width = side,
                                 .origin_y = 0,
                                 .origin_x = -1,
                                 .output_height = rows,
                                 .output_width = kKernelRows,
                                 .kernel_height = 1,
                                 .kernel_width = static_cast<std::uint8_t>(side),
                                 .stride_y = 1,
                                 .stride_x = 1,
                                 .output_address = results,
                                 .output_plane = static_cast<std::uint32_t>(kKernelTaps * run_inputs_)};
  fpga::SetBfloatOutput({}, command);
  const auto inputs = static_cast<std::uint32_t>(shape_.side * unit_.half_lanes());
  const fpga::TensorBuffers buffers = Buffers();
  fpga::TensorProgramBuilder builder(unit_);
  builder.Load(0, 0, results);
  RETURN_IF_ERROR(builder.ConvolveBfloat(command, outputs, inputs,
                                         std::vector<std::uint16_t>(outputs * inputs * shape_.side),
                                         std::vector<float>(outputs)));
  builder.Store(results, 0, static_cast<std::uint32_t>(buffers.output_words / unit_.vector_words()));
  builder.End();
  RETURN_IF_ERROR(fpga::CheckTensorProgram(builder.words(), unit_, buffers));
  return builder.words();
}

// A tile for each pixel: [image][output].
void EncoderWeightGradient::PutGradient(const nn::Planes& y_gradient, std::size_t group,
                                        std::size_t outputs) {
  const nn::PlaneShape& planes = y_gradient.shape();
  const std::size_t n = unit_.half_lanes();
  const std::size_t tile_words = n * n / kBfloatsOfWord;
  auto word = program_.begin() + kFollowingAt;
  for (std::size_t block = 0; block * n < shape_.outputs; ++block) {
    word += static_cast<std::ptrdiff_t>(n);  // channel words
    for (std::size_t pixel = 0; pixel < shape_.side * shape_.side; ++pixel) {
      const std::span<std::uint64_t> tile(word, tile_words);
      std::ranges::fill(tile, 0);
      const std::size_t at =
          pixel / shape_.side * planes.pitch() + pixel % shape_.side * planes.lanes() + group * n;
      for (std::size_t o = 0; o < std::min(n, outputs - std::min(outputs, block * n)); ++o) {
        const float* const images = y_gradient.channel(block * n + o) + at;
        for (std::size_t image = 0; image < n; ++image) {
          const std::size_t place = image * n + o;
          tile[place / kBfloatsOfWord] |= std::uint64_t{fpga::Bfloat16Of(images[image])}
                                          << (16 * (place % kBfloatsOfWord));
        }
      }
      word += static_cast<std::ptrdiff_t>(tile_words);
    }
  }
}

void EncoderWeightGradient::PutInputs(const nn::Planes& x, std::size_t group, std::size_t first,
                                      std::span<std::uint64_t> words) const {
  const nn::PlaneShape& planes = x.shape();
  const std::size_t n = unit_.half_lanes(), vector_words = unit_.vector_words();
  std::ranges::fill(words, 0);
  const std::size_t count = std::min(run_inputs_, shape_.inputs - first);
  for (std::size_t y = 0; y < shape_.side; ++y) {
    for (std::size_t c = 0; c < count; ++c) {
      const float* const row = x.channel(first + c) + y * planes.pitch() + group * n;
      const std::size_t vector = ((y + 1) * run_inputs_ + c) * shape_.side;
      for (std::size_t column = 0; column < shape_.side; ++column) {
        PutImages(row + column * planes.lanes(),
                  words.subspan((vector + column) * vector_words, vector_words));
      }
    }
  }
}

absl::Status EncoderWeightGradient::Add(const nn::Planes& x, const nn::Planes& y_gradient,
                                        std::span<float> weight_gradient) {
  const std::size_t outputs = weight_gradient.size() / (shape_.inputs * kKernelTaps);
  const std::size_t n = unit_.half_lanes();
  const std::size_t runs = (shape_.inputs + run_inputs_ - 1) / run_inputs_;
  counted_cycles_ = 0;
  std::ranges::fill(sums_, 0.0f);
  for (std::size_t group = 0; group * n < x.shape().images; ++group) {
    PutGradient(y_gradient, group, outputs);
    RETURN_IF_ERROR(job_->Load(program_));
    const auto fill = [&](std::size_t run, std::span<std::uint64_t> words) {
      PutInputs(x, group, run * run_inputs_, words);
    };
    const auto take = [&](std::size_t run, std::span<const std::uint64_t> words) {
      const std::vector<float> found =
          fpga::UnpackFloatTensor(words, static_cast<std::uint32_t>(shape_.outputs), unit_);
      const std::size_t first = run * run_inputs_;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t pixel = i % (kKernelTaps * run_inputs_), o = i / (kKernelTaps * run_inputs_);
        const std::size_t row = pixel / kKernelRows, c = first + row % run_inputs_;
        if (c >= shape_.inputs) continue;
        const std::size_t tap = row / run_inputs_ * kKernelRows + pixel % kKernelRows;
        sums_[(o * shape_.inputs + c) * kKernelTaps + tap] += found[i];
      }
    };
    ASSIGN_OR_RETURN(const std::uint64_t cycles, job_->Run(runs, fill, take));
    counted_cycles_ += cycles;
  }
  for (std::size_t i = 0; i < weight_gradient.size(); ++i) weight_gradient[i] += sums_[i];
  return absl::OkStatus();
}

}  // namespace tributary::accelerator
