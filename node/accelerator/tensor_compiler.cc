#include "node/accelerator/tensor_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/status/macros.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"
#include "node/accelerator/tensor_schedule.h"
#include "node/accelerator/tensor_storage.h"
#include "node/accelerator/tensor_support.h"

namespace tributary::accelerator {
namespace {

using fpga::TensorCommand;
using graph::kAbsent;
using graph::LayerKind;
using graph::QuantisedLayer;
using graph::QuantisedSection;
using graph::QuantisedTensor;

std::size_t PlaceOf(int tensor) { return static_cast<std::size_t>(tensor); }

class TensorCompiler {
 public:
  TensorCompiler(const QuantisedSection& section, const fpga::TensorUnitSize& size, std::uint64_t most_words)
      : section_(section),
        size_(size),
        most_words_(most_words),
        builder_(size),
        schedule_(ScheduleOf(section)) {}

  absl::StatusOr<TensorProgram> Compile() && {
    program_.images = static_cast<std::uint32_t>(section_.tensors[0].images());
    for (const QuantisedTensor& tensor : section_.tensors) {
      if (tensor.images() != program_.images)
        return absl::InvalidArgumentError("its tensors are of different batches");
    }
    program_.layer_cycles.resize(section_.layers.size());
    ASSIGN_OR_RETURN(addresses_, PlaceTensors(section_, schedule_, size_));
    RETURN_IF_ERROR(CheckLength());
    for (const int tensor : section_.inputs)
      program_.inputs.push_back(BufferPlace(tensor, program_.input_words));
    for (const int tensor : section_.outputs) {
      program_.outputs.push_back(BufferPlace(tensor, program_.output_words));
    }
    std::vector<bool> here(section_.tensors.size());  // names that are in the activation memory
    const auto load = [&](int tensor) {
      if (tensor == kAbsent || here[PlaceOf(NameOf(tensor))]) return;
      here[PlaceOf(NameOf(tensor))] = true;
      Load(NameOf(tensor));
      Store(NameOf(tensor));
    };
    for (const TensorWork& work : schedule_.work) {
      load(work.input);
      load(work.residual);
      RETURN_IF_ERROR(Emit(work));
      here[PlaceOf(NameOf(work.output))] = true;
      Store(NameOf(work.output));
    }
    for (const int tensor : section_.outputs) load(tensor);  // moves of inputs
    builder_.End();
    program_.words = builder_.words();
    RETURN_IF_ERROR(
        fpga::CheckTensorProgram(program_.words, size_, {program_.input_words, program_.output_words}));
    return std::move(program_);
  }

 private:
  const QuantisedTensor& TensorAt(int tensor) const { return section_.tensors[PlaceOf(tensor)]; }
  const QuantisedLayer& LayerAt(std::size_t layer) const { return section_.layers[layer]; }
  int NameOf(int tensor) const { return schedule_.NameOf(tensor); }
  std::uint32_t AddressOf(int tensor) const { return addresses_[PlaceOf(tensor)]; }

  TensorPlace BufferPlace(int tensor, std::uint32_t& words) const {
    const QuantisedTensor& shape = TensorAt(tensor);
    TensorPlace place{.tensor = tensor,
                      .word = words,
                      .words = VectorsOf(TensorAt(tensor), size_) * size_.vector_words(),
                      .channels = static_cast<std::uint32_t>(shape.channels()),
                      .pixels = PixelsOf(shape)};
    words += place.words;
    return place;
  }

  std::uint16_t FlagsOf(int tensor) const {
    return ShiftOf(TensorAt(tensor)) != 0 ? std::uint16_t{fpga::kTensorFlipSign} : std::uint16_t{0};
  }

  void CountTransfer(fpga::TensorOpcode opcode, int tensor) {
    fpga::TensorTiming timing(size_);
    timing.Add({.opcode = opcode, .input_plane = VectorsOf(TensorAt(tensor), size_)});
    program_.transfer_cycles += timing.cycles();
  }

  // Just before it is read for the first time.
  void Load(int tensor) {
    const auto place = std::ranges::find(program_.inputs, tensor, &TensorPlace::tensor);
    builder_.Load(place->word, AddressOf(tensor), VectorsOf(TensorAt(tensor), size_), FlagsOf(tensor));
    CountTransfer(fpga::TensorOpcode::kLoad, tensor);
  }

  // As soon as it is there: the place of every output of that name.
  void Store(int name) {
    for (const TensorPlace& place : program_.outputs) {
      if (NameOf(place.tensor) != name) continue;
      builder_.Store(AddressOf(name), place.word, VectorsOf(TensorAt(name), size_), FlagsOf(name));
      CountTransfer(fpga::TensorOpcode::kStore, name);
    }
  }

