#include "fpga/model/tensor_program.h"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "fmt/format.h"

namespace tributary::fpga {
namespace {

// Goes through the fields of a command in the order of its words; each field lies at a multiple of its size.
class FieldWriter {
 public:
  template <typename Field>
  void operator()(const Field& field) {
    constexpr unsigned kBits = 8 * sizeof(Field);
    std::uint64_t value = 0;
    if constexpr (std::is_enum_v<Field>) {
      value = static_cast<std::uint64_t>(field);
    } else {
      value = static_cast<std::make_unsigned_t<Field>>(field);
    }
    words[bit_ / 64] |= value << (bit_ % 64);
    bit_ += kBits;
  }
  std::array<std::uint64_t, kTensorCommandWords> words{};

 private:
  unsigned bit_ = 0;
};

class FieldReader {
 public:
  explicit FieldReader(std::span<const std::uint64_t, kTensorCommandWords> words) : words_(words) {}

  template <typename Field>
  void operator()(Field& field) {
    field = static_cast<Field>(words_[bit_ / 64] >> (bit_ % 64));
    bit_ += 8 * sizeof(Field);
  }

 private:
  std::span<const std::uint64_t, kTensorCommandWords> words_;
  unsigned bit_ = 0;
};

template <typename Command, typename Visitor>
void VisitFields(Command& c, Visitor& visit) {
  visit(c.opcode), visit(c.precision), visit(c.flags), visit(c.input_blocks), visit(c.output_blocks);
  visit(c.input_address), visit(c.input_plane);
  visit(c.input_height), visit(c.input_width), visit(c.origin_y), visit(c.origin_x);
  visit(c.output_height), visit(c.output_width);
  visit(c.kernel_height), visit(c.kernel_width), visit(c.stride_y), visit(c.stride_x);
  visit(c.output_address), visit(c.output_plane);
  visit(c.residual_address), visit(c.residual_plane);
  visit(c.pad_value), visit(c.output.zero), visit(c.output.low), visit(c.output.high);
  visit(c.output.residual_zero), visit(c.output.sum_zero), visit(c.output.sum_low), visit(c.output.sum_high);
  visit(c.output.own_multiplier), visit(c.output.residual_multiplier);
  visit(c.kept_address);
}

constexpr bool Within(std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  return low <= value && value <= high;
}

bool Transfers(TensorOpcode opcode) {
  return opcode == TensorOpcode::kLoad || opcode == TensorOpcode::kStore || opcode == TensorOpcode::kKeep;
}

bool PrecisionInRange(const TensorCommand& c, const TensorUnitSize& size) {
  if (c.precision == TensorPrecision::kInt8) return c.flags < 2 * kTensorKept;
  const bool built = (size.bfloat16 && c.precision == TensorPrecision::kBfloat16) ||
                     (size.int16 && c.precision == TensorPrecision::kInt16) ||
                     (size.int32 && c.precision == TensorPrecision::kInt32) ||
                     (size.float32 && c.precision == TensorPrecision::kFloat32);
  const bool one_result = c.precision == TensorPrecision::kInt32 || c.precision == TensorPrecision::kFloat32;
  const int flags = one_result ? 2 * kTensorKept : 2 * kTensorFloat32;
  return built && c.opcode == TensorOpcode::kConvolve && (c.flags & kTensorResidual) == 0 && c.flags < flags;
}

bool FieldsInRange(const TensorCommand& c, const TensorUnitSize& size) {
  if (c.opcode > TensorOpcode::kKeep || !PrecisionInRange(c, size)) return false;
  if (c.opcode == TensorOpcode::kEnd || Transfers(c.opcode)) return true;
  const bool depthwise = c.opcode == TensorOpcode::kDepthwise;
  const bool convolve = c.opcode == TensorOpcode::kConvolve;
  const std::uint32_t max_stride = depthwise ? 2 : kTensorMaxStride;
  const auto origin = [](std::int16_t at) { return at > -1024 && at < 1024; };
  return Within(c.input_blocks, 1, convolve ? kTensorMaxBlocks : 1) &&
         Within(c.output_blocks, 1, kTensorMaxBlocks) && Within(c.input_height, 1, kTensorMaxSide) &&
         Within(c.input_width, 1, kTensorMaxSide) && Within(c.output_height, 1, kTensorMaxSide) &&
         Within(c.output_width, 1, kTensorMaxSide) && origin(c.origin_y) && origin(c.origin_x) &&
         Within(c.kernel_height, 1, kTensorMaxKernel) && Within(c.kernel_width, 1, kTensorMaxKernel) &&
         Within(c.stride_y, 1, max_stride) && Within(c.stride_x, 1, max_stride) &&
         c.input_plane < kTensorMaxPlane && c.output_plane < kTensorMaxPlane &&
         c.residual_plane < kTensorMaxPlane && c.input_address < size.activations &&
         c.output_address < size.activations && c.residual_address < size.activations &&
         (!depthwise || (c.kernel_height == 3 && c.kernel_width == 3 && (c.flags & kTensorResidual) == 0 &&
                         (c.output_width - 1u) * c.stride_x + 3 <= size.line));
}

// The largest input row (or column) within [0, extent) that the outputs read, or -1.
std::int64_t LastRead(int origin, int outputs, int stride, int kernel, int extent) {
  std::int64_t last = -1;
  for (int at = 0; at < outputs; ++at) {
    const int first = origin + at * stride;
    const int end = std::min(first + kernel, extent);
    if (end > std::max(first, 0)) last = std::max<std::int64_t>(last, end - 1);
  }
  return last;
}

bool InActivations(std::uint64_t address, std::uint64_t blocks, std::uint64_t plane, std::uint64_t last,
                   const TensorUnitSize& size) {
  return address + (blocks - 1) * plane + last < size.activations;
}

bool TransferInRange(const TensorCommand& c, const TensorUnitSize& size, const TensorBuffers& buffers) {
  if (c.opcode == TensorOpcode::kKeep) {
    return c.input_plane > 0 && std::uint64_t{c.kept_address} + c.input_plane <= size.kept;
  }
  const bool load = c.opcode == TensorOpcode::kLoad;
  const std::uint64_t on_chip = load ? c.output_address : c.input_address;
  const std::uint64_t in_buffer = load ? c.input_address : c.output_address;
  const bool from_input = load && (c.flags & kTensorFromOutput) == 0;
  const std::uint64_t words = std::uint64_t{c.input_plane} * size.vector_words();
  return c.input_plane > 0 && c.input_plane <= size.activations &&
         on_chip + c.input_plane <= size.activations &&
         in_buffer + words <= (from_input ? buffers.input_words : buffers.output_words);
}

}  // namespace

std::array<std::uint64_t, kTensorCommandWords> EncodeTensorCommand(const TensorCommand& command) {
  FieldWriter writer;
  VisitFields(command, writer);
  return writer.words;
}

TensorCommand DecodeTensorCommand(std::span<const std::uint64_t, kTensorCommandWords> words) {
  TensorCommand command;
  FieldReader reader(words);
  VisitFields(command, reader);
  return command;
}

std::uint64_t EncodeTensorChannel(const TensorChannel& channel) {
  return std::uint64_t{static_cast<std::uint32_t>(channel.bias)} | std::uint64_t{channel.multiplier} << 32 |
         std::uint64_t{channel.shift} << 48;
}

TensorChannel DecodeTensorChannel(std::uint64_t word) {
  return {.bias = static_cast<std::int32_t>(word),
          .multiplier = static_cast<std::uint16_t>(word >> 32),
          .shift = static_cast<std::uint8_t>(word >> 48 & 31)};
}

TensorBfloatOutput BfloatOutput(const TensorCommand& command) {
  const std::uint64_t word = EncodeTensorCommand(command)[6];
  return {.pad = static_cast<std::uint16_t>(word),
          .low = static_cast<std::uint16_t>(word >> 16),
          .high = static_cast<std::uint16_t>(word >> 32)};
}

void SetBfloatOutput(const TensorBfloatOutput& output, TensorCommand& command) {
  auto words = EncodeTensorCommand(command);
  words[6] = std::uint64_t{output.pad} | std::uint64_t{output.low} << 16 | std::uint64_t{output.high} << 32;
  command = DecodeTensorCommand(words);
}

TensorStatus CheckTensorCommand(const TensorCommand& c, const TensorUnitSize& size,
                                const TensorBuffers& buffers) {
  if (!FieldsInRange(c, size)) return TensorStatus::kBadField;
  if (c.opcode == TensorOpcode::kEnd) return TensorStatus::kOk;
  if (Transfers(c.opcode)) {
    return TransferInRange(c, size, buffers) ? TensorStatus::kOk : TensorStatus::kBadAddress;
  }
  if ((c.flags & kTensorKept) != 0 && c.kept_address + TensorWeightWords(c, size) > size.kept) {
    return TensorStatus::kBadAddress;
  }
  const bool convolve = c.opcode == TensorOpcode::kConvolve;
  const std::uint64_t pixels = std::uint64_t{c.output_height} * c.output_width;
  if (convolve && pixels > size.pixels) return TensorStatus::kBadAddress;
  const std::int64_t row = LastRead(c.origin_y, c.output_height, c.stride_y, c.kernel_height, c.input_height);
  const std::int64_t column = LastRead(c.origin_x, c.output_width, c.stride_x, c.kernel_width, c.input_width);
  const std::uint64_t input_blocks = convolve ? c.input_blocks : c.output_blocks;
  const bool reads = row >= 0 && column >= 0;
  const auto last = static_cast<std::uint64_t>(reads ? row * c.input_width + column : 0);
  if (reads && !InActivations(c.input_address, input_blocks, c.input_plane, last, size)) {
    return TensorStatus::kBadAddress;
  }
  const bool two_planes = (c.flags & kTensorFloat32) != 0;
  const std::uint64_t output_blocks = std::uint64_t{c.output_blocks} * (two_planes ? 2 : 1);
  if (!InActivations(c.output_address, output_blocks, c.output_plane, pixels - 1, size)) {
    return TensorStatus::kBadAddress;
  }
  if ((c.flags & kTensorResidual) != 0 &&
      !InActivations(c.residual_address, c.output_blocks, c.residual_plane, pixels - 1, size)) {
    return TensorStatus::kBadAddress;
  }
  return TensorStatus::kOk;
}

std::uint64_t TensorFollowingWords(const TensorCommand& c, const TensorUnitSize& size) {
  if (c.opcode == TensorOpcode::kKeep) return c.input_plane;
  return (c.flags & kTensorKept) != 0 ? 0 : TensorWeightWords(c, size);
}

std::uint64_t TensorWeightWords(const TensorCommand& c, const TensorUnitSize& size) {
  const std::uint64_t n = size.lanes;
  const std::uint64_t biases =
      c.precision == TensorPrecision::kFloat32 ? size.quarter_lanes() : size.half_lanes();
  std::uint64_t per_block = 0;
  switch (c.opcode) {
    case TensorOpcode::kEnd:
    case TensorOpcode::kLoad:
    case TensorOpcode::kStore:
    case TensorOpcode::kKeep:
      return 0;
    case TensorOpcode::kConvolve:
      per_block = std::uint64_t{c.input_blocks} * c.kernel_height * c.kernel_width * TensorTileWords(c, size);
      break;
    case TensorOpcode::kDepthwise:
      per_block = 9 * n / 8;
      break;
    case TensorOpcode::kMaxPool:
    case TensorOpcode::kSumPool:
      break;
  }
  return c.output_blocks * (per_block + (AddsFloats(c.precision) ? biases : n));
}

std::uint64_t TensorTileWords(const TensorCommand& c, const TensorUnitSize& size) {
  const std::uint64_t words = std::uint64_t{size.lanes} * size.lanes / 8;
  switch (c.precision) {
    case TensorPrecision::kInt8:
      break;
    case TensorPrecision::kBfloat16:
    case TensorPrecision::kInt16:
      return words / 2;
    case TensorPrecision::kInt32:
    case TensorPrecision::kFloat32:
      return words / 4;
  }
  return words;
}

absl::Status CheckTensorProgram(std::span<const std::uint64_t> program, const TensorUnitSize& size,
                                const TensorBuffers& buffers) {
  std::uint64_t at = 0;
  for (std::uint32_t index = 0;; ++index) {
    const auto fault = [index](TensorStatus status) {
      return absl::InvalidArgumentError(
          fmt::format("command {}: status {} of the tensor unit", index, static_cast<int>(status)));
    };
    if (program.size() - at < kTensorCommandWords) return fault(TensorStatus::kProgramEnds);
    const TensorCommand command = DecodeTensorCommand(program.subspan(at).first<kTensorCommandWords>());
    if (const TensorStatus status = CheckTensorCommand(command, size, buffers); status != TensorStatus::kOk) {
      return fault(status);
    }
    if (command.opcode == TensorOpcode::kEnd) return absl::OkStatus();
    at += kTensorCommandWords;
    const std::uint64_t following = TensorFollowingWords(command, size);
    if (program.size() - at < following) return fault(TensorStatus::kProgramEnds);
    const std::uint64_t channel_words = size.lanes;
    const bool weights =
        following > 0 && command.opcode != TensorOpcode::kKeep && command.precision == TensorPrecision::kInt8;
    const std::uint64_t blocks = weights ? command.output_blocks : 0;
    const std::uint64_t weight_words = weights ? following / blocks - channel_words : 0;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      for (const std::uint64_t word : program.subspan(at, weight_words)) {
        for (unsigned byte = 0; byte < 8; ++byte) {
          if ((word >> (8 * byte) & 0xff) == 0x80) return fault(TensorStatus::kBadWeight);
        }
      }
      at += weight_words + channel_words;
    }
    if (!weights) at += following;
  }
}

}  // namespace tributary::fpga
