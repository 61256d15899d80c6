#include "fpga/model/tensor_layout.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

namespace tributary::fpga {
namespace {

constexpr int kMantissaBits = 16;
constexpr int kMostShift = 31;
constexpr double kMaxFactor = 4.0;

absl::Status WrongCount(const char* what, std::size_t found, std::size_t expected) {
  return absl::InvalidArgumentError(fmt::format("{} {}, expected {}", found, what, expected));
}

absl::Status CheckWeights(std::span<const std::int8_t> weights) {
  if (std::ranges::find(weights, std::int8_t{-128}) == weights.end()) return absl::OkStatus();
  return absl::InvalidArgumentError("a weight is -128; the tensor unit takes -127 to 127");
}

}  // namespace

absl::StatusOr<TensorChannel> TensorChannelOf(double scale) {
  if (!(scale > 0.0 && scale < 2.0)) {  // NaN fails, too
    return absl::InvalidArgumentError(fmt::format("a scale of {} is not within (0, 2)", scale));
  }
  // scale = multiplier · 2^(guard - shift - scale_shift), with 16 bits of the multiplier in use where the
  // shift allows.
  constexpr int kPoint = kTensorScaleShift - kTensorGuardBits;
  int shift = std::clamp(-std::ilogb(scale), 0, kMostShift);
  double multiplier = std::nearbyint(std::ldexp(scale, kPoint + shift));
  const double end = std::ldexp(1.0, kMantissaBits);
  if (multiplier >= end && shift > 0) multiplier = std::nearbyint(std::ldexp(scale, kPoint + --shift));
  return TensorChannel{.multiplier = static_cast<std::uint16_t>(std::min(multiplier, end - 1)),
                       .shift = static_cast<std::uint8_t>(shift)};
}

absl::Status SetTensorSum(double own, double residual, TensorOutput& output) {
  const auto in_range = [](double factor) { return factor >= 0.0 && factor < kMaxFactor; };
  if (!in_range(own) || !in_range(residual)) {
    return absl::InvalidArgumentError(
        fmt::format("the factors {} and {} of a sum are not within [0, 4)", own, residual));
  }
  const auto multiplier = [](double factor) {
    return static_cast<std::uint16_t>(
        std::min(std::nearbyint(std::ldexp(factor, kTensorFactorShift)), std::ldexp(1.0, kMantissaBits) - 1));
  };
  output.own_multiplier = multiplier(own);
  output.residual_multiplier = multiplier(residual);
  return absl::OkStatus();
}

void TensorProgramBuilder::Append(const TensorCommand& command) {
  const auto words = EncodeTensorCommand(command);
  words_.insert(words_.end(), words.begin(), words.end());
  ++commands_;
}

void TensorProgramBuilder::AppendBytes(std::span<const std::int8_t> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      word |= std::uint64_t{static_cast<std::uint8_t>(bytes[at + i])} << (8 * i);
    }
    words_.push_back(word);
  }
}

void TensorProgramBuilder::AppendChannels(std::span<const TensorChannel> channels, std::uint32_t block) {
  for (std::uint32_t lane = 0; lane < size_.lanes; ++lane) {
    const std::size_t at = std::size_t{block} * size_.lanes + lane;
    words_.push_back(at < channels.size() ? EncodeTensorChannel(channels[at]) : 0);
  }
}

void TensorProgramBuilder::Load(std::uint32_t word, std::uint32_t address, std::uint32_t vectors,
                                std::uint16_t flags) {
  Append({.opcode = TensorOpcode::kLoad,
          .flags = flags,
          .input_address = word,
          .input_plane = vectors,
          .output_address = address});
}

void TensorProgramBuilder::Store(std::uint32_t address, std::uint32_t word, std::uint32_t vectors,
                                 std::uint16_t flags) {
  Append({.opcode = TensorOpcode::kStore,
          .flags = flags,
          .input_address = address,
          .input_plane = vectors,
          .output_address = word});
}

absl::Status TensorProgramBuilder::Convolve(TensorCommand command, std::uint32_t outputs,
                                            std::uint32_t inputs, std::span<const std::int8_t> weights,
                                            std::span<const TensorChannel> channels) {
  const std::size_t n = size_.lanes;
  const std::size_t taps = std::size_t{command.kernel_height} * command.kernel_width;
  if (weights.size() != taps * inputs * outputs) {
    return WrongCount("weights", weights.size(), taps * inputs * outputs);
  }
  if (channels.size() != outputs) return WrongCount("channels", channels.size(), outputs);
  if (absl::Status status = CheckWeights(weights); !status.ok()) return status;

  command.opcode = TensorOpcode::kConvolve;
  command.input_blocks = static_cast<std::uint16_t>(TensorBlocks(inputs, size_));
  command.output_blocks = static_cast<std::uint16_t>(TensorBlocks(outputs, size_));
  Append(command);
  std::vector<std::int8_t> tile(n * n);
  for (std::uint32_t block = 0; block < command.output_blocks; ++block) {
    for (std::uint32_t input_block = 0; input_block < command.input_blocks; ++input_block) {
      for (std::size_t tap = 0; tap < taps; ++tap) {
        for (std::size_t i = 0; i < n * n; ++i) {
          const std::size_t input = input_block * n + i / n;
          const std::size_t output = block * n + i % n;
          tile[i] = input < inputs && output < outputs ? weights[(output * inputs + input) * taps + tap] : 0;
        }
        AppendBytes(tile);
      }
    }
    AppendChannels(channels, block);
  }
  return absl::OkStatus();
}

