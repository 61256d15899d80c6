// The positioning network on the processor's vector units.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/status/macros.h"
#include "fmt/format.h"
#include "fpga/model/positioning_model.h"
#include "hwy/targets.h"
#include "node/accelerator/cpu.h"
#include "node/accelerator/positioning_kernels.h"

namespace tributary::accelerator {
namespace {

using Network = nn::PositioningNetwork;

constexpr std::size_t kInputs = fpga::PositioningModel::kInputs;
constexpr std::size_t kOutputs = fpga::PositioningModel::kOutputs;

constexpr std::size_t BlocksOf(std::size_t outputs) { return (outputs + kBlockOutputs - 1) / kBlockOutputs; }

constexpr std::size_t kWidest = BlocksOf(Network::kWidths[1]) * kBlockOutputs;

// 16-bit inputs times the unsigned low half of 16-bit weights: 256 · 2^15 · 255 < 2^31.
constexpr std::size_t kSplitGroups = 256 / 2;

template <typename T>
using Aligned = hwy::AlignedFreeUniquePtr<T[]>;

template <typename T>
Aligned<T> Filled(std::size_t count, T value = {}) {
  auto values = hwy::AllocateAligned<T>(count);
  std::fill_n(values.get(), count, value);
  return values;
}

template <typename To, typename From>
Aligned<To> Padded(const std::vector<From>& values, std::size_t width) {
  auto padded = Filled<To>(width);
  std::transform(values.begin(), values.end(), padded.get(), [](From v) { return static_cast<To>(v); });
  return padded;
}

// Weights [outputs × inputs] in groups of kGroup inputs. Layer widths are multiples of 4, so that no group is
// cut.
template <typename T, std::size_t kGroup, typename Weight, typename Convert>
PackedWeights<T> Pack(const std::vector<Weight>& weights, std::size_t inputs, std::size_t outputs,
                      Convert convert) {
  PackedWeights<T> packed{.groups = inputs / kGroup, .blocks = BlocksOf(outputs), .words = nullptr};
  const std::size_t block_size = packed.groups * kBlockOutputs * kGroup;
  packed.words = Filled<T>(packed.blocks * block_size, convert(0));
  for (std::size_t output = 0; output < outputs; ++output) {
    T* block = packed.words.get() + output / kBlockOutputs * block_size;
    for (std::size_t input = 0; input < inputs; ++input) {
      const std::size_t lane = input / kGroup * kBlockOutputs + output % kBlockOutputs;
      block[lane * kGroup + input % kGroup] = convert(weights[output * inputs + input]);
    }
  }
  return packed;
}

// The unsigned operand of an 8-bit dot product.
PackedWeights<std::uint8_t> PackQuads(const fpga::FixedDense& dense) {
  const auto convert = [](std::int32_t w) { return static_cast<std::uint8_t>(w + 128); };
  return Pack<std::uint8_t, 4>(dense.weights, dense.inputs, dense.outputs, convert);
}

template <typename Convert>
PackedWeights<std::int16_t> PackPairs(const fpga::FixedDense& dense, Convert convert) {
  return Pack<std::int16_t, 2>(dense.weights, dense.inputs, dense.outputs,
                               [&](std::int32_t w) { return static_cast<std::int16_t>(convert(w)); });
}

const char* TargetName() {
  const std::int64_t targets = hwy::SupportedTargets();
  return hwy::TargetName(targets & -targets);  // the lowest bit is the best
}

class CpuPositioning final : public Accelerator {
 public:
  CpuPositioning(fpga::PositioningModel model, std::size_t max_batch);

  Shape shape() const override { return {.inputs = kInputs, .outputs = kOutputs, .max_batch = max_batch_}; }
  std::string description() const override {
    return fmt::format("cpu ({}, {})", fpga::NumberFormatName(model_.format()), TargetName());
  }
  absl::Status Infer(std::span<const float> features, std::size_t batch, std::span<float> outputs) override;

 private:
  // One dense layer, packed for the kernel that runs it. Exactly one of quads, pairs, high and low, and
  // floats is filled.
  struct Layer {
    PackedWeights<std::uint8_t> quads;  // 8-bit inputs and weights, VNNI
    PackedWeights<std::int16_t> pairs;  // 8-bit weights
    // 16-bit weights, split as weight = 256 · high + low, low in 0…255, so that sums over 256 inputs of
    // either part fit 32 bits.
    PackedWeights<std::int16_t> high, low;
    PackedWeights<float> floats;
    std::size_t width = 0;  // outputs, padded to whole blocks
  };

