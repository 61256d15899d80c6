#include "node/accelerator/tensor_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "core/status/macros.h"
#include "fpga/model/tensor_layout.h"
#include "fpga/model/tensor_timing.h"
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

// A layer with the sum of its result and another tensor, if one is part of its command.
struct Work {
  std::size_t layer = 0;
  std::optional<std::size_t> sum = {};  // the layer that adds
  int input = kAbsent, residual = kAbsent, output = kAbsent;
};

class TensorCompiler {
 public:
  TensorCompiler(const QuantisedSection& section, const fpga::TensorUnitSize& size, std::uint64_t most_words)
      : section_(section), size_(size), most_words_(most_words), builder_(size) {}

  absl::StatusOr<TensorProgram> Compile() && {
    program_.images = static_cast<std::uint32_t>(section_.tensors[0].images());
    for (const QuantisedTensor& tensor : section_.tensors) {
      if (tensor.images() != program_.images)
        return absl::InvalidArgumentError("its tensors are of different batches");
    }
    program_.layer_cycles.resize(section_.layers.size());
    NameTensors();
    FindWork();
    RETURN_IF_ERROR(PlaceTensors());
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
    for (const Work& work : work_) {
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
  std::uint32_t BlocksOf(int tensor) const {
    return fpga::TensorBlocks(static_cast<std::uint32_t>(TensorAt(tensor).channels()), size_);
  }
  std::uint32_t VectorsOf(int tensor) const { return BlocksOf(tensor) * PixelsOf(TensorAt(tensor)); }
  int NameOf(int tensor) const { return tensor == kAbsent ? kAbsent : names_[PlaceOf(tensor)]; }
  std::uint32_t AddressOf(int tensor) const { return storage_[PlaceOf(NameOf(tensor))].address; }

  // A move gives its input another shape: both are one tensor in memory, by the name of the first.
  void NameTensors() {
    for (std::size_t t = 0; t < section_.tensors.size(); ++t) names_.push_back(static_cast<int>(t));
    for (const QuantisedLayer& layer : section_.layers) {
      if (layer.kind == LayerKind::kMove) names_[PlaceOf(layer.output)] = NameOf(layer.input);
    }
  }

  void FindWork() {
    std::vector<int> readers(section_.tensors.size());
    std::vector<std::size_t> producers(section_.tensors.size(), section_.layers.size());
    for (std::size_t l = 0; l < section_.layers.size(); ++l) {
      const QuantisedLayer& layer = LayerAt(l);
      ++readers[PlaceOf(layer.input)];
      if (layer.residual != kAbsent) ++readers[PlaceOf(layer.residual)];
      producers[PlaceOf(layer.output)] = l;
    }
    for (const int tensor : section_.outputs) ++readers[PlaceOf(tensor)];
    // A depthwise command adds nothing; nor does one that adds already.
    const auto can_add = [&](int tensor) {
      const std::size_t producer = producers[PlaceOf(tensor)];
      if (producer == section_.layers.size() || readers[PlaceOf(tensor)] != 1) return false;
      const QuantisedLayer& layer = LayerAt(producer);
      return layer.residual == kAbsent && layer.kind != LayerKind::kMove &&
             !IsDepthwise(layer, TensorAt(layer.input));
    };
    std::vector<bool> taken(section_.layers.size());
    std::vector<Work> sums(section_.layers.size());
    for (std::size_t l = 0; l < section_.layers.size(); ++l) {
      const QuantisedLayer& layer = LayerAt(l);
      if (layer.kind != LayerKind::kSum || layer.residual == kAbsent || layer.input == layer.residual)
        continue;
      for (const auto& [own, other] :
           {std::pair(layer.input, layer.residual), {layer.residual, layer.input}}) {
        if (!can_add(own)) continue;
        const std::size_t producer = producers[PlaceOf(own)];
        taken[producer] = true;
        sums[l] = {.layer = producer,
                   .sum = l,
                   .input = LayerAt(producer).input,
                   .residual = other,
                   .output = layer.output};
        break;
      }
    }
    for (std::size_t l = 0; l < section_.layers.size(); ++l) {
      const QuantisedLayer& layer = LayerAt(l);
      if (taken[l] || layer.kind == LayerKind::kMove) continue;
      if (sums[l].sum.has_value()) {
        work_.push_back(sums[l]);
      } else {
        work_.push_back(
            {.layer = l, .input = layer.input, .residual = layer.residual, .output = layer.output});
      }
    }
  }

  // What may lie where its input lay: the unit has read a place before it writes it.
  bool ReplacesInput(const Work& work) const {
    const QuantisedLayer& layer = LayerAt(work.layer);
    const QuantisedTensor& input = TensorAt(work.input);
    const QuantisedTensor& output = TensorAt(work.output);
    if (input.height() != output.height() || input.width() != output.width() ||
        NameOf(work.input) == NameOf(work.residual))
      return false;
    if (layer.kind == LayerKind::kSum) return true;
    return IsDepthwise(layer, input) && layer.window.before[0] <= 1 && layer.window.before[1] <= 1;
  }

  // When a tensor lives, in places of work_, and where. A tensor that takes the place of another one shares
  // its storage.
  struct Storage {
    std::size_t first = 0, last = 0;
    std::uint32_t vectors = 0, address = 0;
  };

  absl::Status PlaceTensors() {
    constexpr std::size_t kUnused = std::numeric_limits<std::size_t>::max();
    storage_.resize(section_.tensors.size());
    std::vector<int> owners(names_);  // of each name: the one whose storage it has
    for (std::size_t t = 0; t < storage_.size(); ++t) {
      storage_[t] = {.first = kUnused, .vectors = VectorsOf(static_cast<int>(t))};
    }
    for (std::size_t w = 0; w < work_.size(); ++w) {
      for (const int tensor : {work_[w].input, work_[w].residual, work_[w].output}) {
        if (tensor == kAbsent) continue;
        Storage& storage = storage_[PlaceOf(NameOf(tensor))];
        storage.first = std::min(storage.first, w);
        storage.last = w;
      }
    }
    // An input that is only moved lives all the time; a result that is part of another command, never.
    for (Storage& storage : storage_) {
      if (storage.first == kUnused) storage = {.vectors = 0};
    }
    for (const int tensor : section_.outputs) {
      Storage& storage = storage_[PlaceOf(NameOf(tensor))];
      if (storage.vectors == 0) storage = {.first = 0, .last = work_.size(), .vectors = VectorsOf(tensor)};
    }
    for (std::size_t w = 0; w < work_.size(); ++w) {
      const Work& work = work_[w];
      const int input = owners[PlaceOf(NameOf(work.input))], output = NameOf(work.output);
      if (storage_[PlaceOf(NameOf(work.input))].last != w || !ReplacesInput(work)) continue;
      owners[PlaceOf(output)] = input;
      storage_[PlaceOf(input)].last = std::max(storage_[PlaceOf(input)].last, storage_[PlaceOf(output)].last);
    }
    RETURN_IF_ERROR(PlaceStorage(owners));
    for (std::size_t t = 0; t < storage_.size(); ++t) {
      const int name = NameOf(static_cast<int>(t));
      storage_[t].address = storage_[PlaceOf(owners[PlaceOf(name)])].address;
    }
    return absl::OkStatus();
  }

  // The largest first, each as low as those that live at its time allow.
  absl::Status PlaceStorage(const std::vector<int>& owners) {
    std::vector<std::size_t> order, placed;
    for (std::size_t t = 0; t < storage_.size(); ++t) {
      if (owners[t] == static_cast<int>(t)) order.push_back(t);
    }
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t t) { return storage_[t].vectors; });
    for (const std::size_t t : order) {
      Storage& storage = storage_[t];
      std::uint64_t address = 0;
      for (const std::size_t other : placed) {  // by address
        const Storage& there = storage_[other];
        if (there.last < storage.first || storage.last < there.first) continue;
        if (address + storage.vectors <= there.address) break;
        address = std::max<std::uint64_t>(address, std::uint64_t{there.address} + there.vectors);
      }
      if (address + storage.vectors > size_.activations) {
        return absl::ResourceExhaustedError(
            fmt::format("the tensors that live with \"{}\" take {} vectors; the activation memory has {}",
                        section_.tensors[t].name, address + storage.vectors, size_.activations));
      }
      storage.address = static_cast<std::uint32_t>(address);
      placed.insert(std::ranges::upper_bound(placed, storage.address, {},
                                             [&](std::size_t other) { return storage_[other].address; }),
                    t);
    }
    return absl::OkStatus();
  }

