#include "fpga/model/tensor_unit.h"

#include <algorithm>
#include <iterator>

#include "fmt/format.h"
#include "fpga/model/fixed_point.h"
#include "fpga/model/kernel_interface.h"
#include "fpga/model/tensor_timing.h"

namespace tributary::fpga {
namespace {

std::int32_t Byte(std::span<const std::uint64_t> words, std::size_t at) {
  return static_cast<std::int8_t>(words[at / 8] >> (8 * (at % 8)));
}

// The unit refuses a weight of -128.
bool AnyBadWeight(const TensorCommand& command, const TensorUnitSize& size,
                  std::span<const std::uint64_t> following) {
  if (following.empty() || command.precision != TensorPrecision::kInt8) return false;
  const std::size_t per_block = following.size() / command.output_blocks;
  for (std::size_t at = 0; at < 8 * following.size(); ++at) {
    if (at / 8 % per_block < per_block - size.lanes && Byte(following, at) == -128) return true;
  }
  return false;
}

}  // namespace

std::int8_t TensorOutputOf(std::int32_t sum, const TensorChannel& channel, const TensorOutput& output,
                           bool with_residual, std::int8_t residual) {
  const auto biased =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(channel.bias));
  // One more guard bit than t, for the rounding.
  const std::int64_t shifted =
      RoundShift((std::int64_t{biased} << (kTensorGuardBits + 1)) >> channel.shift, 1);
  const std::int64_t scaled =
      RoundHalfToEven(Saturate(shifted, kTensorSumBits) * channel.multiplier, kTensorScaleShift);
  const auto clamp = [](std::int64_t value, std::int8_t low, std::int8_t high) {
    return value > high ? std::int64_t{high} : value < low ? std::int64_t{low} : value;
  };
  const std::int64_t own = clamp(scaled + output.zero, output.low, output.high);
  if (!with_residual) return static_cast<std::int8_t>(own);
  const std::int64_t sum_of_both = (own - output.zero) * output.own_multiplier +
                                   (residual - output.residual_zero) * output.residual_multiplier;
  return static_cast<std::int8_t>(clamp(RoundHalfToEven(sum_of_both, kTensorFactorShift) + output.sum_zero,
                                        output.sum_low, output.sum_high));
}

std::optional<TensorRun> ReadTensorReport(std::span<const std::uint64_t, kTensorReportWords> words) {
  const KernelReport report{words[0], words[1]};
  if (!report.valid()) return std::nullopt;
  return TensorRun{.status = static_cast<TensorStatus>(words[2] & 0xff),
                   .command = static_cast<std::uint32_t>(words[2] >> 8),
                   .cycles = report.cycles};
}

std::string TensorFaultText(const TensorRun& run) {
  static constexpr const char* kFaults[] = {
      "no fault",         "a field out of range",   "an address out of range",
      "a weight of -128", "the program ends early", "a failed read",
      "a failed write"};
  const auto status = static_cast<std::size_t>(run.status);
  return fmt::format("status {} ({}) at command {}", status,
                     status < std::size(kFaults) ? kFaults[status] : "not known", run.command);
}

TensorUnit::TensorUnit(const TensorUnitSize& size)
    : size_(size), activations_(std::size_t{size.activations} * size.lanes), kept_(size.kept) {}