  // The output stage of a layer alone.
  void SetStage(const QuantisedLayer& layer, fpga::TensorOutput& stage) const {
    const QuantisedTensor& output = TensorAt(layer.output);
    stage.zero = ZeroOf(output);
    stage.low = static_cast<std::int8_t>(layer.lowest - ShiftOf(output));
    stage.high = static_cast<std::int8_t>(layer.highest - ShiftOf(output));
  }

  // The second step, in which `own` is the result of the first.
  absl::Status SetSum(const QuantisedLayer& sum, int own, fpga::TensorOutput& stage) const {
    const int other = sum.input == own ? sum.residual : sum.input;
    const double input_factor = RealOf(sum.FactorAt(0)), residual_factor = ResidualFactorOf(sum);
    const bool straight = sum.input == own;
    const QuantisedTensor& output = TensorAt(sum.output);
    stage.residual_zero = ZeroOf(TensorAt(other));
    stage.sum_zero = ZeroOf(output);
    stage.sum_low = static_cast<std::int8_t>(sum.lowest - ShiftOf(output));
    stage.sum_high = static_cast<std::int8_t>(sum.highest - ShiftOf(output));
    return fpga::SetTensorSum(straight ? input_factor : residual_factor,
                              straight ? residual_factor : input_factor, stage);
  }

  absl::StatusOr<std::vector<fpga::TensorChannel>> ChannelsOf(const QuantisedLayer& layer) const {
    const QuantisedTensor& input = TensorAt(layer.input);
    const auto channels = static_cast<std::size_t>(TensorAt(layer.output).channels());
    std::vector<fpga::TensorChannel> words;
    for (std::size_t c = 0; c < channels; ++c) {
      ASSIGN_OR_RETURN(fpga::TensorChannel word, fpga::TensorChannelOf(RealOf(layer.FactorAt(c))));
      // The unit sums its own integers; the zero point is taken from the bias.
      std::int64_t unit = layer.kind == LayerKind::kAveragePool ? layer.window.taps() : 1;
      if (layer.kind == LayerKind::kConvolution) {
        const std::size_t each = layer.weights.size() / channels;
        unit = 0;
        for (std::size_t i = 0; i < each; ++i) unit += layer.weights[c * each + i];
      }
      word.bias = static_cast<std::int32_t>((layer.bias.empty() ? 0 : layer.bias[c]) - unit * ZeroOf(input));
      words.push_back(word);
    }
    return words;
  }

  TensorCommand CommandOf(const TensorWork& work) const {
    const QuantisedLayer& layer = LayerAt(work.layer);
    const QuantisedTensor& input = TensorAt(work.input);
    const QuantisedTensor& output = TensorAt(work.output);
    TensorCommand command{
        .input_address = AddressOf(work.input),
        .input_plane = PixelsOf(input),
        .input_height = static_cast<std::uint16_t>(input.height()),
        .input_width = static_cast<std::uint16_t>(input.width()),
        .output_height = static_cast<std::uint16_t>(output.height()),
        .output_width = static_cast<std::uint16_t>(output.width()),
        .kernel_height = 1,
        .kernel_width = 1,
        .stride_y = 1,
        .stride_x = 1,
        .output_address = AddressOf(work.output),
        .output_plane = PixelsOf(output),
        .pad_value = layer.kind == LayerKind::kMaxPool ? std::int8_t{-128} : ZeroOf(input),
    };
    if (!layer.window.size.empty()) {
      command.origin_y = static_cast<std::int16_t>(-layer.window.before[0]);
      command.origin_x = static_cast<std::int16_t>(-layer.window.before[1]);
      command.kernel_height = static_cast<std::uint8_t>(layer.window.size[0]);
      command.kernel_width = static_cast<std::uint8_t>(layer.window.size[1]);
      command.stride_y = static_cast<std::uint8_t>(layer.window.stride[0]);
      command.stride_x = static_cast<std::uint8_t>(layer.window.stride[1]);
    }
    if (work.residual != kAbsent) {
      command.flags |= fpga::kTensorResidual;
      command.residual_address = AddressOf(work.residual);
      command.residual_plane = PixelsOf(output);
    }
    return command;
  }

  // Rows of a command: a convolution has an accumulator for each pixel of its result.
  std::uint32_t StripOf(const TensorWork& work) const {
    const QuantisedLayer& layer = LayerAt(work.layer);
    const QuantisedTensor& output = TensorAt(work.output);
    const auto rows = static_cast<std::uint32_t>(output.height()),
               columns = static_cast<std::uint32_t>(output.width());
    const bool dense = layer.kind == LayerKind::kConvolution && !IsDepthwise(layer, TensorAt(layer.input));
    return dense ? std::clamp(size_.pixels / columns, 1u, rows) : rows;
  }

