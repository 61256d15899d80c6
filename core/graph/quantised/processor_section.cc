// Quantised layers on the processor, in bytes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/graph/memory_plan.h"
#include "core/graph/operation.h"
#include "core/graph/quantised/byte_kernels.h"
#include "core/graph/quantised/byte_layout.h"
#include "core/graph/quantised/section_runner.h"
#include "core/status/macros.h"

namespace tributary::graph {
namespace {

// Which kernel computes a layer.
enum class Kernel { kDense, kDepthwise, kGroups, kAverage, kLargest, kTable, kMove };

Kernel KernelOf(const QuantisedLayer& layer, const QuantisedTensor& input) {
  switch (layer.kind) {
    case LayerKind::kConvolution:
      if (layer.groups == 1) return Kernel::kDense;
      return layer.groups == input.channels() && layer.bias.size() == Size(layer.groups) ? Kernel::kDepthwise
                                                                                         : Kernel::kGroups;
    case LayerKind::kSum:
      return layer.residual == kAbsent ? Kernel::kTable : Kernel::kAverage;
    case LayerKind::kAveragePool:
      return Kernel::kAverage;
    case LayerKind::kMaxPool:
      return Kernel::kLargest;
    case LayerKind::kMove:
      break;
  }
  return Kernel::kMove;
}

// A layer with what its kernel reads.
struct PreparedLayer {
  QuantisedLayer layer;
  Kernel kernel = Kernel::kDense;
  std::vector<std::int8_t> packed = {};
  std::vector<std::int32_t> bias = {};  // of each padded channel; the input's zero point is part of it
  std::vector<double> factors = {}, residual_factors = {};
  ByteStage stage = {};
  std::vector<std::ptrdiff_t> taps = {};
  std::vector<std::uint8_t> table = {};                             // of each byte; empty: it stays
  std::vector<std::pair<std::uint32_t, std::uint32_t>> moves = {};  // from, to
};

// Bytes that the preparation of a layer takes.
std::uint64_t PreparedBytes(const QuantisedLayer& layer, const QuantisedTensor& output) {
  const std::uint64_t channels = InBlocks(Size(output.channels()));
  const auto taps = static_cast<std::uint64_t>(layer.window.size.empty() ? 1 : layer.window.taps());
  std::uint64_t bytes =
      channels * (sizeof(std::int32_t) + 2 * sizeof(double)) + taps * sizeof(std::ptrdiff_t) + 256;
  if (layer.kind == LayerKind::kConvolution) {
    const std::uint64_t inputs = layer.weights.size() / layer.bias.size() / taps;
    bytes += layer.weights.size() + channels * (inputs + 3) * (taps + 3);
  }
  if (layer.kind == LayerKind::kMove) {
    bytes += static_cast<std::uint64_t>(output.elements()) * 2 * sizeof(std::uint32_t);
  }
  return bytes;
}

class ProcessorSection : public SectionRunner {
 public:
  explicit ProcessorSection(QuantisedSection section) : section_(std::move(section)) {
    for (const QuantisedTensor& tensor : section_.tensors) layouts_.emplace_back(tensor);
    for (const QuantisedLayer& layer : section_.layers) {
      const bool margin = layer.kind == LayerKind::kConvolution || layer.kind == LayerKind::kAveragePool;
      if (margin) layouts_[Size(layer.input)].Surround(layer.window);
    }
  }

  std::uint64_t memory_bytes() const override { return bytes_; }

  // Errors: ResourceExhausted, before anything is allocated.
  absl::Status Prepare(std::uint64_t memory_bytes) {
    double all = 0;
    for (const ByteLayout& layout : layouts_) all = std::max(all, layout.bytes_as_real());
    if (all <= static_cast<double>(memory_bytes)) PlaceTensors();
    if (all > static_cast<double>(memory_bytes) || bytes_ > memory_bytes) {
      return absl::ResourceExhaustedError(fmt::format("its quantised layers need {:.0f} bytes; {} are left",
                                                      std::max(all, static_cast<double>(bytes_)),
                                                      memory_bytes));
    }
    arena_.resize(arena_bytes_ + MemoryPlan::kAlignment);
    void* begin = arena_.data();
    std::size_t room = arena_.size();
    std::align(MemoryPlan::kAlignment, arena_bytes_, begin, room);
    base_ = static_cast<std::uint8_t*>(begin);
    for (QuantisedLayer& layer : section_.layers) layers_.push_back(Prepared(std::move(layer)));
    for (PreparedLayer& layer : layers_) {
      layer.stage.bias = layer.bias.data();
      layer.stage.factors = layer.factors.data();
      layer.stage.residual_factors = layer.residual_factors.data();
    }
    section_.layers.clear();
    return absl::OkStatus();
  }