TensorRun TensorUnit::Run(std::span<const std::uint64_t> program, std::span<const std::uint64_t> input,
                          std::span<std::uint64_t> output) {
  const TensorBuffers buffers{input.size(), output.size()};
  TensorTiming timing(size_);
  for (std::uint32_t index = 0;; ++index) {
    const auto end = [&](TensorStatus status) { return TensorRun{status, index, timing.cycles()}; };
    if (program.size() < kTensorCommandWords) return end(TensorStatus::kProgramEnds);
    const TensorCommand command = DecodeTensorCommand(program.first<kTensorCommandWords>());
    program = program.subspan(kTensorCommandWords);
    const TensorStatus status = CheckTensorCommand(command, size_, buffers);
    if (status != TensorStatus::kOk) return end(status);
    const std::uint64_t words = TensorFollowingWords(command, size_);
    if (program.size() < words) return end(TensorStatus::kProgramEnds);
    auto following = program.first(words);
    program = program.subspan(words);
    if (command.opcode == TensorOpcode::kKeep) {
      timing.Add(command);
      std::ranges::copy(following, kept_.begin() + command.kept_address);
      continue;
    }
    if (const std::uint64_t weights = TensorWeightWords(command, size_); weights != words) {
      following = std::span<const std::uint64_t>(kept_).subspan(command.kept_address, weights);
    }
    if (AnyBadWeight(command, size_, following)) return end(TensorStatus::kBadWeight);
    timing.Add(command);
    switch (command.opcode) {
      case TensorOpcode::kKeep:
        break;
      case TensorOpcode::kEnd:
        return end(TensorStatus::kOk);
      case TensorOpcode::kLoad:
        Load(command, (command.flags & kTensorFromOutput) != 0 ? output : input);
        break;
      case TensorOpcode::kStore:
        Store(command, output);
        break;
      case TensorOpcode::kConvolve:
        switch (command.precision) {
          case TensorPrecision::kInt8:
            Convolve(command, following);
            break;
          case TensorPrecision::kBfloat16:
            ConvolveBfloat(command, following);
            break;
          case TensorPrecision::kInt16:
            ConvolveInt16(command, following);
            break;
          case TensorPrecision::kInt32:
            ConvolveInt32(command, following);
            break;
          case TensorPrecision::kFloat32:
            ConvolveFloat32(command, following);
            break;
        }
        break;
      case TensorOpcode::kDepthwise:
        Depthwise(command, following);
        break;
      case TensorOpcode::kMaxPool:
      case TensorOpcode::kSumPool:
        Pool(command, following);
        break;
    }
  }
}

void TensorUnit::Load(const TensorCommand& command, std::span<const std::uint64_t> from) {
  const auto flip = static_cast<std::int8_t>((command.flags & kTensorFlipSign) != 0 ? -128 : 0);
  const std::size_t bytes = std::size_t{command.input_plane} * size_.lanes;
  for (std::size_t i = 0; i < bytes; ++i) {
    activations_[std::size_t{command.output_address} * size_.lanes + i] =
        static_cast<std::int8_t>(Byte(from, std::size_t{8} * command.input_address + i) ^ flip);
  }
}

void TensorUnit::Store(const TensorCommand& command, std::span<std::uint64_t> to) const {
  const std::uint64_t flip = (command.flags & kTensorFlipSign) != 0 ? 0x80 : 0;
  const std::size_t words = std::size_t{command.input_plane} * size_.vector_words();
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      const std::int8_t value = activations_[std::size_t{command.input_address} * size_.lanes + 8 * i + byte];
      word |= (static_cast<std::uint64_t>(static_cast<std::uint8_t>(value)) ^ flip) << (8 * byte);
    }
    to[command.output_address + i] = word;
  }
}

std::int32_t TensorUnit::Activation(const TensorCommand& c, std::uint32_t block, int y, int x,
                                    std::uint32_t lane) const {
  const std::optional<std::size_t> vector = VectorAt(c, block, y, x);
  return vector ? activations_[*vector * size_.lanes + lane] : c.pad_value;
}

std::optional<std::size_t> TensorUnit::VectorAt(const TensorCommand& c, std::uint32_t block, int y,
                                                int x) const {
  if (y < 0 || y >= c.input_height || x < 0 || x >= c.input_width) return std::nullopt;
  return c.input_address + std::size_t{block} * c.input_plane + static_cast<std::size_t>(y) * c.input_width +
         static_cast<std::size_t>(x);
}

void TensorUnit::Write(const TensorCommand& c, const TensorChannel& channel, std::uint32_t block,
                       std::uint32_t pixel, std::uint32_t lane, std::int32_t sum) {
  const bool with_residual = (c.flags & kTensorResidual) != 0;
  std::int8_t residual = 0;
  if (with_residual) {
    const std::size_t vector = c.residual_address + std::size_t{block} * c.residual_plane + pixel;
    residual = activations_[vector * size_.lanes + lane];
  }
  const std::size_t vector = c.output_address + std::size_t{block} * c.output_plane + pixel;
  activations_[vector * size_.lanes + lane] = TensorOutputOf(sum, channel, c.output, with_residual, residual);
}