  // Weights are padded to whole blocks, and sent again for each strip.
  absl::Status CheckLength() const {
    const std::uint64_t lanes = size_.lanes;
    std::uint64_t words = (section_.inputs.size() + section_.outputs.size() + 1) * fpga::kTensorCommandWords;
    for (const int tensor : section_.inputs)
      words += std::uint64_t{VectorsOf(TensorAt(tensor), size_)} * size_.vector_words();
    for (const int tensor : section_.outputs)
      words += std::uint64_t{VectorsOf(TensorAt(tensor), size_)} * size_.vector_words();
    for (const TensorWork& work : schedule_.work) {
      const QuantisedLayer& layer = LayerAt(work.layer);
      const auto rows = static_cast<std::uint32_t>(TensorAt(work.output).height());
      const std::uint64_t strips = (rows + StripOf(work) - 1) / StripOf(work);
      std::uint64_t block = lanes;
      if (layer.kind == LayerKind::kConvolution) {
        const std::uint64_t tiles =
            IsDepthwise(layer, TensorAt(layer.input)) ? 1 : BlocksOf(TensorAt(work.input), size_) * lanes;
        block += static_cast<std::uint64_t>(layer.window.taps()) * tiles * lanes / 8;
      }
      words += strips * (fpga::kTensorCommandWords + BlocksOf(TensorAt(work.output), size_) * block);
      if (words > most_words_) {
        return absl::ResourceExhaustedError(
            fmt::format("up to \"{}\" its program and buffers take {} bytes; {} are left", layer.name,
                        8 * words, 8 * most_words_));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Emit(const TensorWork& work) {
    const QuantisedLayer& layer = LayerAt(work.layer);
    TensorCommand command = CommandOf(work);
    std::vector<fpga::TensorChannel> channels;
    if (layer.kind == LayerKind::kSum && layer.residual != kAbsent) {
      // The first step gives the input as it is.
      command.output.zero = ZeroOf(TensorAt(layer.input));
      fpga::TensorChannel same = fpga::kTensorIdentity;
      same.bias = -command.output.zero;
      channels.assign(static_cast<std::size_t>(TensorAt(layer.output).channels()), same);
      RETURN_IF_ERROR(SetSum(layer, layer.input, command.output));
    } else {
      SetStage(layer, command.output);
      ASSIGN_OR_RETURN(channels, ChannelsOf(layer));
      if (work.sum.has_value()) RETURN_IF_ERROR(SetSum(LayerAt(*work.sum), layer.output, command.output));
    }
    const std::uint32_t rows = command.output_height, columns = command.output_width;
    const std::uint32_t strip = StripOf(work);
    for (std::uint32_t row = 0; row < rows; row += strip) {
      TensorCommand part = command;
      part.output_height = static_cast<std::uint16_t>(std::min(strip, rows - row));
      part.origin_y = static_cast<std::int16_t>(part.origin_y + static_cast<int>(row) * part.stride_y);
      part.output_address += row * columns;
      part.residual_address += row * columns;
      RETURN_IF_ERROR(Append(work, part, channels));
    }
    return absl::OkStatus();
  }

  absl::Status Append(const TensorWork& work, TensorCommand command,
                      std::span<const fpga::TensorChannel> channels) {
    const QuantisedLayer& layer = LayerAt(work.layer);
    const QuantisedTensor& input = TensorAt(layer.input);
    const std::size_t begin = builder_.words().size();
    if (layer.kind != LayerKind::kConvolution) {
      const bool average = layer.kind == LayerKind::kAveragePool;
      command.opcode = average ? fpga::TensorOpcode::kSumPool : fpga::TensorOpcode::kMaxPool;
      RETURN_IF_ERROR(builder_.Pool(command, channels));
    } else if (IsDepthwise(layer, input)) {
      RETURN_IF_ERROR(builder_.Depthwise(command, layer.weights, channels));
    } else {
      RETURN_IF_ERROR(builder_.Convolve(command, static_cast<std::uint32_t>(channels.size()),
                                        static_cast<std::uint32_t>(input.channels()), layer.weights,
                                        channels));
    }
    const std::span<const std::uint64_t> written(builder_.words());
    fpga::TensorTiming timing(size_);
    timing.Add(fpga::DecodeTensorCommand(written.subspan(begin).first<fpga::kTensorCommandWords>()));
    program_.layer_cycles[work.layer] += timing.cycles();
    return absl::OkStatus();
  }

  const QuantisedSection& section_;
  const fpga::TensorUnitSize size_;
  const std::uint64_t most_words_;
  fpga::TensorProgramBuilder builder_;
  const TensorSchedule schedule_;
  std::vector<std::uint32_t> addresses_;  // of each tensor
  TensorProgram program_;
};

}  // namespace

absl::StatusOr<TensorProgram> CompileForTensorUnit(const QuantisedSection& section,
                                                   const fpga::TensorUnitSize& size,
                                                   std::uint64_t most_words) {
  return TensorCompiler(section, size, most_words).Compile();
}

}  // namespace tributary::accelerator