absl::Status TensorProgramBuilder::Depthwise(TensorCommand command, std::span<const std::int8_t> weights,
                                             std::span<const TensorChannel> channels) {
  constexpr std::size_t kTaps = 9;
  if (weights.size() != kTaps * channels.size()) {
    return WrongCount("weights", weights.size(), kTaps * channels.size());
  }
  if (absl::Status status = CheckWeights(weights); !status.ok()) return status;
  command.opcode = TensorOpcode::kDepthwise;
  command.kernel_height = command.kernel_width = 3;
  command.input_blocks = 1;
  command.output_blocks =
      static_cast<std::uint16_t>(TensorBlocks(static_cast<std::uint32_t>(channels.size()), size_));
  Append(command);
  std::vector<std::int8_t> taps(kTaps * size_.lanes);
  for (std::uint32_t block = 0; block < command.output_blocks; ++block) {
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const std::size_t channel = std::size_t{block} * size_.lanes + i % size_.lanes;
      taps[i] = channel < channels.size() ? weights[channel * kTaps + i / size_.lanes] : 0;
    }
    AppendBytes(taps);
    AppendChannels(channels, block);
  }
  return absl::OkStatus();
}

absl::Status TensorProgramBuilder::Pool(TensorCommand command, std::span<const TensorChannel> channels) {
  if (command.opcode != TensorOpcode::kMaxPool && command.opcode != TensorOpcode::kSumPool) {
    return absl::InvalidArgumentError("a pool is kMaxPool or kSumPool");
  }
  command.input_blocks = 1;
  command.output_blocks =
      static_cast<std::uint16_t>(TensorBlocks(static_cast<std::uint32_t>(channels.size()), size_));
  Append(command);
  for (std::uint32_t block = 0; block < command.output_blocks; ++block) AppendChannels(channels, block);
  return absl::OkStatus();
}

void TensorProgramBuilder::End() { Append({.opcode = TensorOpcode::kEnd}); }

KeptTensorProgram KeepTensorWeights(std::span<const std::uint64_t> program, const TensorUnitSize& size) {
  KeptTensorProgram result;
  const auto append = [](std::vector<std::uint64_t>& to, std::span<const std::uint64_t> words) {
    to.insert(to.end(), words.begin(), words.end());
  };
  for (std::size_t at = 0; at < program.size();) {
    TensorCommand command = DecodeTensorCommand(program.subspan(at).first<kTensorCommandWords>());
    const std::uint64_t following = TensorFollowingWords(command, size);
    const auto weights = program.subspan(at + kTensorCommandWords, following);
    const bool keeps = following > 0 && result.kept_words + following <= size.kept;
    if (keeps) {
      const TensorCommand keep = {.opcode = TensorOpcode::kKeep,
                                  .input_plane = static_cast<std::uint32_t>(following),
                                  .kept_address = result.kept_words};
      append(result.first, EncodeTensorCommand(keep));
      append(result.first, weights);
      command.flags |= kTensorKept;
      command.kept_address = result.kept_words;
      result.kept_words += static_cast<std::uint32_t>(following);
    }
    for (std::vector<std::uint64_t>* part : {&result.first, &result.later}) {
      append(*part, EncodeTensorCommand(command));
      if (!keeps) append(*part, weights);
    }
    at += kTensorCommandWords + following;
    if (command.opcode == TensorOpcode::kEnd) break;
  }
  return result;
}

std::vector<std::uint64_t> PackTensor(std::span<const std::int8_t> values, std::uint32_t channels,
                                      const TensorUnitSize& size, std::int8_t fill) {
  const std::size_t pixels = channels == 0 ? 0 : values.size() / channels;
  const std::size_t n = size.lanes;
  std::vector<std::uint64_t> words(TensorBlocks(channels, size) * pixels * size.vector_words());
  for (std::size_t at = 0; at < 8 * words.size(); ++at) {
    const std::size_t channel = at / n / pixels * n + at % n;
    const std::size_t pixel = at / n % pixels;
    const std::int8_t value = channel < channels ? values[channel * pixels + pixel] : fill;
    words[at / 8] |= std::uint64_t{static_cast<std::uint8_t>(value)} << (8 * (at % 8));
  }
  return words;
}

std::vector<std::int8_t> UnpackTensor(std::span<const std::uint64_t> words, std::uint32_t channels,
                                      const TensorUnitSize& size) {
  const std::uint32_t blocks = TensorBlocks(channels, size);
  const std::size_t n = size.lanes;
  const std::size_t pixels = blocks == 0 ? 0 : words.size() / size.vector_words() / blocks;
  std::vector<std::int8_t> values(channels * pixels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      const std::size_t at = (channel / n * pixels + pixel) * n + channel % n;
      values[channel * pixels + pixel] = static_cast<std::int8_t>(words[at / 8] >> (8 * (at % 8)));
    }
  }
  return values;
}

}  // namespace tributary::fpga