  void PackFixed();
  void PackFloat();
  // Prepares the batch's inputs as [batch × 1024] words, and notes which subjects are finite.
  template <typename T>
  void PrepareInputs(std::span<const float> features, std::size_t batch, T* words);
  void InferFixed(std::span<const float> features, std::size_t batch, std::span<float> outputs);
  void InferFloat(std::span<const float> features, std::size_t batch, std::span<float> outputs);
  void InferInt32(std::span<const float> features, std::size_t batch, std::span<float> outputs);
  // Input words [rows × stride] to result words [rows × width].
  void RunLayer(std::size_t index, const std::int16_t* input, std::size_t stride, std::size_t rows,
                std::int16_t* results);
  void MultiplySplit(const Layer& layer, const std::int16_t* input, std::size_t stride, std::size_t rows);

  const fpga::PositioningModel model_;
  const std::size_t max_batch_;
  const bool vnni_;
  const decltype(&MultiplyPairs) multiply_pairs_;
  std::array<Layer, 4> layers_;

  Aligned<std::int32_t> norm_scale_, norm_offset_;  // [width of layer 1]
  Aligned<float> float_scale_, float_offset_;

  Aligned<std::int8_t> bytes_;                            // [max_batch × 1024]
  Aligned<std::int16_t> words_;                           // [max_batch × 1024]
  Aligned<std::int16_t> results_[2];                      // [max_batch × 208], taking turns
  Aligned<std::int32_t> sums_, high_, low_, remainders_;  // [max_batch × 208]
  Aligned<float> values_[2];                              // [max_batch × 1024], taking turns
  std::vector<char> finite_;                              // [max_batch]
};

CpuPositioning::CpuPositioning(fpga::PositioningModel model, std::size_t max_batch)
    : model_(std::move(model)),
      max_batch_(max_batch),
      vnni_(VnniAvailable()),
      multiply_pairs_(vnni_ ? VnniMultiplyPairs : MultiplyPairs),
      finite_(max_batch) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].width = BlocksOf(Network::kWidths[i + 1]) * kBlockOutputs;
  }
  if (model_.format() == fpga::NumberFormat::kFloat) {
    PackFloat();
  } else if (model_.format() != fpga::NumberFormat::kInt32) {
    PackFixed();
  }
}

void CpuPositioning::PackFixed() {
  const fpga::FixedPositioning& fixed = model_.fixed();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const fpga::FixedDense& dense = fixed.dense[i];
    if (i == 0 && fixed.input_bits == 8 && vnni_) {
      layers_[i].quads = PackQuads(dense);
    } else if (dense.weight_bits == 8) {
      layers_[i].pairs = PackPairs(dense, [](std::int32_t w) { return w; });
    } else {
      layers_[i].high = PackPairs(dense, [](std::int32_t w) { return w >> 8; });
      layers_[i].low = PackPairs(dense, [](std::int32_t w) { return w & 255; });
    }
  }
  norm_scale_ = Padded<std::int32_t>(fixed.batch_norm.scale, kWidest);
  norm_offset_ = Padded<std::int32_t>(fixed.batch_norm.offset, kWidest);
  bytes_ = Filled<std::int8_t>(max_batch_ * kInputs);
  words_ = Filled<std::int16_t>(max_batch_ * kInputs);
  for (auto& results : results_) results = Filled<std::int16_t>(max_batch_ * kWidest);
  for (auto* sums : {&sums_, &high_, &low_, &remainders_}) *sums = Filled<std::int32_t>(max_batch_ * kWidest);
}

void CpuPositioning::PackFloat() {
  const Network& network = model_.network();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].floats = Pack<float, 1>(network.weights[i], Network::kWidths[i], Network::kWidths[i + 1],
                                       [](float w) { return w; });
  }
  float_scale_ = Padded<float>(network.batch_norm_scale, kWidest);
  float_offset_ = Padded<float>(network.batch_norm_shift, kWidest);
  for (auto& values : values_) values = Filled<float>(max_batch_ * kInputs);
}

absl::Status CpuPositioning::Infer(std::span<const float> features, std::size_t batch,
                                   std::span<float> outputs) {
  if (batch > max_batch_ || features.size() != batch * kInputs || outputs.size() != batch * kOutputs) {
    return absl::InvalidArgumentError(fmt::format(
        "positioning on the cpu: batch {} of at most {} with {} features and {} outputs; 1024 and 5 "
        "each are expected",
        batch, max_batch_, features.size(), outputs.size()));
  }
  if (model_.format() == fpga::NumberFormat::kFloat) {
    InferFloat(features, batch, outputs);
  } else if (model_.format() == fpga::NumberFormat::kInt32) {
    InferInt32(features, batch, outputs);
  } else {
    InferFixed(features, batch, outputs);
  }
  for (std::size_t i = 0; i < batch; ++i) {
    if (finite_[i]) continue;
    std::ranges::fill(outputs.subspan(i * kOutputs, kOutputs), std::numeric_limits<float>::quiet_NaN());
  }
  return absl::OkStatus();
}