  TensorPlace BufferPlace(int tensor, std::uint32_t& words) const {
    const QuantisedTensor& shape = TensorAt(tensor);
    TensorPlace place{.tensor = tensor,
                      .word = words,
                      .words = VectorsOf(tensor) * size_.vector_words(),
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
    timing.Add({.opcode = opcode, .input_plane = VectorsOf(tensor)});
    program_.transfer_cycles += timing.cycles();
  }

  // Just before it is read for the first time.
  void Load(int tensor) {
    const auto place = std::ranges::find(program_.inputs, tensor, &TensorPlace::tensor);
    builder_.Load(place->word, AddressOf(tensor), VectorsOf(tensor), FlagsOf(tensor));
    CountTransfer(fpga::TensorOpcode::kLoad, tensor);
  }

  // As soon as it is there: the place of every output of that name.
  void Store(int name) {
    for (const TensorPlace& place : program_.outputs) {
      if (NameOf(place.tensor) != name) continue;
      builder_.Store(AddressOf(name), place.word, VectorsOf(name), FlagsOf(name));
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

  TensorCommand CommandOf(const Work& work) const {
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
  std::uint32_t StripOf(const Work& work) const {
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
    for (const int tensor : section_.inputs) words += std::uint64_t{VectorsOf(tensor)} * size_.vector_words();
    for (const int tensor : section_.outputs)
      words += std::uint64_t{VectorsOf(tensor)} * size_.vector_words();
    for (const Work& work : work_) {
      const QuantisedLayer& layer = LayerAt(work.layer);
      const auto rows = static_cast<std::uint32_t>(TensorAt(work.output).height());
      const std::uint64_t strips = (rows + StripOf(work) - 1) / StripOf(work);
      std::uint64_t block = lanes;
      if (layer.kind == LayerKind::kConvolution) {
        const std::uint64_t tiles =
            IsDepthwise(layer, TensorAt(layer.input)) ? 1 : BlocksOf(work.input) * lanes;
        block += static_cast<std::uint64_t>(layer.window.taps()) * tiles * lanes / 8;
      }
      words += strips * (fpga::kTensorCommandWords + BlocksOf(work.output) * block);
      if (words > most_words_) {
        return absl::ResourceExhaustedError(
            fmt::format("up to \"{}\" its program and buffers take {} bytes; {} are left", layer.name,
                        8 * words, 8 * most_words_));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Emit(const Work& work) {
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

  absl::Status Append(const Work& work, TensorCommand command,
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
  std::vector<Work> work_;
  std::vector<int> names_;        // of each tensor: the one that it is in memory
  std::vector<Storage> storage_;  // by name
  TensorProgram program_;
};

}  // namespace

absl::StatusOr<TensorProgram> CompileForTensorUnit(const QuantisedSection& section,
                                                   const fpga::TensorUnitSize& size,
                                                   std::uint64_t most_words) {
  return TensorCompiler(section, size, most_words).Compile();
}

}  // namespace tributary::accelerator