void TensorUnit::Convolve(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.lanes;
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  std::vector<std::uint32_t> sums(pixels * n);
  std::vector<std::int32_t> inputs(n);
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    std::ranges::fill(sums, 0);
    for (std::uint32_t tile = 0; tile < std::uint32_t{c.input_blocks} * c.kernel_height * c.kernel_width;
         ++tile) {
      const std::uint32_t input_block = tile / c.kernel_width / c.kernel_height;
      const int ky = static_cast<int>(tile / c.kernel_width % c.kernel_height);
      const int kx = static_cast<int>(tile % c.kernel_width);
      std::vector<std::int32_t> weights(n * n);
      for (std::size_t i = 0; i < n * n; ++i) weights[i] = Byte(following, i);
      following = following.subspan(n * n / 8);
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        const int y = c.origin_y + static_cast<int>(pixel / c.output_width) * c.stride_y + ky;
        const int x = c.origin_x + static_cast<int>(pixel % c.output_width) * c.stride_x + kx;
        for (std::uint32_t row = 0; row < n; ++row) inputs[row] = Activation(c, input_block, y, x, row);
        for (std::size_t row = 0; row < n; ++row) {
          for (std::size_t column = 0; column < n; ++column) {
            sums[pixel * n + column] += static_cast<std::uint32_t>(inputs[row] * weights[row * n + column]);
          }
        }
      }
    }
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::uint32_t lane = 0; lane < n; ++lane) {
        Write(c, DecodeTensorChannel(following[lane]), block, pixel, lane,
              static_cast<std::int32_t>(sums[pixel * n + lane]));
      }
    }
    following = following.subspan(n);
  }
}

void TensorUnit::Depthwise(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const std::size_t n = size_.lanes;
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    const auto weights = following.first(9 * n / 8);
    const auto channels = following.subspan(9 * n / 8, n);
    // Outputs may replace their inputs: a pixel is written only after all of its window was read.
    std::vector<std::int32_t> sums(pixels * n);
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      for (int tap = 0; tap < 9; ++tap) {
        const int y = c.origin_y + static_cast<int>(pixel / c.output_width) * c.stride_y + tap / 3;
        const int x = c.origin_x + static_cast<int>(pixel % c.output_width) * c.stride_x + tap % 3;
        for (std::uint32_t lane = 0; lane < n; ++lane) {
          sums[pixel * n + lane] +=
              Activation(c, block, y, x, lane) * Byte(weights, static_cast<std::size_t>(tap) * n + lane);
        }
      }
    }
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::uint32_t lane = 0; lane < n; ++lane) {
        Write(c, DecodeTensorChannel(channels[lane]), block, pixel, lane, sums[pixel * n + lane]);
      }
    }
    following = following.subspan(9 * n / 8 + n);
  }
}

void TensorUnit::Pool(const TensorCommand& c, std::span<const std::uint64_t> following) {
  const bool max = c.opcode == TensorOpcode::kMaxPool;
  const std::uint32_t pixels = std::uint32_t{c.output_height} * c.output_width;
  for (std::uint32_t block = 0; block < c.output_blocks; ++block) {
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      const int y = c.origin_y + static_cast<int>(pixel / c.output_width) * c.stride_y;
      const int x = c.origin_x + static_cast<int>(pixel % c.output_width) * c.stride_x;
      for (std::uint32_t lane = 0; lane < size_.lanes; ++lane) {
        std::int32_t result = max ? -128 : 0;
        for (int ky = 0; ky < c.kernel_height; ++ky) {
          for (int kx = 0; kx < c.kernel_width; ++kx) {
            const std::int32_t value = Activation(c, block, y + ky, x + kx, lane);
            result = max ? std::max(result, value) : result + value;
          }
        }
        Write(c, DecodeTensorChannel(following[lane]), block, pixel, lane, result);
      }
    }
    following = following.subspan(size_.lanes);
  }
}

}  // namespace tributary::fpga