template <typename T>
void CpuPositioning::PrepareInputs(std::span<const float> features, std::size_t batch, T* words) {
  for (std::size_t i = 0; i < batch; ++i) {
    finite_[i] = PrepareInput(model_.input(), features.data() + i * kInputs, words + i * kInputs);
  }
}

void CpuPositioning::InferFixed(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  const fpga::FixedPositioning& fixed = model_.fixed();
  const fpga::FixedBatchNorm& norm = fixed.batch_norm;
  std::int16_t* results = results_[0].get();
  if (layers_[0].quads.words != nullptr) {
    PrepareInputs(features, batch, bytes_.get());
    const fpga::FixedDense& dense = fixed.dense[0];
    VnniMultiplyQuads(bytes_.get(), kInputs, batch, layers_[0].quads, sums_.get());
    Requantise(sums_.get(), batch * kWidest, dense.shift, dense.result_bits, dense.rectified, results);
  } else {
    PrepareInputs(features, batch, words_.get());
    RunLayer(0, words_.get(), kInputs, batch, results);
  }
  ScaleAndOffset(norm_scale_.get(), norm_offset_.get(), batch, kWidest, norm.shift, norm.result_bits,
                 results);
  for (std::size_t layer = 1; layer < layers_.size(); ++layer) {
    std::int16_t* next = results_[layer % 2].get();
    RunLayer(layer, results, layers_[layer - 1].width, batch, next);
    results = next;
  }
  const float unit = std::ldexp(1.0f, -fixed.output_fraction);
  for (std::size_t i = 0; i < batch; ++i) {
    for (std::size_t k = 0; k < kOutputs; ++k)
      outputs[i * kOutputs + k] = unit * results[i * layers_[3].width + k];
  }
}

void CpuPositioning::RunLayer(std::size_t index, const std::int16_t* input, std::size_t stride,
                              std::size_t rows, std::int16_t* results) {
  const Layer& layer = layers_[index];
  const fpga::FixedDense& dense = model_.fixed().dense[index];
  int shift = dense.shift;
  if (layer.pairs.words != nullptr) {
    multiply_pairs_(input, stride, rows, layer.pairs, 0, layer.pairs.groups, sums_.get());
  } else {
    MultiplySplit(layer, input, stride, rows);
    shift -= 8;
  }
  Requantise(sums_.get(), rows * layer.width, shift, dense.result_bits, dense.rectified, results);
}

// Leaves floor(sums / 256) in sums_. The bits below do not affect the rounding, since at least 9 are dropped.
void CpuPositioning::MultiplySplit(const Layer& layer, const std::int16_t* input, std::size_t stride,
                                   std::size_t rows) {
  const std::size_t count = rows * layer.width;
  std::fill_n(sums_.get(), count, 0);
  std::fill_n(remainders_.get(), count, 0);
  for (std::size_t first = 0; first < layer.low.groups; first += kSplitGroups) {
    const std::size_t groups = std::min(kSplitGroups, layer.low.groups - first);
    multiply_pairs_(input + 2 * first, stride, rows, layer.high, first, groups, high_.get());
    multiply_pairs_(input + 2 * first, stride, rows, layer.low, first, groups, low_.get());
    AddSplitSums(high_.get(), low_.get(), count, sums_.get(), remainders_.get());
  }
}

void CpuPositioning::InferFloat(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  PrepareInputs(features, batch, values_[0].get());
  std::size_t stride = kInputs;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    MultiplyFloat(values_[i % 2].get(), stride, batch, layers_[i].floats, i < 3,
                  i == 0 ? float_scale_.get() : nullptr, float_offset_.get(), values_[(i + 1) % 2].get());
    stride = layers_[i].width;
  }
  for (std::size_t i = 0; i < batch; ++i)
    std::copy_n(values_[0].get() + i * stride, kOutputs, &outputs[i * kOutputs]);
}

void CpuPositioning::InferInt32(std::span<const float> features, std::size_t batch,
                                std::span<float> outputs) {
  std::array<std::int32_t, kInputs> words;
  std::array<std::int32_t, kOutputs> results;
  for (std::size_t i = 0; i < batch; ++i) {
    finite_[i] = PrepareInput(model_.input(), features.data() + i * kInputs, words.data());
    if (!finite_[i]) continue;
    model_.RunFixed(words, results);
    for (std::size_t k = 0; k < kOutputs; ++k) {
      outputs[i * kOutputs + k] = std::ldexp(static_cast<float>(results[k]), -model_.fixed().output_fraction);
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Accelerator>> CreateCpuPositioning(const nn::PositioningNetwork& network,
                                                                  fpga::NumberFormat format,
                                                                  std::size_t max_batch) {
  if (max_batch == 0) return absl::InvalidArgumentError("max_batch is 0");
  ASSIGN_OR_RETURN(fpga::PositioningModel model, fpga::PositioningModel::Create(network, format));
  return std::make_unique<CpuPositioning>(std::move(model), max_batch);
}

}  // namespace tributary::accelerator