  absl::Status Run(std::span<const View> inputs, std::span<const View> outputs) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int tensor = section_.inputs[i];
      LayoutOf(tensor).Load(inputs[i].As<std::uint8_t>(), DataOf(tensor));
    }
    if (layer_times_.empty()) {
      for (const PreparedLayer& layer : layers_) RunLayer(layer);
    } else {
      RunTimed();
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const int tensor = section_.outputs[i];
      LayoutOf(tensor).Store(DataOf(tensor), outputs[i].As<std::uint8_t>());
    }
    return absl::OkStatus();
  }

  void KeepTimes() override { layer_times_.resize(layers_.size()); }
  std::span<const std::chrono::nanoseconds> layer_times() const override { return layer_times_; }

 private:
  void RunTimed() {
    auto begin = std::chrono::steady_clock::now();
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      RunLayer(layers_[l]);
      const auto end = std::chrono::steady_clock::now();
      layer_times_[l] = end - begin;
      begin = end;
    }
  }

  const ByteLayout& LayoutOf(int tensor) const { return layouts_[Size(tensor)]; }
  std::uint8_t* DataOf(int tensor) const { return base_ + offsets_[Size(tensor)]; }

  void PlaceTensors() {
    constexpr std::size_t kForEver = std::numeric_limits<std::size_t>::max();
    offsets_.resize(layouts_.size());
    std::vector<std::size_t> last_use(layouts_.size());
    const auto reads = [](const QuantisedLayer& layer) { return std::array{layer.input, layer.residual}; };
    for (std::size_t l = 0; l < section_.layers.size(); ++l) {
      last_use[Size(section_.layers[l].output)] = l;
      for (const int tensor : reads(section_.layers[l])) {
        if (tensor != kAbsent) last_use[Size(tensor)] = l;
      }
    }
    for (const int tensor : section_.outputs) last_use[Size(tensor)] = kForEver;
    MemoryPlan plan;
    const auto place = [&](int tensor) { offsets_[Size(tensor)] = plan.Take(LayoutOf(tensor).bytes()); };
    std::ranges::for_each(section_.inputs, place);
    for (std::size_t l = 0; l < section_.layers.size(); ++l) {
      const QuantisedLayer& layer = section_.layers[l];
      place(layer.output);
      bytes_ += PreparedBytes(layer, section_.tensors[Size(layer.output)]);
      for (const int tensor : {layer.input, layer.residual, layer.output}) {
        if (tensor == kAbsent || last_use[Size(tensor)] != l) continue;
        plan.GiveBack(offsets_[Size(tensor)], LayoutOf(tensor).bytes());
        last_use[Size(tensor)] = kForEver;  // a layer may read a tensor twice
      }
    }
    arena_bytes_ = plan.bytes();
    bytes_ += arena_bytes_;
  }

  PreparedLayer Prepared(QuantisedLayer layer) const {
    const QuantisedTensor& from = section_.tensors[Size(layer.input)];
    const QuantisedTensor& to = section_.tensors[Size(layer.output)];
    const ByteLayout& input = LayoutOf(layer.input);
    const ByteLayout& output = LayoutOf(layer.output);
    PreparedLayer prepared{.layer = std::move(layer)};
    const QuantisedLayer& kept = prepared.layer;
    prepared.kernel = KernelOf(kept, from);
    if (kept.kind == LayerKind::kMove) {
      prepared.moves = MovesOf(kept, from, to);
      return prepared;
    }
    prepared.taps = kept.window.size.empty() ? std::vector<std::ptrdiff_t>{0} : input.Taps(kept.window);
    if (prepared.kernel == Kernel::kTable || prepared.kernel == Kernel::kLargest) {
      for (std::int32_t byte = 0; byte < 256; ++byte) {
        const std::int64_t sum = byte - input.zero();
        prepared.table.push_back(
            static_cast<std::uint8_t>(Requantised(kept, to.quantisation, 0, sum, 0) + output.offset()));
      }
      bool same = true;
      for (std::size_t byte = 0; byte < 256; ++byte) same = same && prepared.table[byte] == byte;
      if (same) prepared.table.clear();
      return prepared;
    }
    SetStage(output, to, prepared);
    const auto inputs = Size(from.channels()), outputs = Size(to.channels());
    if (prepared.kernel == Kernel::kDense) {
      prepared.packed = PackDense(kept.weights, outputs, inputs, prepared.taps.size());
    } else if (prepared.kernel == Kernel::kDepthwise) {
      prepared.packed = PackDepthwise(kept.weights, outputs, prepared.taps.size());
    }
    return prepared;
  }

  void SetStage(const ByteLayout& output, const QuantisedTensor& to, PreparedLayer& prepared) const {
    const QuantisedLayer& layer = prepared.layer;
    const ByteLayout& input = LayoutOf(layer.input);
    const auto channels = Size(to.channels());
    prepared.bias.resize(output.channels());
    prepared.factors.resize(output.channels());
    for (std::size_t c = 0; c < channels; ++c) {
      // Sums of bytes are sums of q − z with the zero point taken from the bias.
      std::int64_t unit = static_cast<std::int64_t>(prepared.taps.size());
      if (layer.kind == LayerKind::kConvolution) {
        const std::size_t each = layer.weights.size() / channels;
        unit = 0;
        for (std::size_t i = 0; i < each; ++i) unit += layer.weights[c * each + i];
      }
      prepared.bias[c] =
          static_cast<std::int32_t>((layer.bias.empty() ? 0 : layer.bias[c]) - unit * input.zero());
      const Factor& factor = layer.FactorAt(c);
      prepared.factors[c] = std::ldexp(factor.mantissa, -factor.shift);
      if (layer.residual == kAbsent) continue;
      prepared.residual_factors.resize(output.channels());
      prepared.residual_factors[c] = std::ldexp(static_cast<double>(layer.ResidualAt(c)), -factor.shift);
    }
    prepared.stage.zero = output.zero();
    prepared.stage.lowest = layer.lowest + output.offset();
    prepared.stage.highest = layer.highest + output.offset();
    if (layer.residual != kAbsent) prepared.stage.residual_zero = LayoutOf(layer.residual).zero();
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> MovesOf(const QuantisedLayer& layer,
                                                               const QuantisedTensor& from,
                                                               const QuantisedTensor& to) const {
    const ByteLayout& input = LayoutOf(layer.input);
    const ByteLayout& output = LayoutOf(layer.output);
    const std::vector<std::int64_t> own = StridesOf(from.shape), result = StridesOf(to.shape);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> moves;
    for (std::int64_t element = 0; element < to.elements(); ++element) {
      std::int64_t source = layer.permutation.empty() ? element : 0;
      for (std::size_t d = 0; d < layer.permutation.size(); ++d) {
        source += element / result[d] % to.shape[d] * own[Size(layer.permutation[d])];
      }
      moves.emplace_back(static_cast<std::uint32_t>(input.AtElement(Size(source))),
                         static_cast<std::uint32_t>(output.AtElement(Size(element))));
    }
    return moves;
  }

  void RunLayer(const PreparedLayer& prepared) const {
    const QuantisedLayer& layer = prepared.layer;
    const ByteLayout& output = LayoutOf(layer.output);
    if (output.has_margin() || prepared.kernel == Kernel::kMove) output.Clear(DataOf(layer.output));
    switch (prepared.kernel) {
      case Kernel::kDense:
        return ConvolveBytes(GridOf(prepared), Size(section_.tensors[Size(layer.input)].channels()),
                             prepared.packed, prepared.stage);
      case Kernel::kDepthwise:
        return DepthwiseBytes(GridOf(prepared), prepared.packed, prepared.stage);
      case Kernel::kAverage:
        return AverageBytes(GridOf(prepared), prepared.stage);
      case Kernel::kGroups:
        return ConvolveGroups(prepared);
      case Kernel::kLargest:
        TakeLargest(layer);
        break;
      case Kernel::kTable:
        CopyPixels(layer);
        break;
      case Kernel::kMove:
        for (const auto& [from, to] : prepared.moves) DataOf(layer.output)[to] = DataOf(layer.input)[from];
        return;
    }
    if (prepared.table.empty()) return;
    ForEachPixel(layer, [&](std::size_t, std::size_t, std::size_t, std::uint8_t* pixel) {
      for (std::size_t c = 0; c < output.channels(); ++c) pixel[c] = prepared.table[pixel[c]];
    });
  }

  PixelGrid GridOf(const PreparedLayer& prepared) const {
    const QuantisedLayer& layer = prepared.layer;
    const ByteLayout& input = LayoutOf(layer.input);
    const ByteLayout& output = LayoutOf(layer.output);
    PixelGrid grid{.images = output.images(),
                   .rows = output.rows(),
                   .columns = output.columns(),
                   .channels = output.channels(),
                   .input = DataOf(layer.input) + input.At(0, 0, 0, 0),
                   .input_steps = input.Steps(),
                   .taps = prepared.taps,
                   .output = DataOf(layer.output) + output.At(0, 0, 0, 0),
                   .output_steps = output.Steps()};
    if (!layer.window.size.empty()) {
      grid.input += input.ToFirstTap(layer.window);
      grid.input_steps = input.Steps(layer.window.stride[0], layer.window.stride[1]);
    }
    if (layer.residual != kAbsent) {
      grid.residual = DataOf(layer.residual) + LayoutOf(layer.residual).At(0, 0, 0, 0);
      grid.residual_steps = LayoutOf(layer.residual).Steps();
    }
    return grid;
  }

  // Calls act(image, row, column, pixel of the result).
  void ForEachPixel(const QuantisedLayer& layer, const auto& act) const {
    const ByteLayout& output = LayoutOf(layer.output);
    for (std::size_t image = 0; image < output.images(); ++image) {
      for (std::size_t row = 0; row < output.rows(); ++row) {
        for (std::size_t column = 0; column < output.columns(); ++column) {
          act(image, row, column, DataOf(layer.output) + output.At(image, 0, row, column));
        }
      }
    }
  }

  void CopyPixels(const QuantisedLayer& layer) const {
    const ByteLayout& input = LayoutOf(layer.input);
    ForEachPixel(layer, [&](std::size_t image, std::size_t row, std::size_t column, std::uint8_t* pixel) {
      std::copy_n(DataOf(layer.input) + input.At(image, 0, row, column), input.channels(), pixel);
    });
  }

  // Padding does not take part.
  void TakeLargest(const QuantisedLayer& layer) const {
    const ByteLayout& input = LayoutOf(layer.input);
    const Window& window = layer.window;
    ForEachPixel(layer, [&](std::size_t image, std::size_t row, std::size_t column, std::uint8_t* pixel) {
      std::fill_n(pixel, input.channels(), std::uint8_t{0});
      for (std::int64_t down = 0; down < window.size[0]; ++down) {
        const std::int64_t y =
            static_cast<std::int64_t>(row) * window.stride[0] + down * window.dilation[0] - window.before[0];
        if (y < 0 || y >= window.input[0]) continue;
        for (std::int64_t right = 0; right < window.size[1]; ++right) {
          const std::int64_t x = static_cast<std::int64_t>(column) * window.stride[1] +
                                 right * window.dilation[1] - window.before[1];
          if (x < 0 || x >= window.input[1]) continue;
          const std::uint8_t* const tap = DataOf(layer.input) + input.At(image, 0, Size(y), Size(x));
          for (std::size_t c = 0; c < input.channels(); ++c) pixel[c] = std::max(pixel[c], tap[c]);
        }
      }
    });
  }

  // Groups of several channels: one element after another.
  void ConvolveGroups(const PreparedLayer& prepared) const {
    const QuantisedLayer& layer = prepared.layer;
    const PixelGrid grid = GridOf(prepared);
    const ByteLayout& output = LayoutOf(layer.output);
    const std::size_t outputs = layer.bias.size(), each = outputs / Size(layer.groups);
    const std::size_t taps = prepared.taps.size(), inputs = layer.weights.size() / outputs / taps;
    const Quantisation& to = section_.tensors[Size(layer.output)].quantisation;
    ForEachPixel(layer, [&](std::size_t image, std::size_t row, std::size_t column, std::uint8_t* pixel) {
      const std::uint8_t* const first = grid.input + image * grid.input_steps.image +
                                        row * grid.input_steps.row + column * grid.input_steps.column;
      for (std::size_t o = 0; o < outputs; ++o) {
        std::int64_t sum = prepared.bias[o];
        const std::int8_t* weight = layer.weights.data() + o * inputs * taps;
        for (std::size_t i = 0; i < inputs; ++i) {
          for (std::size_t t = 0; t < taps; ++t) {
            sum += *weight++ * first[prepared.taps[t] + static_cast<std::ptrdiff_t>(o / each * inputs + i)];
          }
        }
        std::int64_t residual = 0;
        if (layer.residual != kAbsent) {
          residual = DataOf(layer.residual)[LayoutOf(layer.residual).At(image, o, row, column)] -
                     prepared.stage.residual_zero;
        }
        pixel[o] = static_cast<std::uint8_t>(Requantised(layer, to, o, sum, residual) + output.offset());
      }
    });
  }

  QuantisedSection section_;
  std::vector<ByteLayout> layouts_;
  std::vector<std::size_t> offsets_;
  std::size_t arena_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<PreparedLayer> layers_;
  std::vector<std::chrono::nanoseconds> layer_times_;  // empty: nobody asks
  std::vector<std::uint8_t> arena_;
  std::uint8_t* base_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SectionRunner>> ProcessorTarget::Prepare(QuantisedSection section,
                                                                        std::uint64_t memory_bytes) const {
  auto runner = std::make_unique<ProcessorSection>(std::move(section));
  RETURN_IF_ERROR(runner->Prepare(memory_bytes));
  return std::unique_ptr<SectionRunner>(std::move(runner));
}

}  // namespace tributary::graph
